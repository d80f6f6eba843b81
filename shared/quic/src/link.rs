//! One connection, as the application uses it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{Connection, Dir, ReadError, Side, StreamId, VarInt, WriteError};

use crate::endpoint::Handle;
use crate::socket::Socket;

/// A connection with its one stream, which the client opens.
pub struct Link<'a> {
    pub(crate) connection: &'a mut Connection,
    pub(crate) socket: &'a mut Socket,
    pub(crate) handle: Handle,
    pub(crate) now: Instant,
    /// Something is to be sent now.
    pub(crate) is_urgent: &'a mut bool,
}

/// Why a stream gives no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// As many were read as were wanted.
    Enough,
    /// Nothing more has arrived yet.
    Waiting,
    /// Nothing more will arrive.
    Finished,
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

    /// Sends a datagram with the next packet, at the end of the event or visit. One that
    /// waits already goes out before it; if the network lets nothing out, it is dropped, as
    /// it is out of date. False if none of this size can be sent.
    pub fn send_datagram(&mut self, data: Bytes) -> bool {
        *self.is_urgent = true;
        if self.connection.datagrams().send_buffer_space() < data.len() {
            self.send_packet();
        }
        self.connection.datagrams().send(data, true).is_ok()
    }

    fn send_packet(&mut self) {
        let buffer = self.socket.buffer();
        if let Some(packet) = self.connection.poll_transmit(self.now, 1, buffer) {
            self.socket
                .commit(packet.destination, packet.src_ip, self.now);
        }
    }

    /// Opens the client's stream. False if the server allows none.
    pub fn open_stream(&mut self) -> bool {
        self.connection.streams().open(Dir::Bi).is_some()
    }

    /// Gives the stream as many of these bytes as it takes now.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let mut written = 0;
        while written < bytes.len() {
            match self
                .connection
                .send_stream(stream())
                .write(&bytes[written..])
            {
                Ok(count) => {
                    *self.is_urgent = true;
                    written += count;
                }
                Err(WriteError::Blocked) => break,
                // The peer takes no more, or the connection is ending.
                Err(_) => return bytes.len(),
            }
        }
        written
    }

    /// Passes up to `bytes_max` of the stream's next bytes to `take`, in chunks.
    pub fn read(&mut self, bytes_max: usize, mut take: impl FnMut(&[u8])) -> StreamEnd {
        let mut stream = self.connection.recv_stream(stream());
        let Ok(mut chunks) = stream.read(true) else {
            return StreamEnd::Finished;
        };
        let mut left = bytes_max;
        let end = loop {
            if left == 0 {
                break StreamEnd::Enough;
            }
            match chunks.next(left) {
                Ok(Some(chunk)) => {
                    take(&chunk.bytes);
                    left -= chunk.bytes.len();
                }
                Err(ReadError::Blocked) => break StreamEnd::Waiting,
                Ok(None) | Err(ReadError::Reset(_)) => break StreamEnd::Finished,
            }
        };
        // A larger window goes out with the next packet.
        let _ = chunks.finalize();
        end
    }

    /// Sends acknowledgements now, since nothing will carry them soon.
    pub fn send_now(&mut self) {
        *self.is_urgent = true;
    }

    /// Closes the connection with a code and a sentence for people.
    pub fn close(&mut self, code: u32, reason: &str) {
        let reason = Bytes::copy_from_slice(reason.as_bytes());
        self.connection
            .close(self.now, VarInt::from_u32(code), reason);
        *self.is_urgent = true;
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

/// The first stream that the client opens.
pub(crate) fn stream() -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, 0)
}
