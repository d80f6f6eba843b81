//! A connection within the process.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use quic::{Congestion, Handle, StreamEnd};
use transport::client_link::{ClientLink, PathFigures};

use super::{ADDRESS, Closed};

/// The data in flight between a client and the server.
#[derive(Default)]
pub struct Peer {
    /// Bytes of the client's stream that the server has not read.
    pub received: VecDeque<u8>,
    /// Bytes of the server's stream that the client has not fetched.
    pub stream: Vec<u8>,
    /// Datagrams that the client has not fetched, oldest first.
    pub datagrams: Vec<Bytes>,
    pub closed: Option<Closed>,
}

/// A connection at the time of an event.
pub struct EmbeddedLink<'a> {
    handle: Handle,
    now: Instant,
    peer: &'a mut Peer,
}

impl Peer {
    pub fn close(&mut self, code: u32, reason: &str) {
        self.closed.get_or_insert_with(|| Closed {
            code,
            reason: reason.to_owned(),
        });
    }
}

impl<'a> EmbeddedLink<'a> {
    pub fn new(handle: Handle, now: Instant, peer: &'a mut Peer) -> EmbeddedLink<'a> {
        EmbeddedLink { handle, now, peer }
    }
}

impl ClientLink for EmbeddedLink<'_> {
    fn handle(&self) -> Handle {
        self.handle
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn remote_address(&self) -> SocketAddr {
        ADDRESS
    }

    /// There is no network.
    fn congestion(&self) -> Congestion {
        Congestion::default()
    }

    fn figures(&self) -> PathFigures {
        PathFigures::default()
    }

    fn send_datagram(&mut self, data: Bytes) {
        if self.peer.closed.is_none() {
            self.peer.datagrams.push(data);
            let surplus = self.peer.datagrams.len().saturating_sub(DATAGRAMS_MAX);
            self.peer.datagrams.drain(..surplus);
        }
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        let room = STREAM_BYTES_MAX.saturating_sub(self.peer.stream.len());
        let taken = bytes.len().min(room);
        self.peer.stream.extend_from_slice(&bytes[..taken]);
        taken
    }

    fn read(&mut self, bytes_max: usize, mut take: impl FnMut(&[u8])) -> StreamEnd {
        let count = bytes_max.min(self.peer.received.len());
        let bytes: Vec<u8> = self.peer.received.drain(..count).collect();
        if !bytes.is_empty() {
            take(&bytes);
        }
        match count == bytes_max {
            true => StreamEnd::Enough,
            false => StreamEnd::Waiting,
        }
    }

    fn close(&mut self, code: u32, reason: &str) {
        self.peer.close(code, reason);
    }
}

/// A client that fetches nothing loses its oldest datagrams, as in a network, ...
const DATAGRAMS_MAX: usize = 64;
/// ... and the session notes that its stream is not read.
const STREAM_BYTES_MAX: usize = 4 << 20;
