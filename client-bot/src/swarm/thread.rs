//! One thread's bots, with sockets of their own.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::Route;
use quic::proto::{ClientConfig, ConnectionError, Incoming};
use quic::{Application, Endpoint, Event, Handle, Link, Load, Open, Socket, Turns};
use shared::wire::control::Ticket;

use super::bot::Bot;
use super::lateness::Lateness;
use super::options::{NEIGHBOURS, SwarmOptions};
use super::state::{Phase, SwarmState, Tally};
use crate::connect::{ClientError, addresses_named, client_config, ended};
use crate::scout::reach;

/// Starts a thread that runs its share of the bots from first to last.
pub fn spawn(
    thread: usize,
    options: SwarmOptions,
    state: Arc<SwarmState>,
) -> std::io::Result<std::thread::JoinHandle<Result<(), ClientError>>> {
    std::thread::Builder::new()
        .name(format!("bots-{thread}"))
        .spawn(move || Thread::new(thread, options, state)?.run())
}

struct Thread {
    endpoint: Endpoint<Bot>,
    bots: Bots,
    config: ClientConfig,
    turns: Turns,
    /// When the thread looked last for bots whose time has come.
    looked: Instant,
    /// The numbers of the bots that are still to connect.
    numbers: std::iter::StepBy<std::ops::Range<usize>>,
    connected: usize,
    /// The addresses behind names that servers have sent.
    found: HashMap<String, SocketAddr>,
}

/// The state that the bots of a thread share.
pub struct Bots {
    pub options: SwarmOptions,
    pub state: Arc<SwarmState>,
    pub tally: Tally,
    /// By handle: when the bot acts, if no word of the server makes it act before.
    wakes: Vec<Option<Instant>>,
    /// Bots that try again to join or to come back, by the time when they do.
    again: BTreeMap<(Instant, usize), JoinAttempt>,
}

/// A bot's attempt to join, or to come back.
#[derive(Clone)]
pub struct JoinAttempt {
    pub number: usize,
    pub route: Route,
    /// Of the connection that it has lost; `None`: it joins.
    pub lost: Option<Lost>,
}

/// A bot's lost connection.
#[derive(Clone, Copy)]
pub struct Lost {
    pub ticket: Ticket,
    pub round_trip: Duration,
}

impl JoinAttempt {
    /// How long it may take.
    fn patience(&self) -> Duration {
        let round_trip = self.lost.map_or(Duration::ZERO, |lost| lost.round_trip);
        self.route.patience(JOIN_WAIT, round_trip)
    }
}

impl Thread {
    fn new(
        thread: usize,
        options: SwarmOptions,
        state: Arc<SwarmState>,
    ) -> Result<Thread, ClientError> {
        let threads = options.threads.max(1);
        let turns = Turns::default();
        let sockets = sockets(thread, &options).map_err(ClientError::Socket)?;
        Ok(Thread {
            endpoint: Endpoint::new(sockets, None).map_err(ClientError::Socket)?,
            config: client_config(&options.trust, turns.clone())?,
            turns,
            looked: Instant::now(),
            numbers: (thread..options.clients).step_by(threads),
            connected: 0,
            found: HashMap::new(),
            bots: Bots {
                options,
                tally: Tally::default(),
                state,
                wakes: vec![],
                again: BTreeMap::new(),
            },
        })
    }

    fn run(mut self) -> Result<(), ClientError> {
        let mut lateness = Lateness::new(self.bots.state.clone());
        let mut turned = Instant::now();
        while self.bots.state.phase() != Phase::Leave {
            let now = Instant::now();
            let until = now + LOOK_PERIOD;
            self.endpoint.wait(until).map_err(ClientError::Socket)?;
            lateness.note(until, &mut self.bots.tally);
            // Each bot may send a packet, however bad its way is.
            if now >= turned + TURN_PERIOD {
                turned = now;
                self.turns.begin();
                self.hand_in(&mut lateness);
            }
            self.endpoint.receive(&mut self.bots, PACKETS_MAX);
            self.connect_some();
            self.act();
            self.endpoint.upkeep(&mut self.bots);
            self.endpoint.flush();
        }
        self.leave()?;
        self.hand_in(&mut lateness);
        Ok(())
    }

    fn hand_in(&mut self, lateness: &mut Lateness) {
        self.bots.state.add_tally(&mut self.bots.tally);
        lateness.hand_in(&self.endpoint);
    }

    /// Lets bots begin to connect, not more at a time than a server handles well.
    fn connect_some(&mut self) {
        while self.endpoint.load().handshakes < HANDSHAKES_MAX {
            let first = |number| JoinAttempt {
                number,
                route: Route::default(),
                lost: None,
            };
            let now = Instant::now();
            let again = self.bots.again.first_entry();
            let again = again.filter(|entry| entry.key().0 <= now);
            let attempt = again
                .map(|entry| entry.remove())
                .or_else(|| self.numbers.next().map(first));
            let Some(attempt) = attempt else {
                return;
            };
            let server = match self.find(&attempt) {
                Ok(server) => server,
                Err(error) => {
                    self.bots
                        .try_again(Bot::new(attempt, &self.bots.options), &error);
                    continue;
                }
            };
            let Bots { options, state, .. } = &self.bots;
            let socket = self.connected / NEIGHBOURS % self.endpoint.sockets().len();
            self.connected += 1;
            let (number, patience) = (attempt.number, attempt.patience());
            let connecting = self.endpoint.connect(
                self.config.clone(),
                server,
                &options.name,
                socket,
                Bot::new(attempt, options),
                now,
            );
            match connecting {
                Ok(handle) => self.bots.wake_at(handle, now + patience),
                Err(error) => {
                    state.fail(format!("bot {number}: cannot connect: {error}"));
                }
            }
        }
    }

