//! A shard within the process of its clients, without sockets, threads and clocks: bytes travel by
//! calls.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use accounts::moment::Moment;
use bytes::Bytes;
use frontend::SessionWorld;
use frontend::publication::FanOutReport;
use frontend::shard_channels::{SharedTick, ToShard};
use quic::proto::{ApplicationClose, ConnectionError, VarInt};
use quic::{Application, Congestion, Event, Handle, Open, StreamEnd};
use session::frame::TickView;
use shared::wire::control::Close;

use crate::client::Client;
use crate::client_link::{ClientLink, PathFigures};
use crate::shard::Shard;

/// The shard, and its connections.
pub struct LocalShard {
    shard: Shard,
    connections: BTreeMap<ConnectionId, Connection>,
    from_tick: Receiver<ToShard>,
    reports: Sender<FanOutReport>,
    now: Moment,
}

/// A client's connection. The number of one that has ended is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// How a connection has ended, for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// As that of a QUIC connection: see [`Close`].
    pub code: u32,
    pub reason: String,
}

/// The data in flight between a client and the shard.
#[derive(Default)]
pub struct Peer {
    /// Bytes of the client's stream that the shard has not read.
    received: VecDeque<u8>,
    /// Bytes of the shard's stream that the client has not fetched.
    pub stream: Vec<u8>,
    /// Datagrams that the client has not fetched, oldest first.
    pub datagrams: Vec<Bytes>,
    pub closed: Option<Closed>,
}

struct Connection {
    client: Client,
    peer: Peer,
}

/// A connection at the time of an event.
struct LocalLink<'a> {
    handle: Handle,
    now: Moment,
    peer: &'a mut Peer,
}

impl LocalShard {
    /// A shard that begins at a time, with the tick's ends of its channels.
    pub fn new(
        shard: Shard,
        from_tick: Receiver<ToShard>,
        reports: Sender<FanOutReport>,
        now: Moment,
    ) -> LocalShard {
        LocalShard {
            shard,
            connections: BTreeMap::new(),
            from_tick,
            reports,
            now,
        }
    }

    /// The time of what follows.
    pub fn set_now(&mut self, now: Moment) {
        self.now = now;
    }

    /// Opens a connection, whose client sends its hello next. False if there are too many pending
    /// connections.
    pub fn connect(&mut self, id: ConnectionId) -> bool {
        match self.shard.open_for(ADDRESS, true, self.now.steady) {
            Open::Accept(client) => {
                let peer = Peer::default();
                self.connections.insert(id, Connection { client, peer });
                true
            }
            _ => false,
        }
    }

    /// The client has sent bytes on its stream.
    pub fn handle_stream(&mut self, id: ConnectionId, bytes: &[u8]) {
        self.take_event(id, Event::Readable, |peer| peer.received.extend(bytes));
    }

    /// The client has sent a datagram.
    pub fn handle_datagram(&mut self, id: ConnectionId, bytes: Vec<u8>) {
        self.take_event(id, Event::Datagram(Bytes::from(bytes)), |_| ());
    }

    /// The client has closed the connection.
    pub fn close(&mut self, id: ConnectionId, close: Close) {
        self.end(
            id,
            ConnectionError::ApplicationClosed(ApplicationClose {
                error_code: VarInt::from_u32(close.code()),
                reason: Bytes::new(),
            }),
        );
    }

    /// The connection has ended.
    pub fn end(&mut self, id: ConnectionId, end: ConnectionError) {
        if let Some(Connection { client, .. }) = self.connections.remove(&id) {
            self.shard.closed(id.handle(), client, end);
        }
    }

    /// The data for a client; none once its connection has ended.
    pub fn peer(&mut self, id: ConnectionId) -> Option<&mut Peer> {
        self.connections.get_mut(&id).map(|all| &mut all.peer)
    }

    /// All connections that have not ended.
    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> {
        self.connections.keys().copied()
    }

