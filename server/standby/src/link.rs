//! The messages between a primary and a standby, without sockets.
//!
//! A message is its length in 4 bytes, the lowest first, its kind in one, and its body.
//! Numbers are those of [`code`](durability::code); texts and bytes have their length
//! before them.
//!
//! | from the standby | kind | body |
//! | --- | --- | --- |
//! | hello | 1 | version of the link, epoch; 1 and the next tick and the CRC-32C of the record before, or 0; whether it is a promoted one; where clients will find it |
//! | synced | 2 | the first tick that it has not on disk |
//! | differs | 3 | why it stops: its state is not the recorded one |
//!
//! | from the primary | kind | body |
//! | --- | --- | --- |
//! | welcome | 17 | epoch, ticks a second, the next tick, bytes of the checkpoint that follows (0: none); 1 and the number of characters that follow it, or 0; certificate, key, reset key |
//! | part | 18 | bytes of the checkpoint |
//! | characters | 21 | their number; of each: account, and its character as JSON |
//! | record | 19 | whether a segment begins with it, then the record to the end |
//! | refused | 20 | epoch, why |

use std::time::Duration;

use durability::code::{Bytes, CodeError, put};
use durability::epoch::Epoch;
use durability::folder::Keys;
use peer::frames::{self, Decode, FrameReader};
use peer::trust::Protocol;
use thiserror::Error;

/// A message of a standby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToPrimary {
    Hello(Hello),
    /// Everything before this tick is on its disk.
    Synced(u64),
    Differs(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The highest that it has seen.
    pub epoch: Epoch,
    pub has: Option<Has>,
    /// It does not follow any more, and runs the world itself.
    pub is_promoted: bool,
    /// HOST:PORT, or only :PORT.
    pub clients_at: String,
}

/// Where a standby's records end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Has {
    pub next: u64,
    pub previous: u32,
}

/// A message of a primary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToStandby {
    Welcome(Welcome),
    Part(Vec<u8>),
    /// Accounts, each with its character as JSON.
    Characters(Vec<(String, String)>),
    Record {
        begins_segment: bool,
        bytes: Vec<u8>,
    },
    Refused {
        epoch: Epoch,
        reason: String,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    pub epoch: Epoch,
    pub tick_hz: u32,
    /// The tick of the primary's next record.
    pub next: u64,
    /// `None`: the standby continues with its own records.
    pub checkpoint_bytes: Option<u64>,
    /// How many characters follow the checkpoint; `None`: the world has none, or the standby
    /// continues with its own.
    pub characters: Option<u64>,
    /// The primary's identity towards clients; `None` if the operator gives it to both.
    pub keys: Option<Keys>,
}

/// Why a message can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LinkError {
    #[error("a message is of kind {0}, which is unknown")]
    UnknownKind(u8),
    #[error("the other side speaks version {0} of the link, and this is version {VERSION}")]
    Version(u64),
    #[error("a message can't be read: {0}")]
    Code(#[from] CodeError),
}

impl ToPrimary {
    /// Reads messages of a standby.
    pub fn reader() -> FrameReader {
        FrameReader::new(4096)
    }

    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToPrimary::Hello(hello) => frame(1, |out| {
                put(out, VERSION);
                put(out, u64::from(hello.epoch.0));
                match hello.has {
                    Some(Has { next, previous }) => {
                        put(out, 1);
                        put(out, next);
                        put(out, u64::from(previous));
                    }
                    None => put(out, 0),
                }
                put(out, u64::from(hello.is_promoted));
                put_slice(out, hello.clients_at.as_bytes());
            }),
            ToPrimary::Synced(next) => frame(2, |out| put(out, *next)),
            ToPrimary::Differs(reason) => frame(3, |out| put_text(out, reason)),
        }
    }
}

impl Decode for ToPrimary {
    type Error = LinkError;

