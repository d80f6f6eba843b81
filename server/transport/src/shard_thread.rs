//! Threads for I/O. Each owns a socket on the shared port and its connections. Shards share
//! nothing but the read-only [`SharedTick`].

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use frontend::SessionWorld;
use frontend::inbox::{SessionId, SharedInbox};
use frontend::publication::{FanOutReport, LinkFigures, Publication, SessionEvent};
use frontend::shard_channels::{ShardSender, SharedTick, ToShard};
use platform::scheduling::take_own_core;
use quic::proto::ServerConfig;
use quic::socket::SocketCounts;
use quic::{Drops, Endpoint, Handle, Packet, Socket, Turns, WebOptions};
use session::frame::TickView;
use shared::wire::control::Close;
use tracing::error;

use super::client::{Client, close};
use super::neighbours::Neighbours;
use super::pace::{Budget, Pace};
use super::shard::{Shard, ShardWorld};
use crate::neighbours::ResetKey;

/// The configuration and channels of a shard.
pub struct Parts {
    pub number: usize,
    pub world: Arc<ShardWorld>,
    pub config: Arc<ServerConfig>,
    /// The turns of `config`'s congestion controllers, one a tick.
    pub turns: Turns,
    /// Which browsers may connect, if any.
    pub web: Option<WebOptions>,
    pub socket: UdpSocket,
    /// For a persistent world: clients detect at once that the previous server is gone.
    pub reset_key: Option<ResetKey>,
    pub neighbours: Neighbours,
    /// Packets that reached other shards.
    pub strays: Receiver<Packet>,
    /// The number of shards.
    pub count: usize,
    pub inbox: SharedInbox,
    pub reports: Sender<FanOutReport>,
}

/// A shard's thread.
struct Thread {
    endpoint: Endpoint<Client>,
    shard: Shard,
    turns: Turns,
    from_tick: Receiver<ToShard>,
    strays: Receiver<Packet>,
    reports: Sender<FanOutReport>,
    pace: Pace,
    /// The first client of the next fan-out: the first one that was deferred.
    first: usize,
    stale_pending_closed: Instant,
    /// The counts up to the last tick.
    counted: SocketCounts,
    drops: Drops,
}

/// The outcome of handling the tick thread's messages.
enum Outcome {
    Continue,
    /// The shard must end for this reason.
    Stop(String),
    /// The tick thread is gone.
    Disconnected,
}

/// Starts a shard's thread.
pub fn spawn(parts: Parts) -> Result<(ShardSender, JoinHandle<()>)> {
    let name = format!("shard-{}", parts.number);
    let (to_shard, from_tick) = channel();
    let (started, start) = channel();
    // A socket's buffers belong to the thread that made them.
    let run = move || {
        take_own_core(parts.number, parts.count);
        match Thread::new(parts, from_tick) {
            Ok(thread) => {
                if started.send(Ok(thread.endpoint.waker())).is_ok() {
                    thread.run();
                }
            }
            Err(error) => {
                let _ = started.send(Err(error));
            }
        }
    };
    let handle = std::thread::Builder::new()
        .name(name)
        .spawn(run)
        .context("cannot start a shard's thread")?;
    let waker = start.recv().context("a shard's thread has failed")??;
    let sender = ShardSender::new(to_shard, move || {
        // A shard that cannot be woken finds the message when it polls next.
        let _ = waker.wake();
    });
    Ok((sender, handle))
}

