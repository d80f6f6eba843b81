//! The hello of a client, and the checks for its admission.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use accounts::authenticator::Credentials;
use accounts::guard::{Admission, Guard, NotAdmitted};
use accounts::identity::{Account, Identity};
use accounts::moment::Moment;
use accounts::revocations::ShownToken;
use frontend::servers::OtherServers;
use platform::audit::Audit;
use quic::StreamEnd;
use shared::wire::close::{Close, Redirect, Update};
use shared::wire::control::{HELLO_BYTES_MAX, Hello};
use shared::wire::{DecodeError, PROTOCOL_VERSION};

use super::client_link::ClientLink;

/// The requirements for a hello.
#[derive(Clone)]
pub struct AdmissionPolicy {
    pub schema_hash: u64,
    pub guard: Arc<Guard>,
    /// False while the world is being recovered.
    pub is_open: Arc<AtomicBool>,
    /// Notes who comes and who does not.
    pub audit: Audit,
    /// The address of client versions that this server accepts, for players.
    pub update_url: Option<Arc<str>>,
    pub capacity: Capacity,
}

/// The room of a server for clients, where others may have some.
#[derive(Clone)]
pub struct Capacity {
    pub clients_max: usize,
    pub others: OtherServers,
    /// Counts those that were sent on, which are spread over the others.
    sent_on: Arc<AtomicUsize>,
}

impl Capacity {
    pub fn new(clients_max: usize, others: OtherServers) -> Capacity {
        Capacity {
            clients_max,
            others,
            sent_on: Arc::default(),
        }
    }

    /// As much as the world has.
    pub fn of_world() -> Capacity {
        Capacity::new(usize::MAX, OtherServers::default())
    }

    /// The reason for a client for which there is none.
    fn reason(&self) -> String {
        let sentence = format!("this server has its {} clients", self.clients_max);
        let others = self.others.get();
        let next = self.sent_on.fetch_add(1, Ordering::Relaxed);
        match others.get(next % others.len().max(1)) {
            Some(other) => Redirect(other.address.clone()).reason(&sentence),
            None => sentence,
        }
    }
}

/// The origin and the time of a hello.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub address: IpAddr,
    pub now: Moment,
    /// The oldest protocol version whose clients know all that the world has.
    pub version_min: u16,
}

/// Why a client is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionError {
    pub close: Close,
    pub reason: String,
    /// Its token was wrong, perhaps a guess.
    pub is_guess: bool,
    /// Of a good token, that is refused all the same.
    pub account: Option<Account>,
    /// Its network sent too many wrong tokens, so that its token was not checked.
    pub is_guess_over: bool,
    /// The audit log has a line about it, and does not only count it: a readable hello, whose token
    /// was checked.
    pub is_audited: bool,
}

/// A client that is admitted.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub hello: Hello,
    pub identity: Identity,
    /// By which its token may be revoked.
    pub shown: Option<ShownToken>,
    /// It is admitted only if its ticket resumes a session.
    pub must_resume: bool,
}

/// Collects the bytes of a hello.
#[derive(Debug, Default)]
pub struct HelloReader {
    bytes: Vec<u8>,
}

impl HelloReader {
    /// Reads on, and checks the hello once it is complete; `None` until then. An admitted client
    /// counts in the guard until `Guard::leave`.
    pub fn read(
        &mut self,
        link: &mut impl ClientLink,
        admission: &AdmissionPolicy,
        arrival: Arrival,
    ) -> Result<Option<Admitted>, AdmissionError> {
        // Bytes after the hello stay with the transport until the client is admitted.
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
        if !(arrival.version_min..=PROTOCOL_VERSION).contains(&version) {
            let update = Update::of_server(admission.update_url.as_deref());
            let reason = update.reason(&format!(
                "the client speaks protocol version {version}, the server {PROTOCOL_VERSION}"
            ));
            return Err(AdmissionError {
                close: Close::Outdated,
                ..refused(reason)
            });
        }
        let hello = Hello::decode(bytes).map_err(|error| malformed(&error))?;
        let (Admission { identity, shown }, must_resume) = check(&hello, admission, arrival)?;
        Ok(Some(Admitted {
            hello,
            identity,
            shown,
            must_resume,
        }))
    }

    /// The number of missing bytes, as far as known; none once the hello is complete.
    fn missing(&self) -> Result<Option<usize>, AdmissionError> {
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

/// A client's identity, and whether it must resume a session.
fn check(
    hello: &Hello,
    admission: &AdmissionPolicy,
    arrival: Arrival,
) -> Result<(Admission, bool), AdmissionError> {
    let credentials = Credentials {
        token: &hello.token,
        wished_name: &hello.name,
    };
    let Arrival { address, now, .. } = arrival;
    if !admission.audit.may_admit() {
        return Err(AdmissionError {
            close: Close::Starting,
            is_audited: false,
            ..refused("the server can't write its audit log: try again in a second".to_owned())
        });
    }
    // Before the guard, which counts how often an account comes.
    if !admission.is_open.load(Ordering::Relaxed) {
        return Err(AdmissionError {
            close: Close::Starting,
            ..refused("the world is being recovered: try again in a second".to_owned())
        });
    }
    let (admitted, must_resume) = match admission.guard.admit(&credentials, address, now) {
        Err(NotAdmitted::Guessing(_)) if hello.resume.is_some() => {
            (admission.guard.admit_by_ticket(address, now), true)
        }
        admitted => (admitted, false),
    };
    let admitted = admitted.map_err(|reason| AdmissionError {
        close: reason.close(),
        account: match (&reason, admission.audit.is_on()) {
            (NotAdmitted::Rejected(_) | NotAdmitted::Guessing(_), _) | (_, false) => None,
            (_, true) => admission.guard.account(&credentials, now),
        },
        is_audited: !matches!(&reason, NotAdmitted::Guessing(_)),
        is_guess: matches!(&reason, NotAdmitted::Rejected(rejection) if rejection.is_guess()),
        is_guess_over: matches!(&reason, NotAdmitted::Guessing(_)),
        ..refused(reason.to_string())
    })?;
    if admission.guard.clients() > admission.capacity.clients_max {
        admission.guard.leave(address);
        return Err(AdmissionError {
            close: Close::Full,
            ..refused(admission.capacity.reason())
        });
    }
    match hello.schema_hash {
        Some(hash) if hash != admission.schema_hash => {
            admission.guard.leave(address);
            Err(AdmissionError {
                close: Close::SchemaMismatch,
                ..refused(format!(
                    "the client needs schema {hash:016x}, the server has {:016x}",
                    admission.schema_hash
                ))
            })
        }
        _ => Ok((admitted, must_resume)),
    }
}

fn refused(reason: String) -> AdmissionError {
    AdmissionError {
        close: Close::Refused,
        reason,
        is_guess: false,
        account: None,
        is_guess_over: false,
        is_audited: true,
    }
}

pub fn malformed(error: &dyn std::fmt::Display) -> AdmissionError {
    AdmissionError {
        close: Close::Malformed,
        reason: error.to_string(),
        is_guess: false,
        account: None,
        is_guess_over: false,
        is_audited: false,
    }
}

const LENGTH_BYTES: usize = 4;
