//! The thread of all connections over WebSocket: a shard of its own, beside those of QUIC.

mod fan_out;

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use frontend::inbox::SharedInbox;
use frontend::publication::FanOutReport;
use frontend::shard_channels::{ShardSender, ToShard};
use mio::{Events, Poll, Token, Waker};
use platform::http::taken::Upgraded;
use quic::proto::{ApplicationClose, ConnectionError, VarInt};
use quic::{Application, Event, Handle, Open};
use shared::wire::control::Close;
use tracing::{debug, error};

use super::connection::{Arrived, Connection};
use super::socket_link::SocketLink;
use crate::client::{Client, close};
use crate::neighbours::Neighbours;
use crate::pace::Pace;
use crate::shard::{Shard, ShardWorld};

/// The configuration and channels of the thread.
pub struct Parts {
    /// The shard's number, behind those of QUIC.
    pub number: usize,
    pub world: Arc<ShardWorld>,
    /// Of QUIC's shards, which this one takes no packets from.
    pub neighbours: Neighbours,
    pub inbox: SharedInbox,
    pub reports: Sender<FanOutReport>,
    /// A connection from which nothing arrives for so long is lost.
    pub idle: Duration,
}

/// Where the web port hands connections over.
#[derive(Clone)]
pub struct SocketPort {
    arrivals: SyncSender<Upgraded>,
    waker: Arc<Waker>,
}

impl SocketPort {
    /// Hands a connection over after its handshake. It is closed if too many wait.
    pub fn hand_over(&self, upgraded: Upgraded) {
        if self.arrivals.try_send(upgraded).is_ok() {
            // A thread that cannot be woken finds it when it polls next.
            let _ = self.waker.wake();
        }
    }
}

struct Thread {
    shard: Shard,
    poll: Poll,
    events: Events,
    connections: Vec<Option<Box<Connection>>>,
    connections_max: usize,
    /// Numbers without a connection.
    free: Vec<usize>,
    /// Connections that may have more to read.
    unread: BTreeSet<usize>,
    arrivals: Receiver<Upgraded>,
    from_tick: Receiver<ToShard>,
    reports: Sender<FanOutReport>,
    pace: Pace,
    idle: Duration,
    /// The datagrams' turn: the number of fan-outs.
    turn: u64,
    /// The first client of the next fan-out: the first one that was deferred.
    first: usize,
    looked_through: Instant,
    stale_pending_closed: Instant,
    /// The traffic of connections that have ended.
    counted: Counted,
    /// The traffic up to the last tick.
    reported: Counted,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
}

/// The outcome of handling the tick thread's messages.
enum Outcome {
    Continue,
    /// The shard must end for this reason.
    Stop(String),
    /// The tick thread is gone.
    Disconnected,
}

/// Starts the thread.
pub fn spawn(parts: Parts) -> Result<(ShardSender, SocketPort, JoinHandle<()>)> {
    let (to_shard, from_tick) = channel();
    let (to_thread, arrivals) = sync_channel(ARRIVALS_MAX);
    let poll = Poll::new().context("cannot wait for connections")?;
    let waker = Waker::new(poll.registry(), WAKER).context("cannot wait for connections")?;
    let waker = Arc::new(waker);
    let tick_hz = parts.world.session.config.schema.world.tick_hz;
    let now = Instant::now();
    let run = move || {
        let shard = Shard::new(parts.number, parts.world, parts.inbox, parts.neighbours);
        let thread = Thread {
            // Journals need files, too.
            connections_max: quic::socket::make_room(shard.connections_max()),
            shard,
            poll,
            events: Events::with_capacity(1024),
            connections: vec![],
            free: vec![],
            unread: BTreeSet::new(),
            arrivals,
            from_tick,
            reports: parts.reports,
            pace: Pace::new(tick_hz),
            idle: parts.idle,
            turn: 0,
            first: 0,
            looked_through: now,
            stale_pending_closed: now,
            counted: Counted::default(),
            reported: Counted::default(),
        };
        thread.run();
    };
    let handle = std::thread::Builder::new()
        .name("web-sockets".to_owned())
        .spawn(run)
        .context("cannot start the thread of web sockets")?;
    let port = SocketPort {
        arrivals: to_thread,
        waker: waker.clone(),
    };
    let sender = ShardSender::new(to_shard, move || {
        // A shard that cannot be woken finds the message when it polls next.
        let _ = waker.wake();
    });
    Ok((sender, port, handle))
}

