//! What travels between server and client, and its bounds.
//!
//! | direction | carrier | content | module |
//! | --- | --- | --- | --- |
//! | client → server | stream, once | [`control::Hello`] | [`control`] |
//! | client → server | same stream, after it | regions and subscriptions asked for | [`request`] |
//! | server → client | same stream, first | [`control::Welcome`] | [`control`] |
//! | server → client | same stream, after it | enters, leaves, lasting attributes, answers, notices | [`stream`], [`notice`] |
//! | server → client | datagrams | movement: newest wins | [`movement`] |
//! | client → server | datagrams | commands and acknowledgements | [`commands`] |
//!
//! A refusal or an end is a QUIC application close with a [`control::Close`] code
//! and a sentence. Every decoder takes arbitrary bytes: it returns a
//! [`DecodeError`] for what it can't read and allocates in proportion to the input.

pub mod bits;
pub mod codec;
pub mod commands;
pub mod control;
mod fields;
pub mod movement;
pub mod notice;
pub mod request;
mod schema;
pub mod stream;

// Old path, until every crate names the new one.
pub use request as session;

use thiserror::Error;

/// The application protocol that QUIC negotiates.
pub const ALPN: &[u8] = b"myriad/1";
/// Changes whenever old clients could misread what a new server sends.
pub const PROTOCOL_VERSION: u16 = 2;
/// The most bytes of one datagram: fits every path that QUIC itself accepts.
pub const DATAGRAM_BYTES_MAX: usize = 1_050;
/// The most bytes of one frame of the reliable stream, its length prefix apart.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// Why bytes from the network could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("the message ends before its content does")]
    Truncated,
    #[error("{what} is {found}, which is out of range")]
    OutOfRange { what: &'static str, found: u64 },
    #[error("command kind {0} does not exist in this world")]
    UnknownCommand(u16),
    #[error("the message was made for schema epoch {found}, not {expected}")]
    WrongEpoch { expected: u8, found: u8 },
    #[error("{0} bytes stand behind the message's end")]
    TrailingBytes(usize),
    #[error("a message of {found} bytes, where {limit} are allowed")]
    TooLong { found: usize, limit: usize },
    #[error("not a valid message: {0}")]
    Malformed(String),
}