impl Thread {
    fn new(parts: Parts, from_tick: Receiver<ToShard>) -> Result<Thread> {
        let socket = Socket::new(parts.socket).context("cannot use a socket")?;
        let number = u16::try_from(parts.number).context("there are too many shards")?;
        let (neighbours, reset_key) = (parts.neighbours, parts.reset_key.as_ref());
        let steering = (&neighbours.steering, number);
        let mut endpoint = Endpoint::sharing(socket, parts.config, steering, reset_key)
            .context("cannot wait for packets of a socket")?;
        neighbours.arrive(number, endpoint.waker());
        if let Some(options) = parts.web {
            endpoint.set_web(options);
        }
        let tick_hz = parts.world.session.config.schema.world.tick_hz;
        let pace = Pace::new(tick_hz);
        endpoint.set_ack_wait(pace.ack_wait());
        Ok(Thread {
            endpoint,
            pace,
            shard: Shard::new(parts.number, parts.world, parts.inbox, neighbours),
            turns: parts.turns,
            from_tick,
            strays: parts.strays,
            reports: parts.reports,
            first: 0,
            counted: SocketCounts::default(),
            drops: Drops::default(),
            stale_pending_closed: Instant::now(),
        })
    }

    fn run(mut self) {
        let reason = loop {
            if let Err(error) = self.endpoint.wait(Instant::now() + WAIT_MAX) {
                // The tick thread finds the shard's channels closed.
                return error!(%error, "a shard cannot wait for packets");
            }
            match self.take_messages() {
                Outcome::Continue => {}
                Outcome::Stop(reason) => break reason,
                Outcome::Disconnected => return,
            }
            let begun = Instant::now();
            if self.receive(PACKETS_MAX) > 0 {
                self.pace.note_receiving(begun.elapsed());
            }
            self.endpoint.upkeep(&mut self.shard);
            self.close_stale_pending();
        };
        self.close(&reason);
    }

    /// Handles the messages of the tick thread: one wake-up may stand for several.
    fn take_messages(&mut self) -> Outcome {
        loop {
            match self.from_tick.try_recv() {
                Ok(ToShard::Tick(tick)) => {
                    let report = self.fan_out(&tick);
                    // The tick thread reclaims the publication as soon as it has the report.
                    drop(tick);
                    // A tick thread that has failed takes no reports, but sends a stop.
                    let _ = self.reports.send(report);
                }
                Ok(ToShard::Inspect(sessions, answer)) => {
                    // An operator that has gone away needs none.
                    let _ = answer.send((self.shard.number, self.inspect(sessions)));
                }
                Ok(ToShard::Restart(world, done)) => {
                    self.restart(&world);
                    // A tick thread that has failed needs no answer.
                    let _ = done.send(());
                }
                Ok(ToShard::Stop(reason)) => return Outcome::Stop(reason),
                Err(TryRecvError::Empty) => return Outcome::Continue,
                Err(TryRecvError::Disconnected) => return Outcome::Disconnected,
            }
        }
    }

