//! The handshake, and how a connection ends.

use serde::{Deserialize, Serialize};

use super::{DecodeError, codec};
use crate::world::id::{EntityId, Tick};
use crate::world::schema::Schema;

/// The most bytes of a hello.
pub const HELLO_BYTES_MAX: usize = 1024;
/// The most bytes of a welcome: it carries the schema.
pub const WELCOME_BYTES_MAX: usize = super::FRAME_BYTES_MAX;

/// Proves that a reconnecting client is the one that was lost.
pub type Ticket = [u8; 16];

/// The first message of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`super::PROTOCOL_VERSION`] of the client.
    pub version: u16,
    /// What the server's operator asks clients to know; empty where nothing is asked.
    pub token: String,
    /// The schema that the client was built for, if only that one will do.
    pub schema_hash: Option<u64>,
    /// From an earlier welcome: to go on as the same entity.
    pub resume: Option<Ticket>,
}

/// The first message of the server to a client that is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The tick in which the entity was born, or went on.
    pub tick: Tick,
    pub entity: EntityId,
    /// Names the schema in datagrams.
    pub epoch: u8,
    pub ticket: Ticket,
    /// Whether this is the entity of the ticket in the hello.
    pub resumed: bool,
    pub schema: Schema,
}

impl Welcome {
    /// Reads a welcome. Its schema is checked, so that nothing built from it
    /// can fail.
    pub fn decode(bytes: &[u8]) -> Result<Welcome, DecodeError> {
        let welcome: Welcome = codec::from_bytes::<WELCOME_BYTES_MAX, _>(bytes)?;
        welcome
            .schema
            .check()
            .map_err(|what| DecodeError::Malformed(format!("the schema's {what}")))?;
        Ok(welcome)
    }
}

/// Why a connection was closed: the application error code of the close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Close {
    /// The peer is done.
    Bye = 0,
    /// The hello did not match; the sentence says how.
    Refused = 1,
    /// The world has no free slot or no free client row.
    Full = 2,
    /// The peer sent what cannot be read.
    Malformed = 3,
    /// The peer did not read what it was sent.
    TooSlow = 4,
    /// The session goes on in another connection.
    Resumed = 5,
    /// The server is going down.
    Shutdown = 6,
    /// The entity was removed from the world.
    Removed = 7,
}

impl Close {
    pub const fn code(self) -> u32 {
        self as u32
    }
}
