//! A game behind a network that is made by a seed, in a time that the caller makes: how a game
//! feels to players far away, without waiting for it.
//!
//! Datagrams are lost, delayed and overtaken as the network says. The stream is reliable: what
//! is lost of it is sent again. There is no QUIC in between, so its handshake, its congestion
//! control and its acknowledgements are left out.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use anyhow::Result;
use client_bot::client_core::{Ending, Event, Game, GameOptions, LossCode, Step};
use quic::Network;
use quic::faults::FaultyPath;
use shared::wire::close::Close;

use super::{ConnectionId, EmbeddedServer};

/// A game, and its way to a server in this process.
pub struct RemoteGame {
    game: Game,
    network: Network,
    connection: Option<ConnectionId>,
    up: Way,
    down: Way,
    /// The moment zero, on the process's clock: networks speak of those.
    started: Instant,
    bytes_up: u64,
    bytes_down: u64,
}

/// One way of the network, with what is on it.
struct Way {
    path: FaultyPath<(ConnectionId, Packet)>,
    /// Pieces of the stream that have not arrived, oldest first, and when each was sent last.
    unarrived: VecDeque<(u64, Vec<u8>, Instant)>,
    /// The number of the next piece.
    next: u64,
    /// Pieces that have arrived before one that is missing, by number.
    early: BTreeMap<u64, Vec<u8>>,
    /// The number of the first piece that has not arrived.
    missing: u64,
}

#[derive(Clone)]
enum Packet {
    Datagram(Vec<u8>),
    Piece(u64, Vec<u8>),
}

/// What has arrived.
#[derive(Default)]
struct Arrived {
    stream: Vec<u8>,
    datagrams: Vec<Vec<u8>>,
}

impl RemoteGame {
    /// A game that connects at its first [`RemoteGame::poll`].
    pub fn new(options: GameOptions, network: &Network, seed: u64) -> RemoteGame {
        RemoteGame {
            game: Game::new(options),
            network: network.clone(),
            connection: None,
            up: Way::new(network.up.clone(), seed),
            down: Way::new(network.down.clone(), !seed),
            started: Instant::now(),
            bytes_up: 0,
            bytes_down: 0,
        }
    }

    pub fn game(&self) -> &Game {
        &self.game
    }

    /// To give commands and requests.
    pub fn game_mut(&mut self) -> &mut Game {
        &mut self.game
    }

    /// Bytes that the client and the server have sent, with the headers of QUIC, UDP and IP.
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes_up, self.bytes_down)
    }

    /// Brings what has arrived to both ends, and what the server has sent onto its way. To be
    /// called often: what arrives between two calls arrives at the later one.
    pub fn carry(&mut self, server: &mut EmbeddedServer, now: Duration) -> Result<()> {
        let at = self.started + now;
        let Some(connection) = self.connection else {
            return Ok(());
        };
        let up = self.up.arrive(connection, at);
        if !up.stream.is_empty() {
            server.handle_stream(connection, &up.stream);
        }
        for datagram in up.datagrams {
            server.handle_datagram(connection, datagram);
        }
        let stream = server.take_stream(connection);
        self.bytes_down += self.down.send_stream(connection, &stream, at);
        for datagram in server.take_datagrams(connection) {
            self.bytes_down += self.down.send(connection, datagram.to_vec(), at);
        }
        let down = self.down.arrive(connection, at);
        for datagram in down.datagrams {
            self.game.handle_datagram(&datagram, now)?;
        }
        if !down.stream.is_empty() {
            self.game.handle_stream(&down.stream, now)?;
        }
        if let Some(closed) = server.take_closed(connection) {
            self.connection = None;
            let ending = Ending::closed(u64::from(closed.code), &closed.reason);
            self.game.closed(ending, now);
        }
        Ok(())
    }

    /// A frame of the game begins: connects where that is due, and gives what has happened.
    pub fn poll(&mut self, server: &mut EmbeddedServer, now: Duration) -> Vec<Event> {
        match self.game.next_step(now) {
            Step::Wait => {}
            Step::Connect => {
                self.connection = server.connect();
                match self.connection {
                    Some(_) => {
                        // What is on its way is of the connection before.
                        self.up.begin();
                        self.down.begin();
                        let (up, down) = (self.network.up.at(now), self.network.down.at(now));
                        let round_trip = up.delay + down.delay + (up.jitter + down.jitter) / 2;
                        self.game.opened(Some(round_trip));
                    }
                    None => {
                        let reason = "the server has no room".to_owned();
                        self.game
                            .closed(Ending::new(LossCode::Unreachable, reason), now);
                    }
                }
            }
            Step::Close(close, _) => self.close(server, close),
        }
        self.send_stream(now);
        self.game.poll(now)
    }

    /// Sends what is due, as [`Game::datagram`] says.
    pub fn flush(&mut self, now: Duration) {
        self.send_stream(now);
        let at = self.started + now;
        if let Some(datagram) = self.game.datagram(now)
            && let Some(connection) = self.connection
        {
            self.bytes_up += self.up.send(connection, datagram, at);
        }
    }

    /// Leaves for good.
    pub fn leave(&mut self, server: &mut EmbeddedServer) {
        self.game.leave();
        self.close(server, Close::Bye);
    }

    fn send_stream(&mut self, now: Duration) {
        let stream = self.game.stream_bytes().to_vec();
        self.game.stream_sent(stream.len());
        if let Some(connection) = self.connection {
            let at = self.started + now;
            self.bytes_up += self.up.send_stream(connection, &stream, at);
        }
    }

    fn close(&mut self, server: &mut EmbeddedServer, close: Close) {
        if let Some(connection) = self.connection.take() {
            server.close(connection, close);
        }
    }
}