    fn decode(bytes: &[u8]) -> Result<ToPrimary, LinkError> {
        let mut bytes = Bytes(bytes);
        let message = match kind(&mut bytes)? {
            1 => {
                match bytes.number()? {
                    VERSION => {}
                    other => return Err(LinkError::Version(other)),
                }
                ToPrimary::Hello(Hello {
                    epoch: Epoch(bytes.small("an epoch")?),
                    has: match flag(&mut bytes)? {
                        true => Some(Has {
                            next: bytes.number()?,
                            previous: bytes.small("a checksum")?,
                        }),
                        false => None,
                    },
                    is_promoted: flag(&mut bytes)?,
                    clients_at: text(&mut bytes)?,
                })
            }
            2 => ToPrimary::Synced(bytes.number()?),
            3 => ToPrimary::Differs(text(&mut bytes)?),
            other => return Err(LinkError::UnknownKind(other)),
        };
        is_end(&bytes)?;
        Ok(message)
    }
}

impl ToStandby {
    /// Reads messages of a primary: it has shown its certificate, and a record is as long as its
    /// world allows.
    pub fn reader() -> FrameReader {
        FrameReader::new(256 << 20)
    }

    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToStandby::Welcome(welcome) => frame(17, |out| {
                put(out, u64::from(welcome.epoch.0));
                put(out, u64::from(welcome.tick_hz));
                put(out, welcome.next);
                put(out, welcome.checkpoint_bytes.unwrap_or(0));
                put(out, u64::from(welcome.characters.is_some()));
                if let Some(count) = welcome.characters {
                    put(out, count);
                }
                put(out, u64::from(welcome.keys.is_some()));
                if let Some(keys) = &welcome.keys {
                    for bytes in [&keys.certificate, &keys.key, &keys.reset] {
                        put_slice(out, bytes);
                    }
                }
            }),
            ToStandby::Part(bytes) => frame(18, |out| out.extend_from_slice(bytes)),
            ToStandby::Characters(texts) => frame(21, |out| {
                put(out, texts.len() as u64);
                for text in texts.iter().flat_map(|(account, text)| [account, text]) {
                    put_slice(out, text.as_bytes());
                }
            }),
            ToStandby::Record {
                begins_segment,
                bytes,
            } => record(bytes, *begins_segment),
            ToStandby::Refused { epoch, reason } => frame(20, |out| {
                put(out, u64::from(epoch.0));
                put_text(out, reason);
            }),
        }
    }
}

impl Decode for ToStandby {
    type Error = LinkError;

    fn decode(bytes: &[u8]) -> Result<ToStandby, LinkError> {
        let mut bytes = Bytes(bytes);
        let message = match kind(&mut bytes)? {
            17 => ToStandby::Welcome(Welcome {
                epoch: Epoch(bytes.small("an epoch")?),
                tick_hz: bytes.small("a rate of ticks")?,
                next: bytes.number()?,
                checkpoint_bytes: Some(bytes.number()?).filter(|&length| length > 0),
                characters: match flag(&mut bytes)? {
                    true => Some(bytes.number()?),
                    false => None,
                },
                keys: match flag(&mut bytes)? {
                    true => Some(Keys {
                        certificate: bytes.slice()?.to_vec(),
                        key: bytes.slice()?.to_vec(),
                        reset: bytes.slice()?.to_vec(),
                    }),
                    false => None,
                },
            }),
            18 => ToStandby::Part(std::mem::take(&mut bytes.0).to_vec()),
            19 => ToStandby::Record {
                begins_segment: flag(&mut bytes)?,
                bytes: std::mem::take(&mut bytes.0).to_vec(),
            },
            20 => ToStandby::Refused {
                epoch: Epoch(bytes.small("an epoch")?),
                reason: text(&mut bytes)?,
            },
            21 => {
                let mut texts = vec![];
                for _ in 0..bytes.number()? {
                    texts.push((text(&mut bytes)?, text(&mut bytes)?));
                }
                ToStandby::Characters(texts)
            }
            other => return Err(LinkError::UnknownKind(other)),
        };
        is_end(&bytes)?;
        Ok(message)
    }
}

/// The message of a record.
pub fn record(bytes: &[u8], begins_segment: bool) -> Vec<u8> {
    frame(19, |out| {
        out.reserve(bytes.len() + 1);
        out.push(u8::from(begins_segment));
        out.extend_from_slice(bytes);
    })
}

fn frame(kind: u8, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = frames::begin();
    out.push(kind);
    body(&mut out);
    frames::end(&mut out);
    out
}

