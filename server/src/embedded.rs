//! A server in the process of its clients: no socket, no thread, and no clock of its own. For
//! single player, and for tests of games in a time that the test makes.
//!
//! The world, its scripts, its sessions and their limits are those of any server; only the
//! bytes travel by function calls instead of packets. It opens a connection for each client
//! ([`EmbeddedServer::connect`]), takes the client's bytes, and buffers its own until the
//! client fetches it. [`EmbeddedServer::advance`] runs the ticks that are due.
//!
//! It listens nowhere, has no accounts, and keeps nothing on disk.

mod link;
mod remote;
mod shared;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accounts::guard::Guard;
use accounts::names::NameRule;
use accounts::shared_word::SharedWord;
use anyhow::Result;
use bytes::Bytes;
use device::cpu::Workers;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::{Mirror, SharedMirror};
use frontend::publication::{FanOutReport, SharedTick, ToShard};
use frontend::shard_channels::ShardSender;
use gpu_kernels::CpuBackend;
use gpu_kernels::listen::Listeners;
use platform::audit::Audit;
use platform::metrics::stats::{Figures, Stats};
use quic::proto::{ApplicationClose, ConnectionError, VarInt};
use quic::{Application, Event, Handle, Open};
use session::frame::TickView;
use tick::talk::filter::NoFilter;
use tick::tick_loop::{FanOutMode, Parts, Start, TickLoop};
use transport::client::Client;
use transport::handshake::AdmissionPolicy;
use transport::neighbours::Neighbours;
use transport::shard::{Shard, ShardWorld};

use ::shared::wire::close::Close;
use ::shared::wire::movement::MovementCodec;
use ::shared::{EntityId, Tick, WorldConfig};
use link::{EmbeddedLink, Peer};

pub use self::shared::SharedServer;
pub use remote::RemoteGame;

/// A world, and the clients of this process that play in it.
pub struct EmbeddedServer {
    tick_loop: TickLoop,
    shard: Arc<Mutex<EmbeddedShard>>,
    mirror: SharedMirror,
    stats: Arc<Stats>,
    period: Duration,
    /// When the next tick begins.
    next: Duration,
    /// The caller's moment zero, on the process's clock, which the parts of a server use.
    started: Instant,
    connections: u64,
}

/// A client's connection. The number of one that has ended is not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(u64);

/// How a connection has ended, for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    /// As that of a QUIC connection: see [`Close`].
    pub code: u32,
    pub reason: String,
}

impl EmbeddedServer {
    /// A new world, whose first tick begins at the time zero. Fails if the world does not fit
    /// into memory.
    pub fn new(world: WorldConfig) -> Result<EmbeddedServer> {
        let period = Duration::from_secs(1) / world.schema.world.tick_hz;
        let backend = CpuBackend::new(&world, 1, None)?;
        let listeners = Listeners::new(&world, 1, None)?;
        let session = Arc::new(SessionWorld::new(&world));
        let inbox = SharedInbox::default();
        let (to_tick, reports) = mpsc::channel();
        let (to_shard, from_tick) = mpsc::channel();
        let started = Instant::now();
        let guard = Guard::new(Arc::new(SharedWord::new("")), u32::MAX);
        let shard_world = ShardWorld {
            admission: AdmissionPolicy {
                schema_hash: session.schema.hash(),
                guard: Arc::new(guard),
                is_open: Arc::new(AtomicBool::new(true)),
                audit: Audit::default(),
                update_url: None,
            },
            session: session.clone(),
        };
        let (neighbours, _) = Neighbours::new(1, None);
        let shard = Arc::new(Mutex::new(EmbeddedShard {
            shard: Shard::new(0, Arc::new(shard_world), inbox.clone(), neighbours),
            connections: HashMap::new(),
            from_tick,
            reports: to_tick,
            now: started,
        }));
        // The shard runs on the thread of the tick: a wake-up handles its messages at once.
        let woken = shard.clone();
        let sender = ShardSender::new(to_shard, move || lock(&woken).take_messages());
        let stats = Arc::new(Stats::new());
        let mirror = Mirror::new(&world, MovementCodec::new(&world.schema)?);
        let mirror = SharedMirror::new(mirror);
        let tick_loop = TickLoop::new(Parts {
            mirror: mirror.clone(),
            backend: Box::new(backend),
            fan_out: FanOutMode::Awaited,
            workers: Workers::new(1)?,
            listeners,
            inboxes: vec![inbox],
            shards: vec![sender],
            reports,
            recording: None,
            persistent: None,
            reloads: None,
            operator: None,
            talk_filter: Arc::new(NoFilter),
            names: NameRule::default(),
            session,
            stats: stats.clone(),
            window: None,
            script_lines: None,
            stop: Arc::new(AtomicBool::new(false)),
            config: world,
        });
        Ok(EmbeddedServer {
            tick_loop,
            shard,
            mirror,
            stats,
            period,
            next: Duration::ZERO,
            started,
            connections: 0,
        })
    }