impl Way {
    fn new(path: quic::faults::Path, seed: u64) -> Way {
        Way {
            path: FaultyPath::new(path, seed),
            unarrived: VecDeque::new(),
            next: 0,
            early: BTreeMap::new(),
            missing: 0,
        }
    }

    /// A connection begins, with a stream of its own.
    fn begin(&mut self) {
        self.unarrived.clear();
        self.early.clear();
        (self.next, self.missing) = (0, 0);
    }

    /// Sends a datagram, and gives the bytes that the packet takes.
    fn send(&mut self, of: ConnectionId, datagram: Vec<u8>, now: Instant) -> u64 {
        let bytes = datagram.len() + HEADER_BYTES;
        self.path.push((of, Packet::Datagram(datagram)), bytes, now);
        bytes as u64
    }

    /// Sends bytes of the stream, and again those that seem lost.
    fn send_stream(&mut self, of: ConnectionId, bytes: &[u8], now: Instant) -> u64 {
        for piece in bytes.chunks(PIECE_BYTES) {
            let long_ago = now.checked_sub(RESEND).unwrap_or(now);
            self.unarrived
                .push_back((self.next, piece.to_vec(), long_ago));
            self.next += 1;
        }
        let mut all = 0;
        for (number, piece, sent) in &mut self.unarrived {
            if now >= *sent + RESEND {
                *sent = now;
                let bytes = piece.len() + HEADER_BYTES;
                self.path
                    .push((of, Packet::Piece(*number, piece.clone())), bytes, now);
                all += bytes as u64;
            }
        }
        all
    }

    fn arrive(&mut self, of: ConnectionId, now: Instant) -> Arrived {
        let mut arrived = Arrived::default();
        while let Some((sent_by, packet)) = self.path.pop(now) {
            if sent_by != of {
                continue;
            }
            match packet {
                Packet::Datagram(datagram) => arrived.datagrams.push(datagram),
                Packet::Piece(number, piece) => {
                    self.unarrived.retain(|unarrived| unarrived.0 != number);
                    if number >= self.missing {
                        self.early.insert(number, piece);
                    }
                }
            }
        }
        while let Some(piece) = self.early.remove(&self.missing) {
            arrived.stream.extend(piece);
            self.missing += 1;
        }
        arrived
    }
}

/// What QUIC, UDP and IP add to a packet, with an acknowledgement.
const HEADER_BYTES: usize = crate::session::flow::HEADER_BYTES;
/// The bytes of the stream in a packet.
const PIECE_BYTES: usize = 1000;
/// What has not arrived for so long is sent again.
const RESEND: Duration = Duration::from_millis(700);
