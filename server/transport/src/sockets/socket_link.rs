//! A connection over WebSocket, as a shard uses it.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::Bytes;
use quic::{Congestion, Handle, StreamEnd};

use super::queues::Queues;
use crate::client_link::{ClientLink, PathFigures};

/// A connection at the time of an event.
pub struct SocketLink<'a> {
    pub handle: Handle,
    pub now: Instant,
    /// Changes with each tick: datagrams of a newer turn replace those that wait.
    pub turn: u64,
    pub address: SocketAddr,
    pub figures: PathFigures,
    pub queues: &'a mut Queues,
}

impl ClientLink for SocketLink<'_> {
    fn handle(&self) -> Handle {
        self.handle
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn remote_address(&self) -> SocketAddr {
        self.address
    }

    /// TCP does not show marks. A queue shows in the round trips of acknowledgements.
    fn congestion(&self) -> Congestion {
        Congestion::default()
    }

    fn figures(&self) -> PathFigures {
        self.figures
    }

    fn send_datagram(&mut self, data: Bytes) {
        self.queues.push_datagram(self.turn, data);
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        self.queues.write(bytes)
    }

    fn read(&mut self, bytes_max: usize, take: impl FnMut(&[u8])) -> StreamEnd {
        match self.queues.read(bytes_max, take) == bytes_max {
            true => StreamEnd::Enough,
            false => StreamEnd::Waiting,
        }
    }

    fn close(&mut self, code: u32, reason: &str) {
        self.queues
            .close
            .get_or_insert_with(|| (code, reason.to_owned()));
    }
}