    /// Begins all sessions anew in another world.
    fn restart(&mut self, world: &Arc<SessionWorld>) {
        let before = self.shard.restart(world);
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.shard, now, |shard, link, client| {
                    shard.restart_player(&before, link, client);
                });
        }
        self.endpoint.flush();
        self.pace = Pace::new(world.config.schema.world.tick_hz);
        self.endpoint.set_ack_wait(self.pace.ack_wait());
    }

    /// Receives packets, and returns their number.
    fn receive(&mut self, packets_max: usize) -> usize {
        let strays = self.strays.try_iter().take(packets_max);
        self.endpoint.take_strays(strays, &mut self.shard);
        self.endpoint.receive(&mut self.shard, packets_max)
    }

    /// Receives packets, as far as a fan-out has time for it.
    fn receive_between(&mut self, budget: &mut Budget) {
        let begun = Instant::now();
        let until = budget.receives_until(begun);
        // An error comes again where the thread waits.
        if until <= begun || self.endpoint.wait(begun).is_err() {
            return;
        }
        while Instant::now() < until && self.receive(PACKETS_BETWEEN) > 0 {}
        budget.note_receiving(begun.elapsed());
    }

    /// Sends one tick to every client, as far as there is time.
    fn fan_out(&mut self, tick: &SharedTick) -> FanOutReport {
        let publication = &*tick.publication;
        let begun = Instant::now();
        self.turns.begin();
        let mut budget = self.pace.begin(tick.due, begun);
        self.receive_between(&mut budget);
        if self.shard.begin_tick(publication) {
            // Before the tick's events: clients that they welcome get the new world anyway.
            for handle in self.endpoint.handles() {
                if let Some(Client::Player(player)) = self.endpoint.session(handle) {
                    player.session.change_interface();
                }
            }
        }
        self.end_revoked();
        for event in &publication.events[self.shard.number] {
            self.act_on(event, publication);
        }
        let world = self.shard.world().clone();
        let mirror = tick.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &world,
            input: publication.input_of(self.shard.number),
            send_every: self.pace.send_every(),
        };
        let mut handles: Vec<Handle> = self.endpoint.handles().collect();
        let count = handles.len();
        handles.rotate_left(self.first.min(count));
        let sent = self.send_tick(&handles, view, &mut budget);
        let deferred = self.defer(&handles[sent..], view, &mut budget);
        self.pace.note_sent(sent, count);
        self.endpoint.flush();
        // Clients are sent to less often, so QUIC ACKs wait longer for data to piggyback on.
        let ticks = u32::try_from(count / sent.max(1)).unwrap_or(u32::MAX);
        let wait = self.pace.ack_wait() * ticks.clamp(1, ACK_TICKS_MAX);
        self.endpoint.set_ack_wait(wait);
        self.endpoint.set_busy(sent < count);
        let sockets = self.endpoint.counts();
        let counts = &mut self.shard.counts;
        counts.deferred += deferred as u64;
        counts.packets_sent += sockets.sent - self.counted.sent;
        counts.packets_received += sockets.received - self.counted.received;
        counts.packet_bytes_sent += sockets.sent_bytes - self.counted.sent_bytes;
        counts.packet_bytes_received += sockets.received_bytes - self.counted.received_bytes;
        counts.socket_drops += self.drops.take(&self.endpoint);
        self.counted = sockets;
        self.shard.end_tick(tick, begun, Instant::now())
    }

    /// Sends a tick to as many clients as there is time for, and returns their number. The next
    /// tick begins with the client after them.
    fn send_tick(&mut self, clients: &[Handle], view: TickView<'_>, budget: &mut Budget) -> usize {
        let mut now = Instant::now();
        let mut received = now;
        for (sent, &handle) in clients.iter().enumerate() {
            if !budget.allows(now, clients.len() - sent) {
                self.first = handle.index();
                return sent;
            }
            self.prefetch(&clients[sent..]);
            self.endpoint
                .visit(handle, &mut self.shard, now, |shard, link, client| {
                    shard.send_tick(view, link, client);
                });
            now = Instant::now();
            if now - received > RECEIVE_PERIOD {
                self.receive_between(budget);
                now = Instant::now();
                received = now;
            }
        }
        clients.len()
    }

    /// Prefetches, step by step, what the fan-out to the next clients needs.
    fn prefetch(&mut self, clients: &[Handle]) {
        if let Some(&handle) = clients.get(CONNECTIONS_AHEAD) {
            self.endpoint.prefetch(handle);
        }
        self.prefetch_sessions(clients);
    }

    fn prefetch_sessions(&mut self, clients: &[Handle]) {
        if let Some(&handle) = clients.get(SESSIONS_AHEAD)
            && let Some(client) = self.endpoint.session(handle)
        {
            client.prefetch();
        }
        if let Some(&handle) = clients.get(MOVEMENT_AHEAD)
            && let Some(Client::Player(player)) = self.endpoint.session(handle)
        {
            player.session.prefetch();
        }
    }

    /// Defers a tick for clients without time for it. Returns the number of players.
    fn defer(&mut self, clients: &[Handle], view: TickView<'_>, budget: &mut Budget) -> usize {
        let mut all = 0;
        for some in clients.chunks(DEFERRED_AT_ONCE) {
            let begun = Instant::now();
            let mut players = 0;
            for (at, &handle) in some.iter().enumerate() {
                self.prefetch_sessions(&some[at..]);
                // The connection is not touched: it takes most of the time.
                if let Some(client) = self.endpoint.session(handle) {
                    players += usize::from(self.shard.defer(view, client));
                }
            }
            self.pace.note_deferral(players, begun.elapsed());
            self.receive_between(budget);
            all += players;
        }
        all
    }

    /// Ends the sessions whose tokens have been revoked.
    fn end_revoked(&mut self) {
        let Some(revoked) = self.shard.changed_revocations() else {
            return;
        };
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.shard, now, |shard, link, client| {
                    shard.close_if_revoked(&revoked, link, client);
                });
        }
    }

    fn act_on(&mut self, event: &SessionEvent, publication: &Publication) {
        let Some(handle) = self.shard.handle(event.session()) else {
            return;
        };
        let now = Instant::now();
        self.endpoint
            .visit(handle, &mut self.shard, now, |shard, link, client| {
                shard.act_on(event, publication, link, client);
            });
    }

    /// The figures of these sessions' connections, or of all players'.
    fn inspect(&mut self, sessions: Option<Vec<SessionId>>) -> Vec<LinkFigures> {
        let (now, mut figures) = (Instant::now(), vec![]);
        let handles: Vec<Handle> = match sessions {
            Some(sessions) => {
                let handles = sessions.into_iter();
                handles.filter_map(|id| self.shard.handle(id)).collect()
            }
            None => self.endpoint.handles().collect(),
        };
        for handle in handles {
            if let Some(Client::Player(_)) = self.endpoint.session(handle) {
                self.endpoint
                    .visit(handle, &mut self.shard, now, |shard, link, client| {
                        figures.extend(shard.inspect(link, client));
                    });
            }
        }
        figures
    }

    /// Closes the connections that have waited too long for their hello.
    fn close_stale_pending(&mut self) {
        let now = Instant::now();
        let pending = self.shard.pending_connections();
        let period = match pending.evicted {
            0 => PENDING_PERIOD,
            _ => CROWDED_PERIOD,
        };
        if pending.waiting == 0 || now < self.stale_pending_closed + period {
            return;
        }
        self.stale_pending_closed = now;
        for handle in self.endpoint.handles() {
            if let Some(Client::Pending(_)) = self.endpoint.session(handle) {
                self.endpoint
                    .visit(handle, &mut self.shard, now, |shard, link, client| {
                        shard.close_if_stale(link, client);
                    });
            }
        }
    }

    /// Closes all connections, and gives the closing packets time to leave.
    fn close(mut self, reason: &str) {
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.shard, now, |_, link, _| {
                    close(link, Close::Shutdown, reason);
                });
        }
        while !self.endpoint.is_idle() && now.elapsed() < CLOSE_WAIT {
            if self.endpoint.wait(now + CLOSE_WAIT).is_err() {
                return;
            }
            self.receive(PACKETS_MAX);
            self.endpoint.upkeep(&mut self.shard);
        }
        self.endpoint.flush();
    }
}

const WAIT_MAX: Duration = Duration::from_millis(50);
/// Packets that are received between polls of the tick's channel.
const PACKETS_MAX: usize = 1024;
/// A long fan-out receives packets now and then, so that none are lost.
const RECEIVE_PERIOD: Duration = Duration::from_millis(10);
const PACKETS_BETWEEN: usize = 256;
/// Prefetch distances in visits: the memory of a connection, then that of its session, which points
/// to the session's movement.
const CONNECTIONS_AHEAD: usize = 4;
const SESSIONS_AHEAD: usize = 3;
const MOVEMENT_AHEAD: usize = 1;
/// Clients that are deferred between two polls for packets.
const DEFERRED_AT_ONCE: usize = 1024;
/// A QUIC ACK waits for data to piggyback on, but for no more ticks than this.
const ACK_TICKS_MAX: u32 = 4;
const PENDING_PERIOD: Duration = Duration::from_millis(500);
/// The same while evicted ones are open.
const CROWDED_PERIOD: Duration = Duration::from_millis(20);
const CLOSE_WAIT: Duration = Duration::from_millis(500);
