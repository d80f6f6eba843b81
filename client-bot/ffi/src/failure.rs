//! The status of a call, and its error text.

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use client_bot::client_core::CommandError;
use client_bot::connect::{ClientError, TrustError};
use client_bot::named::NamedError;
use thiserror::Error;

use crate::text::c_text;

/// The status of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MyriadStatus {
    /// It did.
    Ok = 0,
    /// No client has this number, or it has left.
    UnknownClient = 1,
    /// An argument is not what the function takes.
    Argument = 2,
    /// The client is not in the world: not yet, not now, or not any more.
    NotInWorld = 3,
    /// The world has nothing of this name or number.
    Unknown = 4,
    /// The client cannot see this entity.
    NotInView = 5,
    /// The system or the server does not let the client in.
    Connection = 6,
    /// A defect of this library. The client is gone.
    Defect = 7,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum Failure {
    #[error("client {0} is unknown: it was never connected, or has left")]
    UnknownClient(u64),
    #[error("{0}")]
    Argument(String),
    #[error("the client is not in the world")]
    NotInWorld,
    #[error("{0}")]
    Unknown(String),
    #[error("{0}")]
    NotInView(String),
    #[error("{0}")]
    Connection(String),
    #[error("a defect of the library: {0}")]
    Defect(String),
}

impl Failure {
    fn status(&self) -> MyriadStatus {
        match self {
            Failure::UnknownClient(_) => MyriadStatus::UnknownClient,
            Failure::Argument(_) => MyriadStatus::Argument,
            Failure::NotInWorld => MyriadStatus::NotInWorld,
            Failure::Unknown(_) => MyriadStatus::Unknown,
            Failure::NotInView(_) => MyriadStatus::NotInView,
            Failure::Connection(_) => MyriadStatus::Connection,
            Failure::Defect(_) => MyriadStatus::Defect,
        }
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Failure {
        match error {
            ClientError::Trust(TrustError::Fingerprint) => Failure::Argument(error.to_string()),
            error => Failure::Connection(error.to_string()),
        }
    }
}

impl From<NamedError> for Failure {
    fn from(error: NamedError) -> Failure {
        let sentence = error.to_string();
        match error {
            NamedError::NotInWorld | NamedError::Command(CommandError::NotInWorld) => {
                Failure::NotInWorld
            }
            NamedError::NotInView(_) => Failure::NotInView(sentence),
            NamedError::Number { .. }
            | NamedError::Count { .. }
            | NamedError::NoText(_)
            | NamedError::Command(
                CommandError::WordCount { .. }
                | CommandError::WrongArgument { .. }
                | CommandError::TextTooLong { .. },
            ) => Failure::Argument(sentence),
            NamedError::Unknown { .. }
            | NamedError::NotForClients(_)
            | NamedError::Hidden(_)
            | NamedError::Command(_) => Failure::Unknown(sentence),
        }
    }
}

thread_local! {
    static SENTENCE: RefCell<CString> = RefCell::default();
}

/// Why the last function that this thread called failed, as a sentence; empty if it did not.
/// The text is the library's, and changes with this thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_error() -> *const c_char {
    SENTENCE.with_borrow(|sentence| sentence.as_ptr())
}

/// Runs the body of a function: what it fails with is kept for `myriad_error`, and a panic
/// ends here.
pub(crate) fn run(body: impl FnOnce() -> Result<(), Failure>) -> MyriadStatus {
    // A panic may leave a broken client, which `clients::with` removes.
    let result = catch_unwind(AssertUnwindSafe(body));
    let result = result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Defect(text.unwrap_or("a panic").to_owned()))
    });
    let (status, sentence) = match result {
        Ok(()) => (MyriadStatus::Ok, String::new()),
        Err(failure) => (failure.status(), failure.to_string()),
    };
    SENTENCE.with_borrow_mut(|kept| *kept = c_text(&sentence));
    status
}
