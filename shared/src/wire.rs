//! The messages between server and client, and their bounds.
//!
//! | direction | carrier | content | module |
//! | --- | --- | --- | --- |
//! | client → server | stream, once | [`control::Hello`] | [`control`] |
//! | client → server | same stream, after it | requests: regions, subscriptions, talk, rankings, texts | [`request`] |
//! | server → client | same stream, first | [`control::Welcome`] | [`control`] |
//! | server → client | same stream, after it | frames of messages: enter, leave, lasting attributes, names, answers, notices, talk, layers, rankings, members | [`stream`], [`notice`], [`talk`], [`layers`], [`rankings`], [`members`] |
//! | server → client | datagrams | movement: newest wins | [`movement`] |
//! | client → server | datagrams | commands and acknowledgements | [`commands`] |
//!
//! `shared/PROTOCOL.md` says all of this for people who read no Rust, and cites golden bytes.
//!
//! A connection ends with a QUIC application close: a [`close::Close`] code and a
//! sentence. Every decoder accepts arbitrary bytes: it returns a [`DecodeError`] for
//! those it can't read, and allocates in proportion to the input.

// A number that does not fit is an error, and not another number.
#![deny(clippy::cast_possible_truncation)]

pub mod bits;
pub mod close;
pub mod codec;
pub mod commands;
pub mod control;
mod fields;
pub mod layers;
pub mod length;
pub mod members;
pub mod movement;
pub mod notice;
pub mod rankings;
pub mod request;
mod schema;
pub mod stream;
pub mod talk;
mod velocity;

pub use schema::SchemaError;

use thiserror::Error;

/// The application protocol that QUIC negotiates.
pub const ALPN: &[u8] = b"myriad/1";
/// What clients and servers of this [`PROTOCOL_VERSION`] prefer to [`ALPN`]: a first packet says so,
/// so that servers of several versions can be behind one address. Without it in common, a server
/// answers by [`ALPN`] and says which version it has.
pub const VERSION_ALPN: &[u8] = b"myriad/1.23";
/// Those that a client offers, what is preferred first.
pub const ALPNS: [&[u8]; 2] = [VERSION_ALPN, ALPN];
/// Those that a server accepts, what is preferred first.
pub const SERVER_ALPNS: [&[u8]; 7] = [
    VERSION_ALPN,
    b"myriad/1.22",
    b"myriad/1.21",
    b"myriad/1.20",
    b"myriad/1.19",
    b"myriad/1.18",
    ALPN,
];
/// Changes whenever an old client could misread what a new server sends.
pub const PROTOCOL_VERSION: u16 = 23;
/// The oldest version whose clients a server accepts. What it sends them is what that version can
/// read.
pub const PROTOCOL_VERSION_MIN: u16 = 18;
/// The first version that knows texts: a world that has some accepts no older clients.
pub const TEXTS_VERSION: u16 = 20;
/// The first version whose welcomes say where planes are. To older clients they are one world.
pub const PLANES_VERSION: u16 = 21;
/// The first version that knows edits of layers: a world whose scripts change cells accepts no older
/// clients.
pub const EDITS_VERSION: u16 = 22;
/// The first version that knows things. Older clients are sent none.
pub const THINGS_VERSION: u16 = 22;
/// The first version that knows members of groups. Older clients are sent none.
pub const MEMBERS_VERSION: u16 = 23;
/// The first version in which rare messages of the stream share a tag.
pub const RARE_VERSION: u16 = 19;
/// The first version whose welcomes say which commands were processed, which kinds block cells, and
/// what is ranked.
pub const LONGER_WELCOME_VERSION: u16 = 19;
/// The most bytes of a datagram: fits every path that QUIC itself accepts.
pub const DATAGRAM_BYTES_MAX: usize = 1_050;
/// The most bytes of a frame of the reliable stream, without its length prefix.
pub const FRAME_BYTES_MAX: usize = 1 << 20;

/// Why bytes from the network can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    #[error("the message ends before its content does")]
    Truncated,
    #[error("{what} is {found}, which is out of range")]
    OutOfRange { what: &'static str, found: u64 },
    #[error("no command of this world has the number {0}")]
    UnknownCommand(u16),
    /// It was written before the sender knew that the world's commands had changed.
    #[error("of epoch {0}, which is over")]
    Outdated(u8),
    #[error("expected schema epoch {expected}, found {found}")]
    WrongEpoch { expected: u8, found: u8 },
    #[error("{0} bytes follow the end of the message")]
    TrailingBytes(usize),
    /// The only form of a number that is read is the shortest one.
    #[error("{0} takes more room than it needs")]
    NotShortest(&'static str),
    #[error("a message of {found} bytes, where {limit} are allowed")]
    TooLong { found: usize, limit: usize },
    #[error("not a valid message: {0}")]
    Malformed(String),
    #[error("not a valid schema: {0}")]
    Schema(#[from] SchemaError),
}
