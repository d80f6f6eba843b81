//! Threads for I/O. Each owns a socket on the shared port and its connections. Shards share
//! nothing but the read-only [`Publication`].

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use frontend::inbox::{SessionId, SharedInbox};
use frontend::publication::{FanOutReport, LinkFigures, Publication, SessionEvent, ToShard};
use frontend::shards::ShardSender;
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

/// What a shard is made of.
pub struct Parts {
    pub number: usize,
    pub world: Arc<ShardWorld>,
    pub config: Arc<ServerConfig>,
    /// The turns of `config`'s congestion controllers: one a tick.
    pub turns: Turns,
    /// Which browsers may connect, if any.
    pub web: Option<WebOptions>,
    pub socket: UdpSocket,
    /// Of a world that is kept: clients learn at once that the server before is gone.
    pub reset_key: Option<ResetKey>,
    pub neighbours: Neighbours,
    /// Packets that reached other shards.
    pub strays: Receiver<Packet>,
    /// How many shards there are.
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
    /// Where the next fan-out begins: at the first client that this one had no time for.
    first: usize,
    stale_pending_closed: Instant,
    /// What was counted up to the last tick.
    counted: SocketCounts,
    drops: Drops,
}

/// How far a shard got with the messages of the tick thread.
enum Taken {
    All,
    /// It is to end for this reason.
    Stop(String),
    /// The tick thread is gone.
    Lost,
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
        // A shard that cannot be woken finds the message at its next look.
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
                // The tick thread hears that the shard is gone.
                return error!(%error, "a shard cannot wait for packets");
            }
            match self.take_messages() {
                Taken::All => {}
                Taken::Stop(reason) => break reason,
                Taken::Lost => return,
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

    /// Does all that the tick thread wants: one waking may stand for several messages.
    fn take_messages(&mut self) -> Taken {
        loop {
            match self.from_tick.try_recv() {
                Ok(ToShard::Tick(publication)) => {
                    let report = self.fan_out(&publication);
                    // The tick thread takes the publication back as soon as it hears.
                    drop(publication);
                    // A tick thread that has failed takes no reports, but says stop.
                    let _ = self.reports.send(report);
                }
                Ok(ToShard::Inspect(sessions, answer)) => {
                    // An operator that has gone away needs none.
                    let _ = answer.send((self.shard.number, self.inspect(sessions)));
                }
                Ok(ToShard::Stop(reason)) => return Taken::Stop(reason),
                Err(TryRecvError::Empty) => return Taken::All,
                Err(TryRecvError::Disconnected) => return Taken::Lost,
            }
        }
    }

    /// Takes in packets that have arrived, and gives their number.
    fn receive(&mut self, packets_max: usize) -> usize {
        let strays = self.strays.try_iter().take(packets_max);
        self.endpoint.take_strays(strays, &mut self.shard);
        self.endpoint.receive(&mut self.shard, packets_max)
    }

    /// Takes in what has arrived, as far as a fan-out has time for it.
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

    /// Tells every client of one tick, as far as there is time.
    fn fan_out(&mut self, publication: &Publication) -> FanOutReport {
        let begun = Instant::now();
        self.turns.begin();
        let mut budget = self.pace.begin(publication.due, begun);
        self.receive_between(&mut budget);
        if self.shard.begin_tick(publication) {
            // Before the tick's events: whom they welcome is told of the new world.
            for handle in self.endpoint.handles() {
                if let Some(Client::Player(player)) = self.endpoint.session(handle) {
                    player.session.change_interface();
                }
            }
        }
        for event in &publication.events[self.shard.number] {
            self.act_on(event, publication);
        }
        let world = self.shard.world().clone();
        let mirror = publication.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &world,
            send_every: self.pace.send_every(),
        };
        let mut handles: Vec<Handle> = self.endpoint.handles().collect();
        let count = handles.len();
        handles.rotate_left(self.first.min(count));
        let told = self.tell(&handles, view, &mut budget);
        let deferred = self.defer(&handles[told..], view, &mut budget);
        self.pace.note_told(told, count);
        self.endpoint.flush();
        // Words are rarer now, and so is what acknowledgements can ride on.
        let ticks = u32::try_from(count / told.max(1)).unwrap_or(u32::MAX);
        let wait = self.pace.ack_wait() * ticks.clamp(1, ACK_TICKS_MAX);
        self.endpoint.set_ack_wait(wait);
        self.endpoint.set_busy(told < count);
        let sent = self.endpoint.counts();
        let counts = &mut self.shard.counts;
        counts.deferred += deferred as u64;
        counts.packets_sent += sent.sent - self.counted.sent;
        counts.packets_received += sent.received - self.counted.received;
        counts.packet_bytes_sent += sent.sent_bytes - self.counted.sent_bytes;
        counts.packet_bytes_received += sent.received_bytes - self.counted.received_bytes;
        counts.socket_drops += self.drops.take(&self.endpoint);
        self.counted = sent;
        self.shard.end_tick(publication.tick, begun.elapsed())
    }

    /// Tells as many clients as there is time for, and gives their number. The next tick
    /// begins with those who come after them.
    fn tell(&mut self, clients: &[Handle], view: TickView<'_>, budget: &mut Budget) -> usize {
        let mut now = Instant::now();
        let mut received = now;
        for (told, &handle) in clients.iter().enumerate() {
            if !budget.allows(now, clients.len() - told) {
                self.first = handle.index();
                return told;
            }
            self.prefetch(&clients[told..]);
            self.endpoint
                .visit(handle, &mut self.shard, now, |shard, link, client| {
                    shard.tell(view, link, client);
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

    /// Takes in a tick for clients that are told nothing of it. Gives the number of players.
    fn defer(&mut self, clients: &[Handle], view: TickView<'_>, budget: &mut Budget) -> usize {
        let mut all = 0;
        for some in clients.chunks(PUT_OFF_AT_ONCE) {
            let begun = Instant::now();
            let mut players = 0;
            for (at, &handle) in some.iter().enumerate() {
                self.prefetch_sessions(&some[at..]);
                // The connection is left alone, which takes most of the time.
                if let Some(client) = self.endpoint.session(handle) {
                    players += usize::from(self.shard.defer(view, client));
                }
            }
            self.pace.note_putting_off(players, begun.elapsed());
            self.receive_between(budget);
            all += players;
        }
        all
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

    /// How the connections of these sessions are, or of all players.
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
                        shard.look_at(link, client);
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
/// Packets that are taken in before the tick is asked for.
const PACKETS_MAX: usize = 1024;
/// A fan-out that takes long lets packets in now and then, so that none are lost.
const RECEIVE_PERIOD: Duration = Duration::from_millis(10);
const PACKETS_BETWEEN: usize = 256;
/// So many visits ahead, the memory of a connection is loaded, then that of its session, which
/// tells where the session's movement is.
const CONNECTIONS_AHEAD: usize = 4;
const SESSIONS_AHEAD: usize = 3;
const MOVEMENT_AHEAD: usize = 1;
/// Clients that are told nothing, between two looks for packets.
const PUT_OFF_AT_ONCE: usize = 1024;
/// An acknowledgement waits for a word, but not for longer than for so many ticks.
const ACK_TICKS_MAX: u32 = 4;
const PENDING_PERIOD: Duration = Duration::from_millis(500);
/// The same while some have to make room for others.
const CROWDED_PERIOD: Duration = Duration::from_millis(20);
const CLOSE_WAIT: Duration = Duration::from_millis(500);