    /// Runs all ticks that begin up to this time, which never goes back.
    pub fn advance(&mut self, now: Duration) -> Result<()> {
        while self.next <= now {
            let scheduled = self.started + self.next;
            lock(&self.shard).now = scheduled;
            self.tick_loop.tick(Start {
                scheduled,
                skipped: 0,
            })?;
            self.next += self.period;
        }
        lock(&self.shard).now = self.started + now;
        Ok(())
    }

    /// The moment zero, on the process's clock.
    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// When the next tick begins.
    pub fn next_tick(&self) -> Duration {
        self.next
    }

    /// From the start of one tick to that of the next.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// The last tick that has run.
    pub fn tick(&self) -> Tick {
        self.mirror.read().tick()
    }

    /// An entity's attributes after the last tick, one for each column of the schema; `None` if
    /// it is not alive.
    pub fn row(&self, entity: EntityId) -> Option<Vec<i32>> {
        let mirror = self.mirror.read();
        let is_alive = mirror.living(entity.slot) == Some(entity);
        is_alive.then(|| mirror.row(entity.slot).to_vec())
    }

    /// Where an entity is after the last tick, in raw units; `None` if it is not alive.
    pub fn position(&self, entity: EntityId) -> Option<[i32; 3]> {
        let mirror = self.mirror.read();
        let is_alive = mirror.living(entity.slot) == Some(entity);
        is_alive.then(|| mirror.position(entity.slot))
    }

    /// Figures since the start.
    pub fn figures(&self) -> Figures {
        self.stats.figures()
    }

    /// Opens a connection with a stream, on which the client sends its hello next. `None` if
    /// there are too many pending connections.
    pub fn connect(&mut self) -> Option<ConnectionId> {
        self.connections += 1;
        let id = ConnectionId(self.connections);
        lock(&self.shard).connect(id).then_some(id)
    }

    /// The client has sent bytes on its stream.
    pub fn handle_stream(&mut self, id: ConnectionId, bytes: &[u8]) {
        lock(&self.shard).take_event(id, Event::Readable, |peer| {
            peer.received.extend(bytes);
        });
    }

    /// The client has sent a datagram.
    pub fn handle_datagram(&mut self, id: ConnectionId, bytes: Vec<u8>) {
        lock(&self.shard).take_event(id, Event::Datagram(Bytes::from(bytes)), |_| ());
    }

    /// The client has closed the connection.
    pub fn close(&mut self, id: ConnectionId, close: Close) {
        lock(&self.shard).end(id, close);
    }

    /// The next bytes of the stream for the client.
    pub fn take_stream(&mut self, id: ConnectionId) -> Vec<u8> {
        self.take(id, |peer| std::mem::take(&mut peer.stream))
    }

    /// The next datagrams for the client, oldest first.
    pub fn take_datagrams(&mut self, id: ConnectionId) -> Vec<Bytes> {
        self.take(id, |peer| std::mem::take(&mut peer.datagrams))
    }

