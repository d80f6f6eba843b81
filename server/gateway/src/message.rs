//! The messages between a gateway and its tick host, without sockets.
//!
//! A message is its length in 4 bytes, the lowest first, its kind in one, and its body: bincode,
//! but for input and ticks, which have their own form ([`frontend::wire`]).
//!
//! | from a gateway | kind | body |
//! | --- | --- | --- |
//! | hello | 1 | version of the link, address for clients, address of the page, name |
//! | input | 2 | as [`frontend::wire::input`] has it |
//! | links | 3 | the number of the request, figures of connections |
//!
//! | from the tick host | kind | body |
//! | --- | --- | --- |
//! | world | 17 | the gateway's number, the world's configuration, its identity, the world so far |
//! | tick | 18 | as [`frontend::wire::feed`] has it |
//! | others | 19 | where clients reach the other gateways |
//! | inspect | 20 | the number of the request, the sessions that it is about, or none: all |
//! | refused | 21 | why |

use std::time::Duration;

use frontend::inbox::SessionId;
use frontend::publication::LinkFigures;
use frontend::servers::ServerAddress;
use frontend::wire::MESSAGE_BYTES_MAX;
use peer::frames::{self, Decode};
use peer::trust::Protocol;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shared::wire::DecodeError;
use shared::wire::codec;
use shared::wire::control::ADDRESS_BYTES_MAX;
use thiserror::Error;
use world_file::StoredWorld;

/// A message of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToHost {
    Hello(Hello),
    Input(Vec<u8>),
    Links(u64, Vec<LinkFigures>),
}

/// The first message of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: u16,
    /// Where clients reach it, as HOST:PORT, or only :PORT at the address from which it connects.
    pub clients_at: String,
    /// The address of its page for browsers; empty: it has none that others name.
    pub page_at: String,
    /// For people.
    pub name: String,
}

/// A message of a tick host.
#[derive(Debug)]
pub enum ToGateway {
    World(Box<World>),
    /// A tick, which was to begin so long ago when this was sent.
    Tick(Vec<u8>, Duration),
    /// The other gateways.
    Others(Vec<ServerAddress>),
    Inspect(u64, Option<Vec<SessionId>>),
    Refused(String),
}

/// The world that a gateway joins.
#[derive(Debug, Serialize, Deserialize)]
pub struct World {
    /// Of the gateway, among all front ends.
    pub number: u16,
    pub config: StoredWorld,
    /// The tick host's certificate and key towards clients, as PEM; `None` if the operator gives
    /// them to each server.
    pub identity: Option<(String, String)>,
    /// The world so far, as [`frontend::wire::snapshot`] has it.
    pub snapshot: Vec<u8>,
}

/// Why a message can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    #[error("a message is of kind {0}, which is unknown")]
    UnknownKind(u8),
    #[error("the other side speaks version {0} of the link, and this is version {VERSION}")]
    Version(u16),
    #[error("a message can't be read: {0}")]
    Decode(#[from] DecodeError),
    #[error("an address for clients has {0} bytes, where {ADDRESS_BYTES_MAX} are allowed")]
    LongAddress(usize),
}

impl ToHost {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToHost::Hello(hello) => framed(HELLO, &codec::to_bytes(hello)),
            ToHost::Input(bytes) => framed(INPUT, bytes),
            ToHost::Links(number, figures) => framed(LINKS, &codec::to_bytes(&(number, figures))),
        }
    }
}

impl Decode for ToHost {
    type Error = MessageError;

    fn decode(bytes: &[u8]) -> Result<ToHost, MessageError> {
        let (&kind, body) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        match kind {
            HELLO => {
                // Another version may have another hello behind its number.
                let version: u16 = match body.first() {
                    Some(&low) if low < SMALL_VARINT => low.into(),
                    _ => 0,
                };
                if version != VERSION {
                    return Err(MessageError::Version(version));
                }
                let hello: Hello = read(body)?;
                let texts = [&hello.clients_at, &hello.page_at, &hello.name];
                match texts.map(String::len).into_iter().max() {
                    Some(length) if length > ADDRESS_BYTES_MAX => {
                        Err(MessageError::LongAddress(length))
                    }
                    _ => Ok(ToHost::Hello(hello)),
                }
            }
            INPUT => Ok(ToHost::Input(body.to_vec())),
            LINKS => {
                let (number, figures) = read(body)?;
                Ok(ToHost::Links(number, figures))
            }
            kind => Err(MessageError::UnknownKind(kind)),
        }
    }
}

impl ToGateway {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            ToGateway::World(world) => framed(WORLD, &codec::to_bytes(world)),
            ToGateway::Tick(bytes, age) => {
                let mut message = ToGateway::begin_tick();
                message.extend_from_slice(bytes);
                ToGateway::end_tick(*age, &mut message);
                message
            }
            ToGateway::Others(addresses) => framed(OTHERS, &codec::to_bytes(addresses)),
            ToGateway::Inspect(number, some) => framed(INSPECT, &codec::to_bytes(&(number, some))),
            ToGateway::Refused(reason) => framed(REFUSED, &codec::to_bytes(reason)),
        }
    }

    /// Begins the message of a tick: append its bytes, then [`ToGateway::end_tick`] it.
    pub fn begin_tick() -> Vec<u8> {
        begin(TICK)
    }

    pub fn end_tick(age: Duration, message: &mut Vec<u8>) {
        let micros = u32::try_from(age.as_micros()).unwrap_or(u32::MAX);
        message.extend_from_slice(&micros.to_le_bytes());
        frames::end(message);
    }
}

