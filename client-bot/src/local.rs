//! A server in the process of its client, without a network: for single player, and for tests of
//! games. The crate `server` has one.

use std::time::Instant;

use shared::wire::close::Close;

/// A client's connection to such a server.
pub trait LocalServer: Send + Sync {
    /// Opens a connection with a stream; the client says its hello on it. The error is a sentence
    /// for people.
    fn connect(&mut self) -> Result<(), String>;

    /// The client has sent bytes on its stream.
    fn send_stream(&mut self, bytes: &[u8]);

    /// The client has sent a datagram.
    fn send_datagram(&mut self, datagram: Vec<u8>);

    /// The client has closed the connection.
    fn close(&mut self, code: Close);

    /// Runs the world up to now, and gives what it has sent to the client since it was asked last.
    fn advance(&mut self, now: Instant) -> Sent;
}

/// What a server has sent to a client, oldest first.
#[derive(Debug, Default)]
pub struct Sent {
    pub stream: Vec<u8>,
    pub datagrams: Vec<Vec<u8>>,
    /// It has closed the connection, with a code and a sentence.
    pub closed: Option<(u32, String)>,
}