fn put_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// As much of a text as a message to the primary has room for.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    put_slice(out, &text.as_bytes()[..end]);
}

fn kind(bytes: &mut Bytes<'_>) -> Result<u8, CodeError> {
    let [kind] = *bytes.array()?;
    Ok(kind)
}

fn flag(bytes: &mut Bytes<'_>) -> Result<bool, CodeError> {
    match bytes.number()? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(CodeError::OutOfRange {
            what: "a flag",
            found,
        }),
    }
}

fn text(bytes: &mut Bytes<'_>) -> Result<String, CodeError> {
    let text = String::from_utf8(bytes.slice()?.to_vec());
    text.map_err(|_| CodeError::Malformed("a text is not UTF-8"))
}

fn is_end(bytes: &Bytes<'_>) -> Result<(), CodeError> {
    match bytes.0.is_empty() {
        true => Ok(()),
        false => Err(CodeError::Malformed("it is too long")),
    }
}

/// Of the link.
pub const VERSION: u64 = 2;
pub const PROTOCOL: Protocol = Protocol {
    alpn: b"myriad-follow/1",
    to_port: 16 << 10,
    from_port: 8 << 20,
    silence_max: Duration::from_secs(3),
};
const TEXT_BYTES_MAX: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    fn to_primary() -> Vec<ToPrimary> {
        let hello = Hello {
            epoch: Epoch(7),
            has: Some(Has {
                next: 300,
                previous: u32::MAX,
            }),
            is_promoted: true,
            clients_at: "example:4433".to_owned(),
        };
        vec![
            ToPrimary::Hello(hello.clone()),
            ToPrimary::Hello(Hello { has: None, ..hello }),
            ToPrimary::Synced(u64::MAX),
            ToPrimary::Differs("hp".to_owned()),
        ]
    }

    fn to_standby() -> Vec<ToStandby> {
        vec![
            ToStandby::Welcome(Welcome {
                epoch: Epoch(7),
                tick_hz: 20,
                next: 300,
                checkpoint_bytes: Some(1 << 40),
                characters: Some(0),
                keys: Some(Keys {
                    certificate: vec![1, 2],
                    key: vec![3],
                    reset: vec![],
                }),
            }),
            ToStandby::Welcome(Welcome::default()),
            ToStandby::Part(vec![0; 300]),
            ToStandby::Characters(vec![("ann".to_owned(), "{}".to_owned()); 3]),
            ToStandby::Record {
                begins_segment: true,
                bytes: vec![5; 70],
            },
            ToStandby::Refused {
                epoch: Epoch(9),
                reason: "no".to_owned(),
            },
        ]
    }

    #[test]
    fn messages_come_back() {
        for message in to_primary() {
            assert_eq!(ToPrimary::decode(&message.encode()[4..]), Ok(message));
        }
        for message in to_standby() {
            assert_eq!(ToStandby::decode(&message.encode()[4..]), Ok(message));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused() {
        let seed = 11;
        let mut state = shared::world::mix::mix(seed, 0x9e37);
        let mut dice = |bound: u64| {
            state = shared::world::mix::mix(state, 1);
            state % bound
        };
        for round in 0..20_000 {
            let length = dice(40);
            let mut body: Vec<u8> = (0..length).map(|_| dice(256) as u8).collect();
            if let (Some(kind), true) = (body.first_mut(), round % 2 == 0) {
                *kind = [1, 2, 3, 17, 18, 19, 20, 21][dice(8) as usize];
            }
            if let Ok(read) = ToPrimary::decode(&body) {
                assert_eq!(
                    ToPrimary::decode(&read.encode()[4..]),
                    Ok(read),
                    "seed {seed}"
                );
            }
            if let Ok(read) = ToStandby::decode(&body) {
                assert_eq!(
                    ToStandby::decode(&read.encode()[4..]),
                    Ok(read),
                    "seed {seed}"
                );
            }
        }
    }

    #[test]
    fn another_version_is_named() {
        let mut bytes = ToPrimary::Hello(Hello::default()).encode();
        bytes[5] = 9;
        assert_eq!(ToPrimary::decode(&bytes[4..]), Err(LinkError::Version(9)));
    }
}