impl Decode for ToGateway {
    type Error = MessageError;

    fn decode(bytes: &[u8]) -> Result<ToGateway, MessageError> {
        let (&kind, body) = bytes.split_first().ok_or(DecodeError::Truncated)?;
        match kind {
            WORLD => Ok(ToGateway::World(Box::new(read(body)?))),
            TICK => {
                let (bytes, micros) = body.split_last_chunk().ok_or(DecodeError::Truncated)?;
                let age = Duration::from_micros(u32::from_le_bytes(*micros).into());
                Ok(ToGateway::Tick(bytes.to_vec(), age))
            }
            OTHERS => Ok(ToGateway::Others(read(body)?)),
            INSPECT => {
                let (number, some) = read(body)?;
                Ok(ToGateway::Inspect(number, some))
            }
            REFUSED => Ok(ToGateway::Refused(read(body)?)),
            kind => Err(MessageError::UnknownKind(kind)),
        }
    }
}

fn begin(kind: u8) -> Vec<u8> {
    let mut message = frames::begin();
    message.push(kind);
    message
}

fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = begin(kind);
    message.extend_from_slice(body);
    frames::end(&mut message);
    message
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, DecodeError> {
    codec::from_bytes::<MESSAGE_BYTES_MAX, _>(body)
}

/// Of the link.
pub const VERSION: u16 = 4;
pub const PROTOCOL: Protocol = Protocol {
    alpn: b"myriad-gateway/2",
    to_port: 16 << 20,
    from_port: 64 << 20,
    silence_max: Duration::from_secs(3),
};
/// Before the hello no longer message is read.
pub const HELLO_BYTES_MAX: usize = 4 << 10;
/// Bincode has smaller numbers in one byte.
const SMALL_VARINT: u8 = 251;

const HELLO: u8 = 1;
const INPUT: u8 = 2;
const LINKS: u8 = 3;
const WORLD: u8 = 17;
const TICK: u8 = 18;
const OTHERS: u8 = 19;
const INSPECT: u8 = 20;
const REFUSED: u8 = 21;

#[cfg(test)]
mod tests {
    use frontend::publication::ViewStatus;
    use shared::world::mix::mix;

    use super::*;

    fn of_gateway() -> Vec<ToHost> {
        let figures = LinkFigures {
            session: 4,
            address: ([192, 0, 2, 1], 4433).into(),
            round_trip: Duration::from_millis(20),
            packets_sent: 5,
            packets_lost: 1,
            bytes_sent: 700,
            bytes_received: 300,
            bytes_unsent: 0,
            view: ViewStatus::default(),
        };
        vec![
            ToHost::Hello(Hello {
                version: VERSION,
                clients_at: "game.example:4433".to_owned(),
                page_at: "https://game.example/".to_owned(),
                name: "one".to_owned(),
            }),
            ToHost::Input(vec![1, 2, 3]),
            ToHost::Links(9, vec![figures; 3]),
        ]
    }

    /// Without its length.
    fn body(message: &[u8]) -> &[u8] {
        &message[4..]
    }

    #[test]
    fn messages_of_a_gateway_come_back() {
        for message in of_gateway() {
            assert_eq!(ToHost::decode(body(&message.encode())), Ok(message));
        }
    }

    #[test]
    fn messages_of_the_tick_host_come_back() {
        let mut tick = ToGateway::begin_tick();
        tick.extend([5; 20]);
        frames::end(&mut tick);
        let messages = [
            tick,
            ToGateway::Others(vec![ServerAddress {
                address: "two:2".to_owned(),
                page: "http://two/".to_owned(),
            }])
            .encode(),
            ToGateway::Inspect(3, Some(vec![1, 2])).encode(),
            ToGateway::Refused("full".to_owned()).encode(),
        ];
        for message in messages {
            assert_eq!(ToGateway::decode(body(&message)).unwrap().encode(), message);
        }
    }

    #[test]
    fn a_long_address_another_version_and_an_unknown_kind_are_refused() {
        let refused = ToHost::decode(&[HELLO, 9, 0, 0]);
        assert_eq!(refused, Err(MessageError::Version(9)));
        assert_eq!(ToHost::decode(&[99]), Err(MessageError::UnknownKind(99)));
        let hello = Hello {
            version: VERSION,
            clients_at: String::new(),
            page_at: "x".repeat(ADDRESS_BYTES_MAX + 1),
            name: String::new(),
        };
        let refused = MessageError::LongAddress(ADDRESS_BYTES_MAX + 1);
        let bytes = ToHost::Hello(hello).encode();
        assert_eq!(ToHost::decode(body(&bytes)), Err(refused));
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused() {
        for seed in 0..20_000 {
            let mut state = mix(seed, 7);
            let mut dice = |bound: u64| {
                state = mix(state, 1);
                state % bound
            };
            let mut bytes: Vec<u8> = (0..=dice(60)).map(|_| dice(256) as u8).collect();
            bytes[0] = [1, 2, 3, 17, 18, 19, 20, 21][dice(8) as usize];
            if let Ok(read) = ToHost::decode(&bytes) {
                assert_eq!(
                    ToHost::decode(body(&read.encode())),
                    Ok(read),
                    "seed {seed}"
                );
            }
            drop(ToGateway::decode(&bytes));
        }
    }
}
