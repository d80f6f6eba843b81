//! A server in the process of its client, without a network: for single player, and for tests of
//! games. The crate `server` has one.

use std::time::{Duration, Instant};

use client_core::{Ending, Game, LossCode, Step};
use shared::wire::close::Close;

/// A client's connection to such a server.
pub trait LocalServer: Send + Sync {
    /// Opens a connection with a stream; the client sends its hello on it. The error is a sentence
    /// for people.
    fn connect(&mut self) -> Result<(), String>;

    /// The client has sent bytes on its stream.
    fn send_stream(&mut self, bytes: &[u8]);

    /// The client has sent a datagram.
    fn send_datagram(&mut self, datagram: Vec<u8>);

    /// The client has closed the connection.
    fn close(&mut self, code: Close);

    /// Runs the world up to now, and gives what it has sent to the client since the last call.
    fn advance(&mut self, now: Instant) -> Sent;
}

/// A server's data for a client, oldest first.
#[derive(Debug, Default)]
pub struct Sent {
    /// Bytes of the reliable stream.
    pub stream: Vec<u8>,
    /// Each for itself.
    pub datagrams: Vec<Vec<u8>>,
    /// It has closed the connection, with a code and a sentence.
    pub closed: Option<(u32, String)>,
}

/// Gives a game what its server has sent, and connects it where that is due. The game's time
/// counts from `started`.
pub(crate) fn poll(server: &mut dyn LocalServer, game: &mut Game, started: Instant, at: Instant) {
    let Sent {
        stream,
        datagrams,
        closed,
    } = server.advance(at);
    let now = started.elapsed();
    let mut taken = Ok(());
    for datagram in datagrams {
        taken = taken.and_then(|()| game.handle_datagram(&datagram, now));
    }
    if !stream.is_empty() {
        taken = taken.and_then(|()| game.handle_stream(&stream, now));
    }
    if let Err(error) = taken {
        server.close(Close::Malformed);
        let reason = format!("cannot read what the server sent: {error}");
        game.closed(Ending::new(Close::Malformed, reason), now);
    }
    if let Some((code, reason)) = closed {
        game.closed(Ending::closed(code.into(), &reason), now);
    }
    match game.next_step(now) {
        Step::Wait => {}
        Step::Connect => match server.connect() {
            Ok(()) => game.opened(Some(Duration::ZERO)),
            Err(reason) => game.closed(Ending::new(LossCode::Unreachable, reason), now),
        },
        Step::Close(code, _) => server.close(code),
    }
    send_stream(server, game);
}

/// Gives the server what the game has to say now.
pub(crate) fn flush(server: &mut dyn LocalServer, game: &mut Game, now: Duration) {
    send_stream(server, game);
    if let Some(datagram) = game.datagram(now) {
        server.send_datagram(datagram);
    }
}

fn send_stream(server: &mut dyn LocalServer, game: &mut Game) {
    let bytes = game.stream_bytes();
    let sent = bytes.len();
    server.send_stream(bytes);
    game.stream_sent(sent);
}