impl Thread {
    fn run(mut self) {
        let reason = loop {
            let begun = Instant::now();
            if let Err(error) = self.wait(begun + WAIT_MAX) {
                // The tick thread finds the shard's channels closed.
                return error!(%error, "the thread of web sockets cannot wait");
            }
            let begun = Instant::now();
            self.receive(begun + RECEIVE_MAX);
            self.pace.note_receiving(begun.elapsed());
            match self.take_messages() {
                Outcome::Continue => {}
                Outcome::Stop(reason) => break reason,
                Outcome::Disconnected => return,
            }
            while let Ok(upgraded) = self.arrivals.try_recv() {
                self.open(upgraded);
            }
            self.upkeep();
            self.close_stale_pending();
        };
        self.close(&reason);
    }

    /// Waits until something arrives, the thread is woken, or until a time.
    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let patience = match self.unread.is_empty() {
            true => until.saturating_duration_since(Instant::now()),
            false => Duration::ZERO,
        };
        match self.poll.poll(&mut self.events, Some(patience)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        let tokens = self.events.iter().map(mio::event::Event::token);
        let tokens = tokens.filter(|token| *token != WAKER);
        self.unread.extend(tokens.map(|token| token.0));
        Ok(())
    }

    /// Reads what has arrived, and writes where there is room, up to a time. Each connection has
    /// its share.
    fn receive(&mut self, until: Instant) {
        let ready = std::mem::take(&mut self.unread);
        let mut ready = ready.into_iter();
        for index in ready.by_ref() {
            let now = Instant::now();
            self.receive_from(index, now);
            self.send(index, now);
            if now >= until {
                break;
            }
        }
        self.unread.extend(ready);
    }

    fn receive_from(&mut self, index: usize, now: Instant) {
        for _ in 0..MESSAGES_MAX {
            let Some(connection) = self.connection(index) else {
                return;
            };
            let arrived = connection.receive(now);
            self.counted.received += 1;
            match arrived {
                Arrived::Nothing => {}
                Arrived::Waiting => return,
                Arrived::Datagram(bytes) => self.take_event(index, Event::Datagram(bytes), now),
                Arrived::Stream => self.take_event(index, Event::Readable, now),
                Arrived::Malformed(reason) => {
                    self.visit(index, now, |shard, link, client| {
                        shard.malformed(link, client.player(), &reason);
                    });
                }
                Arrived::Closed(code) => {
                    let end = match code {
                        Some(code) => ConnectionError::ApplicationClosed(ApplicationClose {
                            error_code: VarInt::from_u32(code),
                            reason: Bytes::new(),
                        }),
                        None => ConnectionError::Reset,
                    };
                    // The answer to the close frame is on its way.
                    self.end_session(index, end, now);
                }
                Arrived::Lost => return self.remove(index, ConnectionError::Reset),
            }
        }
        self.unread.insert(index);
    }

    fn take_event(&mut self, index: usize, event: Event, now: Instant) {
        self.visit(index, now, |shard, link, client| {
            shard.take_event(event, link, client);
        });
    }

