//! The hello of a client, and why a client may not come in.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use accounts::authenticator::Credentials;
use accounts::guard::{Guard, NotAdmitted};
use accounts::identity::Identity;
use accounts::moment::Moment;
use quic::StreamEnd;
use shared::wire::close::{Close, Update};
use shared::wire::control::{HELLO_BYTES_MAX, Hello};
use shared::wire::{DecodeError, PROTOCOL_VERSION};

use super::client_link::ClientLink;

/// What hellos are compared with.
pub struct Admission {
    pub schema_hash: u64,
    pub guard: Arc<Guard>,
    /// False while the world is being recovered.
    pub is_open: Arc<AtomicBool>,
    /// Where players of another version get one that this server takes.
    pub update_url: Option<Arc<str>>,
}

/// Where and when a hello arrives.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub address: IpAddr,
    pub now: Moment,
}

/// Why a client may not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub close: Close,
    pub reason: String,
    /// It may have guessed the token.
    pub is_guess: bool,
    /// Its network has done so too often for its token to be looked at.
    pub is_guess_over: bool,
}

/// A client that may come in.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub hello: Hello,
    pub identity: Identity,
    /// Only if its ticket brings it back.
    pub must_resume: bool,
}

/// Collects the bytes of a hello.
#[derive(Debug, Default)]
pub struct HelloReader {
    bytes: Vec<u8>,
}

impl HelloReader {
    /// Reads on, and checks a hello that is complete. `None` until then. Who is let in must
    /// leave the guard again.
    pub fn read(
        &mut self,
        link: &mut impl ClientLink,
        admission: &Admission,
        arrival: Arrival,
    ) -> Result<Option<Admitted>, Refusal> {
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
        let bytes = &self.bytes[LENGTH_BYTES..];
        // Another version may have another hello.
        let version = Hello::version(bytes).map_err(|error| malformed(&error))?;
        if version != PROTOCOL_VERSION {
            let update = Update::of_server(admission.update_url.as_deref());
            let reason = update.reason(&format!(
                "the client speaks protocol version {version}, the server {PROTOCOL_VERSION}"
            ));
            return Err(Refusal {
                close: Close::Outdated,
                ..refused(reason)
            });
        }
        let hello = Hello::decode(bytes).map_err(|error| malformed(&error))?;
        let (identity, must_resume) = check(&hello, admission, arrival)?;
        Ok(Some(Admitted {
            hello,
            identity,
            must_resume,
        }))
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

/// Who a client is, and whether it must come back to a session.
fn check(
    hello: &Hello,
    admission: &Admission,
    arrival: Arrival,
) -> Result<(Identity, bool), Refusal> {
    let credentials = Credentials {
        token: &hello.token,
        wished_name: &hello.name,
    };
    let Arrival { address, now } = arrival;
    let (admitted, must_resume) = match admission.guard.admit(&credentials, address, now) {
        Err(NotAdmitted::Guessing(_)) if hello.resume.is_some() => {
            (admission.guard.admit_by_ticket(address, now), true)
        }
        admitted => (admitted, false),
    };
    let identity = admitted.map_err(|reason| Refusal {
        close: reason.close(),
        is_guess: matches!(&reason, NotAdmitted::Rejected(rejection) if rejection.is_guess()),
        is_guess_over: matches!(&reason, NotAdmitted::Guessing(_)),
        ..refused(reason.to_string())
    })?;
    if !admission.is_open.load(Ordering::Relaxed) {
        admission.guard.leave(address);
        return Err(Refusal {
            close: Close::Starting,
            ..refused("the world is being recovered: try again in a second".to_owned())
        });
    }
    match hello.schema_hash {
        Some(hash) if hash != admission.schema_hash => {
            admission.guard.leave(address);
            Err(Refusal {
                close: Close::SchemaMismatch,
                ..refused(format!(
                    "the client needs schema {hash:016x}, the server has {:016x}",
                    admission.schema_hash
                ))
            })
        }
        _ => Ok((identity, must_resume)),
    }
}

fn refused(reason: String) -> Refusal {
    Refusal {
        close: Close::Refused,
        reason,
        is_guess: false,
        is_guess_over: false,
    }
}

pub fn malformed(error: &dyn std::fmt::Display) -> Refusal {
    Refusal {
        close: Close::Malformed,
        reason: error.to_string(),
        is_guess: false,
        is_guess_over: false,
    }
}

const LENGTH_BYTES: usize = 4;
