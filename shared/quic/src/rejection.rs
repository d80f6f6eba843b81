//! Why a browser's session is not accepted, or goes no further.

use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{Connection, VarInt};

/// A reason to close a browser's connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// An error code of HTTP/3.
    pub code: u32,
    pub reason: String,
    /// The page comes from an origin that is not allowed.
    pub is_foreign: bool,
}

impl Rejection {
    /// Closes the connection with the reason.
    pub(crate) fn close(&self, connection: &mut Connection, now: Instant) {
        let reason = Bytes::copy_from_slice(self.reason.as_bytes());
        connection.close(now, VarInt::from_u32(self.code), reason);
    }
}

/// The code with which a connection ends whose session has ended.
pub(crate) const NO_ERROR: u32 = 0x100;