    /// Lets the shard act on a connection. `None` if its session has ended.
    fn visit<R>(
        &mut self,
        index: usize,
        now: Instant,
        act: impl FnOnce(&mut Shard, &mut SocketLink<'_>, &mut Client) -> R,
    ) -> Option<R> {
        let connection = self.connections.get_mut(index)?.as_mut()?;
        let (mut link, client) = connection.link(Handle::new(index), self.turn, now)?;
        let result = act(&mut self.shard, &mut link, client);
        if let Some(client) = connection.take_closed(now) {
            let end = ConnectionError::LocallyClosed;
            self.shard.closed(Handle::new(index), client, end);
        }
        Some(result)
    }

    /// Hands to the system what it takes, also what the session has kept for lack of room.
    fn send(&mut self, index: usize, now: Instant) {
        loop {
            let Some(connection) = self.connection(index) else {
                return;
            };
            if !connection.send(now) {
                return self.remove(index, ConnectionError::Reset);
            }
            if !connection.take_has_room() {
                return;
            }
            self.take_event(index, Event::Writable, now);
        }
    }

    /// A connection has arrived after its handshake.
    fn open(&mut self, upgraded: Upgraded) {
        let (now, address) = (Instant::now(), upgraded.address);
        if self.open_connections() >= self.connections_max {
            return;
        }
        // TCP has proven the address.
        let Open::Accept(client) = self.shard.open_for(address, true, now) else {
            return;
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let opened = Connection::new(upgraded, client, now).and_then(|mut connection| {
            let stream = connection.socket.get_mut();
            stream.register(self.poll.registry(), Token(index))?;
            Ok(connection)
        });
        match opened {
            Ok(connection) => {
                self.connections[index] = Some(Box::new(connection));
                // Bytes may have come with the handshake.
                self.unread.insert(index);
            }
            Err(error) => {
                debug!(%error, "a web socket can't be used");
                self.free.push(index);
            }
        }
    }

    /// The session of a connection has ended, whose last words are being sent.
    fn end_session(&mut self, index: usize, end: ConnectionError, now: Instant) {
        let Some(connection) = self.connection(index) else {
            return;
        };
        connection.ends.get_or_insert(now + ANSWER_WAIT);
        if let Some(client) = connection.client.take() {
            self.shard.closed(Handle::new(index), client, end);
        }
    }

    fn remove(&mut self, index: usize, end: ConnectionError) {
        let Some(mut connection) = self.connections.get_mut(index).and_then(Option::take) else {
            return;
        };
        self.free.push(index);
        self.unread.remove(&index);
        // A socket that is closed is waited for no more.
        let _ = connection.socket.get_mut().deregister(self.poll.registry());
        let figures = connection.figures();
        self.counted.sent += figures.packets_sent;
        self.counted.sent_bytes += figures.bytes_sent;
        self.counted.received_bytes += figures.bytes_received;
        if let Some(client) = connection.client.take() {
            self.shard.closed(Handle::new(index), client, end);
        }
    }

    /// Those that are being closed included.
    fn open_connections(&self) -> usize {
        self.connections.len() - self.free.len()
    }

    fn connection(&mut self, index: usize) -> Option<&mut Connection> {
        self.connections.get_mut(index)?.as_deref_mut()
    }

    fn client(&mut self, index: usize) -> Option<&mut Client> {
        self.connection(index)?.client.as_mut()
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

    /// Ends connections from which nothing arrives, and those whose time for last words is over.
    fn upkeep(&mut self) {
        let now = Instant::now();
        if now < self.looked_through + LOOK_PERIOD {
            return;
        }
        self.looked_through = now;
        for index in 0..self.connections.len() {
            let Some(connection) = self.connection(index) else {
                continue;
            };
            if connection.ends.is_some_and(|ends| ends <= now) {
                self.remove(index, ConnectionError::LocallyClosed);
            } else if now.saturating_duration_since(connection.heard) > self.idle {
                self.remove(index, ConnectionError::TimedOut);
            }
        }
    }

    /// Closes the connections that have waited too long for their hello.
    fn close_stale_pending(&mut self) {
        let now = Instant::now();
        let pending = self.shard.pending_connections();
        if pending.waiting == 0 || now < self.stale_pending_closed + PENDING_PERIOD {
            return;
        }
        self.stale_pending_closed = now;
        for index in 0..self.connections.len() {
            if let Some(Client::Pending(_)) = self.client(index) {
                self.visit(index, now, |shard, link, client| {
                    shard.close_if_stale(link, client);
                });
                self.send(index, now);
            }
        }
    }

    /// Closes all connections, and gives the last words time to leave.
    fn close(mut self, reason: &str) {
        let now = Instant::now();
        for index in 0..self.connections.len() {
            self.visit(index, now, |_, link, _| {
                close(link, Close::Shutdown, reason)
            });
            self.send(index, now);
        }
        let until = now + CLOSE_WAIT;
        while self.open_connections() > 0 && Instant::now() < until {
            if self.wait(until).is_err() {
                return;
            }
            self.receive(until);
        }
    }
}

const WAKER: Token = Token(usize::MAX);
const WAIT_MAX: Duration = Duration::from_millis(50);
/// For arrived messages between two polls of the tick's channel.
const RECEIVE_MAX: Duration = Duration::from_millis(10);
/// Of one connection before it is others' turn.
const MESSAGES_MAX: usize = 32;
/// Connections that wait for the thread.
const ARRIVALS_MAX: usize = 256;
const LOOK_PERIOD: Duration = Duration::from_millis(100);
const PENDING_PERIOD: Duration = Duration::from_millis(100);
/// For the answer to a client's close frame.
const ANSWER_WAIT: Duration = Duration::from_millis(500);
const CLOSE_WAIT: Duration = Duration::from_millis(500);
