//! A game behind a network that is made by a seed, in a time that the caller makes: how a game
//! feels to players far away, without waiting for it.
//!
//! The network loses, delays and reorders datagrams. The stream is reliable: lost pieces are sent
//! again, and a window bounds the data in flight. There is no QUIC in between, so its handshake
//! and its acknowledgements are left out.

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
    /// The moment zero, on the process's clock, which networks use.
    started: Instant,
    bytes_up: u64,
    bytes_down: u64,
}

/// One direction of the network, with the data in flight.
struct Way {
    path: FaultyPath<(ConnectionId, Packet)>,
    /// Bytes of the stream that have not arrived, from the offset `missing` on.
    unarrived: VecDeque<u8>,
    missing: u64,
    /// The offset up to which the stream was sent.
    sent: u64,
    /// How many bytes of the stream may be on their way.
    window: u64,
    /// When the stream was sent from `missing` on, or has got on.
    moved: Option<Instant>,
    /// Pieces that have arrived before one that is missing, by offset.
    early: BTreeMap<u64, Vec<u8>>,
}

#[derive(Clone)]
enum Packet {
    Datagram(Vec<u8>),
    /// A piece of the stream, from an offset on.
    Piece(u64, Vec<u8>),
}

/// The arrived data.
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

    /// Delivers arrived data to both ends, and puts sent data of the server into flight. To be
    /// called often: data that arrives between two calls arrives at the later one.
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

    /// Begins a frame of the game: connects where that is due, and returns the events.
    pub fn poll(&mut self, server: &mut EmbeddedServer, now: Duration) -> Vec<Event> {
        match self.game.next_step(now) {
            Step::Wait => {}
            Step::Connect => {
                self.connection = server.connect();
                match self.connection {
                    Some(_) => {
                        // The data in flight is of the connection before.
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

    /// Sends the datagrams that are due, see [`Game::datagram`].
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
            missing: 0,
            sent: 0,
            window: WINDOW_FIRST,
            moved: None,
            early: BTreeMap::new(),
        }
    }

    /// A connection begins, with a stream of its own.
    fn begin(&mut self) {
        self.unarrived.clear();
        self.early.clear();
        (self.missing, self.sent, self.window) = (0, 0, WINDOW_FIRST);
        self.moved = None;
    }

    /// Sends a datagram, and returns the bytes that the packet takes.
    fn send(&mut self, of: ConnectionId, datagram: Vec<u8>, now: Instant) -> u64 {
        let bytes = datagram.len() + HEADER_BYTES;
        self.path.push((of, Packet::Datagram(datagram)), bytes, now);
        bytes as u64
    }

    /// Sends bytes of the stream as far as the window allows, and again those that seem lost.
    /// Returns the bytes that the packets take.
    fn send_stream(&mut self, of: ConnectionId, bytes: &[u8], now: Instant) -> u64 {
        self.unarrived.extend(bytes);
        let is_lost = |moved: Instant| now >= moved + RESEND;
        if self.sent > self.missing && self.moved.is_some_and(is_lost) {
            // As after a time-out of TCP or QUIC: one packet probes the path.
            self.sent = self.missing;
            self.window = PIECE_BYTES;
        }
        let end = self.missing + self.unarrived.len() as u64;
        let mut all = 0;
        while self.sent < end.min(self.missing + self.window) {
            if self.sent == self.missing {
                self.moved = Some(now);
            }
            let piece = (end - self.sent).min(PIECE_BYTES);
            let first = (self.sent - self.missing) as usize;
            let bytes = self.unarrived.range(first..first + piece as usize);
            let bytes: Vec<u8> = bytes.copied().collect();
            let packet_bytes = bytes.len() + HEADER_BYTES;
            let packet = (of, Packet::Piece(self.sent, bytes));
            self.path.push(packet, packet_bytes, now);
            self.sent += piece;
            all += packet_bytes as u64;
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
                Packet::Piece(offset, piece) => {
                    let longer = |known: &Vec<u8>| known.len() >= piece.len();
                    if !self.early.get(&offset).is_some_and(longer) {
                        self.early.insert(offset, piece);
                    }
                }
            }
        }
        while let Some(first) = self.early.first_entry() {
            if *first.key() > self.missing {
                break;
            }
            let (offset, piece) = first.remove_entry();
            let known = usize::try_from(self.missing - offset).unwrap_or(usize::MAX);
            let Some(new) = piece.get(known..).filter(|new| !new.is_empty()) else {
                continue;
            };
            arrived.stream.extend(new);
            self.unarrived.drain(..new.len());
            self.missing += new.len() as u64;
            self.sent = self.sent.max(self.missing);
            self.window = (self.window + new.len() as u64).min(WINDOW_MAX);
            self.moved = Some(now);
        }
        arrived
    }
}

/// The overhead of QUIC, UDP and IP in a packet, with an acknowledgement.
const HEADER_BYTES: usize = session::flow::HEADER_BYTES;
/// The bytes of the stream in a packet.
const PIECE_BYTES: u64 = 1000;
/// As many bytes as QUIC has at first, and as a server keeps for a client at most.
const WINDOW_FIRST: u64 = 12_000;
const WINDOW_MAX: u64 = 256_000;
/// Data that has not arrived for so long is sent again.
const RESEND: Duration = Duration::from_millis(700);
