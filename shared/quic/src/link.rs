//! One connection, as the application uses it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{Connection, Dir, SendStream, StreamId, VarInt, WriteError};

use crate::handle::Handle;
use crate::socket::Socket;
use crate::streams::{self, StreamEnd};
use crate::web::Web;

/// A connection with its one stream, which the client opens.
pub struct Link<'a> {
    pub(crate) connection: &'a mut Connection,
    /// The layer of WebTransport between connection and application, if it is a browser's.
    pub(crate) web: Option<&'a mut Web>,
    pub(crate) socket: &'a mut Socket,
    pub(crate) handle: Handle,
    pub(crate) now: Instant,
    /// Something is to be sent now.
    pub(crate) is_urgent: &'a mut bool,
}

/// A network's effect on a connection's packets so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Congestion {
    /// How often packets were lost or marked (ECN): once for all in one acknowledgement.
    pub events: u64,
    /// Packets that were lost.
    pub lost: u64,
}

impl Congestion {
    /// Whether packets were marked since, and none was lost: a queue on the way is long, and not
    /// full.
    pub fn is_marked_since(&self, before: &Congestion) -> bool {
        self.events > before.events && self.lost == before.lost
    }
}

impl Link<'_> {
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// The time of the event or visit.
    pub fn now(&self) -> Instant {
        self.now
    }

    pub fn remote_address(&self) -> SocketAddr {
        self.connection.remote_address()
    }

    /// The estimated round trip.
    pub fn round_trip(&self) -> Duration {
        self.connection.rtt()
    }

    /// The transport itself, for its figures.
    pub fn connection(&self) -> &Connection {
        self.connection
    }

    /// The network's effect on the packets that were sent.
    pub fn congestion(&self) -> Congestion {
        let path = self.connection.stats().path;
        Congestion {
            events: path.congestion_events,
            lost: path.lost_packets,
        }
    }

    /// Sends a datagram with the next packet, at the end of the event or visit. One that
    /// waits already goes out before it; if the network lets nothing out, it is dropped, as
    /// it is out of date. False if none of this size can be sent.
    pub fn send_datagram(&mut self, data: Bytes) -> bool {
        *self.is_urgent = true;
        let data = match &self.web {
            Some(web) => web.wrap_datagram(&data),
            None => data,
        };
        if self.connection.datagrams().send_buffer_space() < data.len() {
            self.send_packet();
        }
        self.connection.datagrams().send(data, true).is_ok()
    }

    fn send_packet(&mut self) {
        let buffer = self.socket.buffer();
        if let Some(packet) = self.connection.poll_transmit(self.now, 1, buffer) {
            self.socket.commit_transmit(&packet, self.now);
        }
    }

    /// Opens the client's stream. False if the server allows none.
    pub fn open_stream(&mut self) -> bool {
        self.connection.streams().open(Dir::Bi).is_some()
    }

    /// Gives the stream as many of these bytes as it takes now.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut rest = bytes;
        self.write_all(bytes.len(), |stream| {
            let count = stream.write(rest)?;
            rest = &rest[count..];
            Ok(count)
        })
    }

    /// The same for bytes that other connections send, too: all keep the same memory until the
    /// peer has it.
    pub fn write_shared(&mut self, bytes: Bytes) -> usize {
        let length = bytes.len();
        let mut rest = [bytes];
        self.write_all(length, |stream| Ok(stream.write_chunks(&mut rest)?.bytes))
    }

    /// Writes `length` bytes, as far as the stream takes them now.
    fn write_all(
        &mut self,
        length: usize,
        mut write: impl FnMut(&mut SendStream<'_>) -> Result<usize, WriteError>,
    ) -> usize {
        let Some(stream) = self.stream() else {
            return 0;
        };
        let mut written = 0;
        while written < length {
            match write(&mut self.connection.send_stream(stream)) {
                Ok(count) => {
                    *self.is_urgent = true;
                    written += count;
                }
                Err(WriteError::Blocked) => break,
                // The peer takes no more, or the connection is ending.
                Err(_) => return length,
            }
        }
        written
    }

    /// Passes up to `bytes_max` of the stream's next bytes to `take`, in chunks.
    pub fn read(&mut self, bytes_max: usize, mut take: impl FnMut(&[u8])) -> StreamEnd {
        match self.stream() {
            Some(stream) => streams::read(self.connection, stream, bytes_max, |b| take(b)),
            None => StreamEnd::Waiting,
        }
    }

    fn stream(&self) -> Option<StreamId> {
        match &self.web {
            Some(web) => web.stream(),
            None => Some(streams::first()),
        }
    }

    /// Sends acknowledgements now, since nothing will carry them soon.
    pub fn send_now(&mut self) {
        *self.is_urgent = true;
    }

    /// Closes the connection with a code and a sentence for people.
    pub fn close(&mut self, code: u32, reason: &str) {
        *self.is_urgent = true;
        if let Some(web) = &mut self.web
            && web.close(self.connection, code, reason)
        {
            return;
        }
        let reason = Bytes::copy_from_slice(reason.as_bytes());
        self.connection
            .close(self.now, VarInt::from_u32(code), reason);
    }

    pub(crate) fn again(&mut self) -> Link<'_> {
        Link {
            connection: self.connection,
            web: self.web.as_deref_mut(),
            socket: self.socket,
            handle: self.handle,
            now: self.now,
            is_urgent: self.is_urgent,
        }
    }

    /// Whether the connection, or a browser's session over it, has ended or is ending.
    pub(crate) fn is_ended(&self) -> bool {
        self.connection.is_closed() || self.web.as_ref().is_some_and(|web| web.is_over())
    }
}

impl std::fmt::Debug for Link<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Link")
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

/// The size of the buffer for datagrams: one waits.
pub const DATAGRAM_BUFFER_BYTES: usize = 1500;
