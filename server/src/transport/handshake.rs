//! The hello of a client, and why a client may not come in.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use quic::{Link, StreamEnd};
use shared::wire::codec;
use shared::wire::control::{Close, HELLO_BYTES_MAX, Hello};
use shared::wire::{DecodeError, PROTOCOL_VERSION};
use subtle::ConstantTimeEq;

/// What a hello must carry.
pub struct Admission {
    pub schema_hash: u64,
    /// Empty where anyone may come in.
    pub token: String,
    /// False while the world is being recovered.
    pub is_open: Arc<AtomicBool>,
}

/// Why a client may not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub close: Close,
    pub reason: String,
    /// It may have guessed the token.
    pub is_guess: bool,
}

/// Collects the bytes of a hello.
#[derive(Debug, Default)]
pub struct HelloReader {
    bytes: Vec<u8>,
}

impl HelloReader {
    /// Reads on, and checks a hello that is complete. `None` until then.
    pub fn read(
        &mut self,
        link: &mut Link<'_>,
        admission: &Admission,
    ) -> Result<Option<Hello>, Refusal> {
        // What follows the hello stays with the transport until the client is in.
        while let Some(missing) = self.missing()? {
            let end = link.read(missing, |bytes| self.bytes.extend_from_slice(bytes));
            match (end, self.missing()?) {
                (_, None) | (StreamEnd::Enough, _) => {}
                (StreamEnd::Waiting, _) => return Ok(None),
                (StreamEnd::Finished, _) => {
                    return Err(refused("no hello: the stream ended within it".to_owned()));
                }
            }
        }
        let hello = codec::from_bytes::<HELLO_BYTES_MAX, _>(&self.bytes[LENGTH_BYTES..])
            .map_err(|error| malformed(&error))?;
        check(&hello, admission)?;
        Ok(Some(hello))
    }

    /// The bytes that are known to be missing; none once the hello is complete.
    fn missing(&self) -> Result<Option<usize>, Refusal> {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(Some(LENGTH_BYTES - self.bytes.len()));
        };
        let length = u32::from_le_bytes(*length) as usize;
        if length > HELLO_BYTES_MAX {
            return Err(malformed(&DecodeError::TooLong {
                found: length,
                limit: HELLO_BYTES_MAX,
            }));
        }
        Ok(Some(length - rest.len()).filter(|&missing| missing > 0))
    }
}

fn check(hello: &Hello, admission: &Admission) -> Result<(), Refusal> {
    if hello.version != PROTOCOL_VERSION {
        return Err(refused(format!(
            "the client speaks protocol version {}, the server {PROTOCOL_VERSION}",
            hello.version
        )));
    }
    // How long it takes says nothing of how much of a guess is right.
    let is_ours = hello.token.as_bytes().ct_eq(admission.token.as_bytes());
    if !bool::from(is_ours) {
        return Err(Refusal {
            is_guess: true,
            ..refused("the token is not the server's".to_owned())
        });
    }
    if !admission.is_open.load(Ordering::Relaxed) {
        return Err(Refusal {
            close: Close::Starting,
            ..refused("the world is being recovered: try again in a second".to_owned())
        });
    }
    match hello.schema_hash {
        Some(hash) if hash != admission.schema_hash => Err(refused(format!(
            "the client needs schema {hash:016x}, the server has {:016x}",
            admission.schema_hash
        ))),
        _ => Ok(()),
    }
}

pub fn refused(reason: String) -> Refusal {
    Refusal {
        close: Close::Refused,
        reason,
        is_guess: false,
    }
}

pub fn malformed(error: &dyn std::fmt::Display) -> Refusal {
    Refusal {
        close: Close::Malformed,
        reason: error.to_string(),
        is_guess: false,
    }
}

const LENGTH_BYTES: usize = 4;
