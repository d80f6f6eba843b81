//! The protocol over an endpoint's connections.

use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{ConnectionError, Incoming};

use crate::handle::Handle;
use crate::link::Link;
use crate::rejection::Rejection;
use crate::socket::Packet;

/// The protocol over an endpoint's connections.
pub trait Application {
    /// The state of one connection.
    type Session;

    /// A peer wants to connect.
    fn open(&mut self, incoming: &Incoming, load: Load, now: Instant) -> Open<Self::Session>;

    /// Something has happened to a connection.
    fn event(&mut self, event: Event, link: &mut Link<'_>, session: &mut Self::Session);

    /// Packets for a session are about to be read: [`crate::prefetch`]es its memory while
    /// others are read.
    fn prefetch(&self, _session: &Self::Session) {}

    /// All that a batch of packets has brought is passed on.
    fn settled(&mut self, _link: &mut Link<'_>, _session: &mut Self::Session) {}

    /// A packet has arrived that is for another endpoint of a shared port.
    fn stray(&mut self, _owner: u16, _packet: Packet) {}
    /// A browser's session is not accepted, or its frames can't be read: the
    /// connection is closed after this.
    fn rejected(&mut self, _rejection: &Rejection) {}

    /// A connection has ended, at either side's wish or by an error.
    fn closed(&mut self, handle: Handle, session: Self::Session, reason: ConnectionError);
}

/// Whether to accept a connection.
#[derive(Debug)]
pub enum Open<S> {
    Accept(S),
    /// First the other side must show that it receives at its address.
    Retry,
    Refuse,
    /// As refuse, but without an answer.
    Ignore,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is complete.
    Connected,
    Datagram(Bytes),
    /// The stream may have bytes to read.
    Readable,
    /// The stream may take bytes again.
    Writable,
}

/// How many connections an endpoint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    pub connections: usize,
    /// Those whose handshake is not complete.
    pub handshakes: usize,
}