    /// Whether the server has closed the connection, and why. Data sent before can still be
    /// fetched, until this returns the end.
    pub fn take_closed(&mut self, id: ConnectionId) -> Option<Closed> {
        let mut shard = lock(&self.shard);
        let peer = &shard.connections.get(&id)?.peer;
        if !peer.stream.is_empty() || !peer.datagrams.is_empty() {
            return None;
        }
        let closed = peer.closed.clone()?;
        shard.end(id, Close::Bye);
        Some(closed)
    }

    fn take<T: Default>(&mut self, id: ConnectionId, take: impl FnOnce(&mut Peer) -> T) -> T {
        let mut shard = lock(&self.shard);
        let connection = shard.connections.get_mut(&id);
        connection.map_or_else(T::default, |connection| take(&mut connection.peer))
    }
}

/// The clients of this process.
struct EmbeddedShard {
    shard: Shard,
    connections: HashMap<ConnectionId, Connection>,
    from_tick: Receiver<ToShard>,
    reports: Sender<FanOutReport>,
    now: Instant,
}

struct Connection {
    client: Client,
    peer: Peer,
}

impl EmbeddedShard {
    fn connect(&mut self, id: ConnectionId) -> bool {
        match self.shard.open_for(ADDRESS, true, self.now) {
            Open::Accept(client) => {
                let peer = Peer::default();
                self.connections.insert(id, Connection { client, peer });
                true
            }
            _ => false,
        }
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
        let mut link = EmbeddedLink::new(id.handle(), self.now, peer);
        self.shard.take_event(event, &mut link, client);
    }

    fn end(&mut self, id: ConnectionId, close: Close) {
        if let Some(Connection { client, .. }) = self.connections.remove(&id) {
            let end = ConnectionError::ApplicationClosed(ApplicationClose {
                error_code: VarInt::from_u32(close.code()),
                reason: Bytes::new(),
            });
            self.shard.closed(id.handle(), client, end);
        }
    }

    fn take_messages(&mut self) {
        while let Ok(message) = self.from_tick.try_recv() {
            match message {
                ToShard::Tick(tick) => {
                    let report = self.fan_out(&tick);
                    // The tick takes the publication back as soon as it has the report.
                    drop(tick);
                    let _ = self.reports.send(report);
                }
                ToShard::Inspect(_, answer) => {
                    let _ = answer.send((0, vec![]));
                }
                ToShard::Restart(_, done) => {
                    // Only servers with sockets outlive a world.
                    let _ = done.send(());
                }
                ToShard::Stop(reason) => {
                    for connection in self.connections.values_mut() {
                        let code = Close::Shutdown.code();
                        connection.peer.close(code, &reason);
                    }
                }
            }
        }
    }

    fn fan_out(&mut self, tick: &SharedTick) -> FanOutReport {
        let publication = &*tick.publication;
        let begun = Instant::now();
        if self.shard.begin_tick(publication) {
            for Connection { client, .. } in self.connections.values_mut() {
                if let Client::Player(player) = client {
                    player.session.change_interface();
                }
            }
        }
        for event in &publication.events[0] {
            let handle = self.shard.handle(event.session());
            let Some(id) = handle.map(ConnectionId::of) else {
                continue;
            };
            if let Some(Connection { client, peer }) = self.connections.get_mut(&id) {
                let mut link = EmbeddedLink::new(id.handle(), self.now, peer);
                self.shard.act_on(event, publication, &mut link, client);
            }
        }
        let world = self.shard.world().clone();
        let mirror = tick.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &world,
            send_every: 1,
        };
        for (id, Connection { client, peer }) in &mut self.connections {
            let mut link = EmbeddedLink::new(id.handle(), self.now, peer);
            self.shard.send_tick(view, &mut link, client);
        }
        self.shard.end_tick(tick, begun)
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

fn lock(shard: &Mutex<EmbeddedShard>) -> MutexGuard<'_, EmbeddedShard> {
    // A panic in a tick ends the caller's world, whatever is in here.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where all clients seem to come from.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[cfg(test)]
mod tests;

/// Compiles the examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../../client-bot/networks.md")]
pub struct Networks;
