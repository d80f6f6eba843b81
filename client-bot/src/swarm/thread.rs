//! One thread's bots, with sockets of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::{Peekable, StepBy};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use client_core::Step;
use quic::proto::{ClientConfig, ConnectionError, Incoming};
use quic::{Application, Endpoint, Event, Handle, Link, Load, Open, Socket, Turns};

use super::bot::Bot;
use super::crew::Crew;
use super::lateness::Lateness;
use super::options::{NEIGHBOURS, SwarmOptions};
use super::state::{Phase, SwarmState};
use crate::connect::{ClientError, addresses_named, client_config, ending};
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
    /// The numbers of this thread's bots that are still to connect for the first time.
    numbers: Peekable<StepBy<Range<usize>>>,
    connected: usize,
    /// The addresses behind names that servers have sent.
    found: HashMap<String, SocketAddr>,
}

/// The bots of a thread, beside those that the endpoint has.
struct Bots {
    crew: Crew,
    /// Bots that try again to join or to come back, by the time when they do.
    again: BTreeMap<(Duration, usize), Bot>,
    /// The numbers of bots that have left, and come again once more are wanted.
    away: BTreeSet<usize>,
    /// The number of bots that were wanted when the thread looked last.
    target: usize,
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
            numbers: (thread..options.clients).step_by(threads).peekable(),
            connected: 0,
            found: HashMap::new(),
            bots: Bots {
                again: BTreeMap::new(),
                away: BTreeSet::new(),
                target: options.target,
                crew: Crew::new(options, state),
            },
        })
    }

    fn run(mut self) -> Result<(), ClientError> {
        let mut lateness = Lateness::new(self.bots.crew.state.clone());
        let mut turned = Instant::now();
        while self.bots.crew.state.phase() != Phase::Leave {
            let now = Instant::now();
            let until = now + LOOK_PERIOD;
            self.endpoint.wait(until).map_err(ClientError::Socket)?;
            lateness.note(until, &mut self.bots.crew.tally);
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
        self.bots.crew.state.add_tally(&mut self.bots.crew.tally);
        lateness.hand_in(&self.endpoint);
    }

    /// Lets bots begin to connect, not more at a time than a server handles well.
    fn connect_some(&mut self) {
        while self.endpoint.load().handshakes < HANDSHAKES_MAX {
            let now = self.bots.crew.now();
            let again = self.bots.again.first_entry();
            let again = again.filter(|entry| entry.key().0 <= now);
            let Some(mut bot) = again.map(|entry| entry.remove()).or_else(|| self.new_bot()) else {
                return;
            };
            if bot.game.next_step(now) == Step::Connect {
                self.connect(bot);
            }
        }
    }

    /// The next bot that is wanted: one that comes for the first time, or again.
    fn new_bot(&mut self) -> Option<Bot> {
        let target = self.bots.target;
        let away = self.bots.away.first().copied();
        let number = match away.filter(|&number| number < target) {
            Some(number) => {
                self.bots.away.remove(&number);
                number
            }
            None => self.numbers.next_if(|&number| number < target)?,
        };
        Some(Bot::new(number, &self.bots.crew.options))
    }

    /// Lets those leave that are too many now.
    fn follow_target(&mut self, now: Instant) {
        let target = self.bots.crew.state.target.load(Relaxed);
        let before = std::mem::replace(&mut self.bots.target, target);
        if target >= before {
            return;
        }
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.bots, now, |bots, link, bot| {
                    if bot.number >= target {
                        bot.withdraw(link, &bots.crew.state);
                    }
                });
        }
        let again = std::mem::take(&mut self.bots.again).into_iter();
        let (kept, dropped) = again.partition(|((_, number), _)| *number < target);
        self.bots.again = kept;
        let dropped: BTreeMap<(Duration, usize), Bot> = dropped;
        for (_, bot) in dropped {
            bot.count_leave(&self.bots.crew.state);
            self.bots.away.insert(bot.number);
        }
    }

    fn connect(&mut self, mut bot: Bot) {
        let server = match self.find(&bot) {
            Ok(server) => server,
            Err(error) => {
                bot.game.closed(error.ending(), self.bots.crew.now());
                return self.bots.try_again(bot);
            }
        };
        let Crew { options, state, .. } = &self.bots.crew;
        let socket = self.connected / NEIGHBOURS % self.endpoint.sockets().len();
        self.connected += 1;
        let number = bot.number;
        let due = bot.game.next_due(self.bots.crew.now());
        let connecting = self.endpoint.connect(
            self.config.clone(),
            server,
            &options.name,
            socket,
            bot,
            Instant::now(),
        );
        match connecting {
            Ok(handle) => self.bots.crew.wake_at(handle, due.unwrap_or_default()),
            Err(error) => state.fail(format!("bot {number}: cannot connect: {error}")),
        }
    }

    /// Where a bot connects. The first that comes to a name waits for its address.
    fn find(&mut self, bot: &Bot) -> Result<SocketAddr, ClientError> {
        let server = self.bots.crew.options.server;
        let Some(name) = bot.game.address() else {
            return Ok(server);
        };
        if let Some(found) = self.found.get(name) {
            return Ok(*found);
        }
        let Crew { options, .. } = &self.bots.crew;
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
        self.follow_target(now);
        let due = self.bots.crew.now();
        for handle in self.endpoint.handles() {
            if self.bots.crew.take_wake(handle, due) {
                self.endpoint
                    .visit(handle, &mut self.bots, now, |bots, link, bot| {
                        bot.wake(link, &mut bots.crew);
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
    fn try_again(&mut self, mut bot: Bot) {
        if bot.is_leaving() {
            self.away.insert(bot.number);
            return;
        }
        let phase = self.crew.state.phase();
        let now = self.crew.now();
        let (reason, wait) = bot.take_loss(now);
        let may_return = match phase {
            // Where many connect at once, packets of some are lost or late.
            Phase::Connect => !bot.was_welcomed(),
            Phase::Play => !bot.was_welcomed() || bot.may_come_back(&self.crew.options),
            Phase::Rest | Phase::Compare | Phase::Leave => false,
        };
        match wait.filter(|_| may_return) {
            Some(wait) => {
                if !bot.prepare_return() {
                    self.crew.state.joins_repeated.fetch_add(1, Relaxed);
                }
                self.again.insert((now + wait, bot.number), bot);
            }
            None if phase < Phase::Leave => bot.count_loss(&reason, &self.crew.state),
            None => {}
        }
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
        bot.handle(event, link, &mut self.crew);
    }

    fn settled(&mut self, link: &mut Link<'_>, bot: &mut Bot) {
        bot.settle(link, &mut self.crew);
    }

    fn closed(&mut self, handle: Handle, mut bot: Bot, reason: ConnectionError) {
        self.crew.let_sleep(handle);
        // If its own end closed the connection, the game knows why.
        bot.game.closed(ending(&reason), self.crew.now());
        self.try_again(bot);
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

/// Handshakes take one core of the server each; more at once would only time out.
const HANDSHAKES_MAX: usize = 64;
const PACKETS_MAX: usize = 1024;
/// How exactly bots keep their times.
const LOOK_PERIOD: Duration = Duration::from_millis(2);
const TURN_PERIOD: Duration = Duration::from_millis(20);
const LEAVE_WAIT: Duration = Duration::from_secs(1);