    /// Handles an event of a connection, which `arrive` adds to it first.
    fn take_event(&mut self, id: ConnectionId, event: Event, arrive: impl FnOnce(&mut Peer)) {
        let Some(Connection { client, peer }) = self.connections.get_mut(&id) else {
            return;
        };
        if peer.closed.is_some() {
            return;
        }
        arrive(peer);
        let mut link = LocalLink::new(id, self.now, peer);
        self.shard.take_event(event, &mut link, client);
    }

    /// Handles the messages of the tick.
    pub fn take_messages(&mut self) {
        while let Ok(message) = self.from_tick.try_recv() {
            match message {
                ToShard::Tick(tick) => {
                    let report = self.fan_out(&tick);
                    // The tick takes the publication back as soon as it has the report.
                    drop(tick);
                    let _ = self.reports.send(report);
                }
                ToShard::Inspect(sessions, answer) => {
                    let figures = self.connections.iter_mut().filter_map(|(id, all)| {
                        let link = LocalLink::new(*id, self.now, &mut all.peer);
                        self.shard.inspect(&link, &all.client)
                    });
                    let figures = figures.filter(|figures| {
                        let some = sessions.as_ref();
                        some.is_none_or(|some| some.contains(&figures.session))
                    });
                    let _ = answer.send((self.shard.number, figures.collect()));
                }
                ToShard::Restart(world, done) => {
                    self.restart(&world);
                    let _ = done.send(());
                }
                ToShard::Stop(reason) => {
                    for Connection { peer, .. } in self.connections.values_mut() {
                        peer.close(Close::Shutdown.code(), &reason);
                    }
                }
            }
        }
    }

    /// Begins all sessions anew in another world.
    fn restart(&mut self, world: &Arc<SessionWorld>) {
        let before = self.shard.restart(world);
        for (id, Connection { client, peer }) in &mut self.connections {
            let mut link = LocalLink::new(*id, self.now, peer);
            self.shard.restart_player(&before, &mut link, client);
        }
    }

    fn fan_out(&mut self, tick: &SharedTick) -> FanOutReport {
        let publication = &*tick.publication;
        if self.shard.begin_tick(publication) {
            for Connection { client, .. } in self.connections.values_mut() {
                if let Client::Player(player) = client {
                    player.session.change_interface();
                }
            }
        }
        for event in &publication.events[self.shard.number] {
            let handle = self.shard.handle(event.session());
            let Some(id) = handle.map(ConnectionId::of) else {
                continue;
            };
            if let Some(Connection { client, peer }) = self.connections.get_mut(&id) {
                let mut link = LocalLink::new(id, self.now, peer);
                self.shard.act_on(event, publication, &mut link, client);
            }
        }
        let world = self.shard.world().clone();
        let mirror = tick.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &world,
            input: publication.input_of(self.shard.number),
            send_every: 1,
        };
        for (id, Connection { client, peer }) in &mut self.connections {
            let mut link = LocalLink::new(*id, self.now, peer);
            self.shard.send_tick(view, &mut link, client);
        }
        let now = self.now.steady;
        self.shard.end_tick(tick, now, now)
    }
}

impl ConnectionId {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "no process opens more connections than it has addresses"
    )]
    fn handle(self) -> Handle {
        Handle::new(self.0 as usize)
    }

    fn of(handle: Handle) -> ConnectionId {
        ConnectionId(handle.index() as u64)
    }
}

impl Peer {
    fn close(&mut self, code: u32, reason: &str) {
        self.closed.get_or_insert_with(|| Closed {
            code,
            reason: reason.to_owned(),
        });
    }
}

impl<'a> LocalLink<'a> {
    fn new(id: ConnectionId, now: Moment, peer: &'a mut Peer) -> LocalLink<'a> {
        let handle = id.handle();
        LocalLink { handle, now, peer }
    }
}

impl ClientLink for LocalLink<'_> {
    fn handle(&self) -> Handle {
        self.handle
    }

    fn now(&self) -> Instant {
        self.now.steady
    }

    fn moment(&self) -> Moment {
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

/// Where all clients seem to come from.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// A client that fetches nothing loses its oldest datagrams, as in a network, ...
const DATAGRAMS_MAX: usize = 64;
/// ... and the session notes that its stream is not read.
const STREAM_BYTES_MAX: usize = 4 << 20;