    /// Where a bot connects. The first that comes to a name waits for its address.
    fn find(&mut self, attempt: &JoinAttempt) -> Result<SocketAddr, ClientError> {
        let server = self.bots.options.server;
        let Some(name) = attempt.route.address() else {
            return Ok(server);
        };
        if let Some(found) = self.found.get(name) {
            return Ok(*found);
        }
        let Bots { options, .. } = &self.bots;
        let found = addresses_named(name, server)?;
        let found = reach(&found, &options.name, &options.trust)?;
        self.found.insert(name.to_owned(), found);
        Ok(found)
    }

    /// Lets those bots act whose time has come.
    fn act(&mut self) {
        let now = Instant::now();
        if now < self.looked + LOOK_PERIOD {
            return;
        }
        self.looked = now;
        for handle in self.endpoint.handles() {
            let wake = self.bots.wakes.get_mut(handle.index());
            if let Some(wake) = wake
                && wake.is_some_and(|at| at <= now)
            {
                *wake = None;
                self.endpoint
                    .visit(handle, &mut self.bots, now, |bots, link, bot| {
                        bot.wake(link, bots);
                    });
            }
        }
    }

    /// Lets all bots leave, and their last packets out.
    fn leave(&mut self) -> Result<(), ClientError> {
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.bots, now, |_, link, bot| bot.leave(link));
        }
        while !self.endpoint.is_idle() && now.elapsed() < LEAVE_WAIT {
            let until = Instant::now() + LOOK_PERIOD;
            self.endpoint.wait(until).map_err(ClientError::Socket)?;
            self.endpoint.receive(&mut self.bots, PACKETS_MAX);
            self.endpoint.upkeep(&mut self.bots);
        }
        self.endpoint.flush();
        Ok(())
    }
}

impl Bots {
    /// Lets a bot without a connection try again, if it may.
    fn try_again(&mut self, bot: Bot, error: &ClientError) {
        let phase = self.state.phase();
        let again = match phase {
            Phase::Connect if error.is_for_good() => None,
            // Where many connect at once, packets of some are lost or late.
            Phase::Connect => bot.next_join(self.options.seed),
            Phase::Play => bot.way_back(&self.options, error),
            Phase::Rest | Phase::Compare | Phase::Leave => None,
        };
        match again {
            Some((wait, attempt)) => {
                if attempt.lost.is_none() {
                    self.state.joins_repeated.fetch_add(1, Relaxed);
                }
                let at = Instant::now() + wait;
                self.again.insert((at, attempt.number), attempt);
            }
            None if phase < Phase::Leave => bot.count_loss(error, &self.state),
            None => {}
        }
    }

    /// Wakes a bot at a time, unless a word of the server comes before.
    pub fn wake_at(&mut self, handle: Handle, at: Instant) {
        if self.wakes.len() <= handle.index() {
            self.wakes.resize(handle.index() + 1, None);
        }
        self.wakes[handle.index()] = Some(at);
    }
}

impl Application for Bots {
    type Session = Bot;

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<Bot> {
        Open::Ignore
    }

    fn prefetch(&self, bot: &Bot) {
        bot.prefetch();
    }

    fn event(&mut self, event: Event, link: &mut Link<'_>, bot: &mut Bot) {
        let taken = match event {
            Event::Connected => {
                bot.greet(link);
                Ok(())
            }
            Event::Datagram(bytes) => bot.take_datagram(&bytes, self),
            Event::Readable => bot.take_stream(link, self),
            Event::Writable => Ok(()),
        };
        if let Err(error) = taken {
            bot.give_up(link, &error, self);
        }
    }

    fn settled(&mut self, link: &mut Link<'_>, bot: &mut Bot) {
        bot.settle(link, self);
    }

    fn closed(&mut self, handle: Handle, bot: Bot, reason: ConnectionError) {
        if let Some(wake) = self.wakes.get_mut(handle.index()) {
            *wake = None;
        }
        let error = match reason {
            ConnectionError::LocallyClosed => ClientError::TimedOut {
                server: self.options.server.into(),
                seconds: JOIN_WAIT.as_secs_f64(),
            },
            reason => ended(reason),
        };
        self.try_again(bot, &error);
    }
}

/// This thread's share of the sockets, at least one.
fn sockets(thread: usize, options: &SwarmOptions) -> std::io::Result<Vec<Socket>> {
    let sockets = options.sockets.max(1).div_ceil(options.threads.max(1));
    let socket = |number| {
        let mut socket = Socket::towards(options.server)?;
        let seed = options.seed ^ ((thread * sockets + number) as u64) << 32;
        socket.set_network(&options.network, seed);
        Ok(socket)
    };
    (0..sockets).map(socket).collect()
}

/// From the first packet to the welcome.
const JOIN_WAIT: Duration = Duration::from_secs(10);
/// Handshakes take one core of the server each; more at once would only time out.
const HANDSHAKES_MAX: usize = 64;
const PACKETS_MAX: usize = 1024;
/// How exactly bots keep their times.
const LOOK_PERIOD: Duration = Duration::from_millis(2);
const TURN_PERIOD: Duration = Duration::from_millis(20);
const LEAVE_WAIT: Duration = Duration::from_secs(1);
