//! A client's connection as a shard uses it: over QUIC, over WebSocket, or within the process.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use accounts::moment::Moment;
use bytes::Bytes;
use quic::{Congestion, Handle, Link, StreamEnd};

/// One client's connection, with its one stream and its datagrams.
pub trait ClientLink {
    fn handle(&self) -> Handle;

    /// The time of the event or visit.
    fn now(&self) -> Instant;

    /// The same, with the date.
    fn moment(&self) -> Moment {
        Moment {
            steady: self.now(),
            ..Moment::now()
        }
    }

    fn remote_address(&self) -> SocketAddr;

    /// Counters of congestion on the path.
    fn congestion(&self) -> Congestion;

    /// For operators.
    fn figures(&self) -> PathFigures;

    /// Sends a datagram, or drops it where the connection is ending.
    fn send_datagram(&mut self, data: Bytes);

    /// Writes as many of these bytes to the stream as it takes now, and returns how many.
    fn write(&mut self, bytes: &[u8]) -> usize;

    /// The same for bytes that many clients share, without a copy.
    fn write_shared(&mut self, bytes: Bytes) -> usize {
        self.write(&bytes)
    }

    /// Passes up to `bytes_max` of the stream's next bytes to `take`, in chunks.
    fn read(&mut self, bytes_max: usize, take: impl FnMut(&[u8])) -> StreamEnd;

    /// Closes the connection with a code and a sentence for people.
    fn close(&mut self, code: u32, reason: &str);
}

/// The traffic of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFigures {
    pub round_trip: Duration,
    /// Packets, or messages of a WebSocket.
    pub packets_sent: u64,
    /// Packets, or datagrams that newer ones have replaced.
    pub packets_lost: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl ClientLink for Link<'_> {
    fn handle(&self) -> Handle {
        Link::handle(self)
    }

    fn now(&self) -> Instant {
        Link::now(self)
    }

    fn remote_address(&self) -> SocketAddr {
        Link::remote_address(self)
    }

    fn congestion(&self) -> Congestion {
        Link::congestion(self)
    }

    fn figures(&self) -> PathFigures {
        let stats = self.connection().stats();
        PathFigures {
            round_trip: self.round_trip(),
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_sent: stats.udp_tx.bytes,
            bytes_received: stats.udp_rx.bytes,
        }
    }

    fn send_datagram(&mut self, data: Bytes) {
        // Fails only on a connection that is ending.
        Link::send_datagram(self, data);
    }

    fn write(&mut self, bytes: &[u8]) -> usize {
        Link::write(self, bytes)
    }

    fn write_shared(&mut self, bytes: Bytes) -> usize {
        Link::write_shared(self, bytes)
    }

    fn read(&mut self, bytes_max: usize, take: impl FnMut(&[u8])) -> StreamEnd {
        Link::read(self, bytes_max, take)
    }

    fn close(&mut self, code: u32, reason: &str) {
        Link::close(self, code, reason);
    }
}
