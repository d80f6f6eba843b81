//! A server in the process of its clients: no socket, no thread, and no clock of its own. For
//! single player, and for tests of games in a time that the test makes.
//!
//! The world, its scripts, its sessions and their limits are those of any server; only the
//! bytes travel by function calls instead of packets. It opens a connection for each client
//! ([`EmbeddedServer::connect`]), takes the client's bytes, and buffers its own until the
//! client fetches it. [`EmbeddedServer::advance`] runs the ticks that are due.
//!
//! It listens nowhere, has no accounts, and keeps nothing on disk.

mod remote;
mod shared;

use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accounts::guard::Guard;
use accounts::moment::Moment;
use accounts::names::NameRule;
use accounts::shared_word::SharedWord;
use anyhow::Result;
use bytes::Bytes;
use device::cpu::Workers;
use frontend::SessionWorld;
use frontend::inbox::SharedInbox;
use frontend::mirror::{Mirror, SharedMirror};
use frontend::shard_channels::ShardSender;
use gpu_kernels::CpuBackend;
use gpu_kernels::listen::Listeners;
use platform::audit::Audit;
use platform::metrics::stats::{Figures, Stats};
use quic::proto::ConnectionError;
use tick::talk::filter::NoFilter;
use tick::tick_loop::{FanOutMode, Parts, Start, TickLoop};
use transport::handshake::{AdmissionPolicy, Capacity};
use transport::local_shard::{LocalShard, Peer};
use transport::neighbours::Neighbours;
use transport::shard::{Shard, ShardWorld};

pub use self::shared::SharedServer;
use ::shared::wire::close::Close;
use ::shared::wire::movement::MovementCodec;
use ::shared::{EntityId, Tick, WorldConfig};
pub use remote::RemoteGame;
pub use transport::local_shard::{Closed, ConnectionId};

/// A world, and the clients of this process that play in it.
pub struct EmbeddedServer {
    tick_loop: TickLoop,
    shard: Arc<Mutex<LocalShard>>,
    mirror: SharedMirror,
    stats: Arc<Stats>,
    period: Duration,
    /// When the next tick begins.
    next: Duration,
    /// The caller's moment zero, on the process's clock, which the parts of a server use.
    started: Instant,
    connections: u64,
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
                capacity: Capacity::of_world(),
            },
            session: session.clone(),
        };
        let (neighbours, _) = Neighbours::new(1, None, None);
        let shard = Shard::new(0, Arc::new(shard_world), inbox.clone(), neighbours);
        let shard = LocalShard::new(shard, from_tick, to_tick, moment(started));
        let shard = Arc::new(Mutex::new(shard));
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
            lock(&self.shard).set_now(moment(scheduled));
            self.tick_loop.tick(Start {
                scheduled,
                skipped: 0,
            })?;
            self.next += self.period;
        }
        lock(&self.shard).set_now(moment(self.started + now));
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
        lock(&self.shard).handle_stream(id, bytes);
    }

    /// The client has sent a datagram.
    pub fn handle_datagram(&mut self, id: ConnectionId, bytes: Vec<u8>) {
        lock(&self.shard).handle_datagram(id, bytes);
    }

    /// The client has closed the connection.
    pub fn close(&mut self, id: ConnectionId, close: Close) {
        lock(&self.shard).close(id, close);
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
        let peer = shard.peer(id)?;
        if !peer.stream.is_empty() || !peer.datagrams.is_empty() {
            return None;
        }
        let closed = peer.closed.clone()?;
        shard.end(id, ConnectionError::LocallyClosed);
        Some(closed)
    }

    fn take<T: Default>(&mut self, id: ConnectionId, take: impl FnOnce(&mut Peer) -> T) -> T {
        let mut shard = lock(&self.shard);
        shard.peer(id).map_or_else(T::default, take)
    }
}

/// A time of the process's clock. The date matters to tokens and bans, and there are none.
fn moment(steady: Instant) -> Moment {
    Moment {
        steady,
        ..Moment::now()
    }
}

fn lock(shard: &Mutex<LocalShard>) -> MutexGuard<'_, LocalShard> {
    // A panic in a tick ends the caller's world, whatever is in here.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;

/// Compiles the examples of the page.
#[cfg(doctest)]
#[doc = include_str!("../../client-bot/networks.md")]
pub struct Networks;
