//! The contract in bytes, for a front end in another process.
//!
//! | direction | content | module |
//! | --- | --- | --- |
//! | down, one a tick | a tick's results, as far as the front end needs them | [`feed`] |
//! | down, once | the world that a front end joins | [`snapshot`] |
//! | up | sessions that begin and end, requests, commands, acknowledgements | [`input`] |
//!
//! A message begins with [`VERSION`] in one byte. Its length is the link's business. Feeds depend
//! on those before them: a link that loses one, or that has one that can't be read, is over.

pub mod feed;
pub mod input;
mod known;
mod rare;
pub mod snapshot;
mod world_bits;

use shared::wire::DecodeError;
use thiserror::Error;

/// Another one for each change of a layout.
pub const VERSION: u8 = 6;
/// The most bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Why a message can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    #[error("a message of {found} bytes, where {MESSAGE_BYTES_MAX} are allowed")]
    TooLong { found: usize },
    #[error("the other side speaks version {0} of the contract, and this is version {VERSION}")]
    Version(u8),
    #[error("{what} is {found}, where {limit} is the largest")]
    OutOfRange {
        what: &'static str,
        found: u64,
        limit: u64,
    },
    #[error("{0}")]
    Contradiction(&'static str),
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// What follows the version of a message.
fn body(bytes: &[u8]) -> Result<&[u8], WireError> {
    let found = bytes.len();
    if found > MESSAGE_BYTES_MAX {
        return Err(WireError::TooLong { found });
    }
    match bytes.split_first() {
        None => Err(DecodeError::Truncated.into()),
        Some((&VERSION, body)) => Ok(body),
        Some((&version, _)) => Err(WireError::Version(version)),
    }
}

/// Checks a number that must be below a limit.
fn below(what: &'static str, found: u64, limit: u64) -> Result<(), WireError> {
    match found < limit {
        true => Ok(()),
        false => Err(WireError::OutOfRange {
            what,
            found,
            limit: limit.saturating_sub(1),
        }),
    }
}

#[cfg(test)]
mod tests;
