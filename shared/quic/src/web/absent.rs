//! Without WebTransport: it is never negotiated.

use bytes::Bytes;
use quinn_proto::{ApplicationClose, Connection, StreamId};

use crate::rejection::Rejection;

/// Which sessions a server accepts.
#[derive(Clone, Debug, Default)]
pub struct WebOptions {}

/// HTTP/3 on one connection: there is none.
#[derive(Debug)]
pub(crate) enum Web {}

impl Web {
    /// Whether the client negotiated WebTransport: it did not.
    pub fn negotiated(_: &mut Connection) -> Option<Result<Web, Rejection>> {
        None
    }

    pub fn stream(&self) -> Option<StreamId> {
        match *self {}
    }

    pub fn is_beginning(&self) -> bool {
        match *self {}
    }

    pub fn is_over(&self) -> bool {
        match *self {}
    }

    pub fn end(&self) -> Option<Option<ApplicationClose>> {
        match *self {}
    }

    pub fn progress(&mut self, _: &mut Connection, _: &WebOptions) -> Result<(), Rejection> {
        match *self {}
    }

    pub fn unwrap_datagram(&self, _: Bytes) -> Result<Option<Bytes>, Rejection> {
        match *self {}
    }

    pub fn wrap_datagram(&self, _: &[u8]) -> Bytes {
        match *self {}
    }

    pub fn close(&mut self, _: &mut Connection, _: u32, _: &str) -> bool {
        match *self {}
    }
}
