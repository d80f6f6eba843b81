//! Clients that keep a number of transfers in flight.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use client_bot::client_core::event::RefusedRun;
use client_bot::client_core::{EventHandler, Game, GameOptions, Headless, Step};
use client_bot::connect::{client_config, ending};
use client_bot::{Trust, carrier};
use quic::proto::{ConnectionError, Incoming};
use quic::{Application, Endpoint, Event, Handle, Link, Load, Open, Socket, Turns};
use server::Server;
use shared::wire::control::Close;
use shared::{CommandKind, Tick};

use super::world::{Pairs, TRANSFER, account};
use super::{Latencies, Options};

/// The clients, on some threads.
pub struct Dealers {
    connections: u64,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<anyhow::Result<Done>>>,
}

/// What became of all transfers.
#[derive(Default)]
pub struct Done {
    pub confirmed: u64,
    pub refused: u64,
    pub latencies: Latencies,
}

#[derive(Default)]
struct Shared {
    is_begun: AtomicBool,
    is_ending: AtomicBool,
    joined: AtomicU64,
    confirmed: AtomicU64,
}

impl Dealers {
    pub fn start(
        options: &Options,
        server: SocketAddr,
        pairs: &Pairs,
        cores: usize,
    ) -> anyhow::Result<Dealers> {
        let shared = Arc::new(Shared::default());
        let connections = options.connections as usize;
        let count = cores.min(connections);
        let spawn = |thread: usize| {
            let turns = Turns::default();
            let mut thread = Thread {
                endpoint: Endpoint::new(vec![Socket::towards(server)?], None)?,
                config: client_config(&Trust::AnyCertificate, turns.clone())?,
                turns,
                server,
                numbers: (thread..connections).step_by(count).collect(),
                crew: Crew {
                    started: Instant::now(),
                    shared: shared.clone(),
                    pairs: pairs.clone(),
                    pipelined: options.pipelined as usize,
                    in_flight: 0,
                    done: Done::default(),
                    lost: None,
                },
            };
            let spawned = std::thread::Builder::new()
                .name(format!("benches-dealers-{}", thread.numbers[0]))
                .spawn(move || {
                    thread.run()?;
                    Ok(thread.crew.done)
                });
            spawned.context("cannot start a thread")
        };
        Ok(Dealers {
            connections: connections as u64,
            threads: (0..count).map(spawn).collect::<anyhow::Result<_>>()?,
            shared,
        })
    }

    /// Waits until all clients are in the world.
    pub fn wait_for_all(&self, server: &Server) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            let joined = self.shared.joined.load(Relaxed);
            if joined == self.connections {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < PATIENCE && server.is_running(),
                "only {joined} clients joined"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn begin(&self) {
        self.shared.is_begun.store(true, Relaxed);
    }

    pub fn confirmed(&self) -> u64 {
        self.shared.confirmed.load(Relaxed)
    }

    /// Lets them end once all of their transfers are confirmed.
    pub fn finish(self) -> anyhow::Result<Done> {
        self.shared.is_ending.store(true, Relaxed);
        let mut all = Done::default();
        for thread in self.threads {
            match thread.join() {
                Ok(done) => {
                    let done = done?;
                    all.confirmed += done.confirmed;
                    all.refused += done.refused;
                    all.latencies.0.extend(done.latencies.0);
                }
                Err(_) => bail!("a thread of clients has failed"),
            }
        }
        Ok(all)
    }
}

/// A thread with its share of the clients.
struct Thread {
    endpoint: Endpoint<Dealer>,
    config: quic::proto::ClientConfig,
    turns: Turns,
    server: SocketAddr,
    numbers: Vec<usize>,
    crew: Crew,
}

/// What the clients of a thread share.
struct Crew {
    started: Instant,
    shared: Arc<Shared>,
    pairs: Pairs,
    pipelined: usize,
    in_flight: usize,
    done: Done,
    /// Why a client has ended before its time.
    lost: Option<String>,
}

/// A client.
struct Dealer {
    game: Game,
    transfer: Option<CommandKind>,
    /// The place in what was drawn.
    next: u64,
    /// When transfers were sent: each time with their number, oldest first.
    sent: VecDeque<(Instant, usize)>,
    in_flight: usize,
    processed: u32,
    is_in_world: bool,
}

impl Thread {
    fn run(&mut self) -> anyhow::Result<()> {
        let mut turned = Instant::now();
        for number in self.numbers.clone() {
            self.connect(number)?;
        }
        let mut has_begun = false;
        let mut ends = None;
        loop {
            let now = Instant::now();
            self.endpoint.wait(now + LOOK_PERIOD)?;
            self.endpoint.receive(&mut self.crew, PACKETS_MAX);
            self.endpoint.upkeep(&mut self.crew);
            if now >= turned + TURN_PERIOD {
                turned = now;
                self.turns.begin();
                self.nudge();
            }
            if !has_begun && self.crew.shared.is_begun.load(Relaxed) {
                has_begun = true;
                self.nudge();
            }
            self.endpoint.flush();
            if let Some(reason) = self.crew.lost.take() {
                bail!("a client was lost: {reason}");
            }
            if self.crew.shared.is_ending.load(Relaxed) {
                if self.crew.in_flight == 0 {
                    return self.leave();
                }
                let ends = *ends.get_or_insert(now + PATIENCE);
                ensure!(
                    now < ends,
                    "{} transfers are not confirmed",
                    self.crew.in_flight
                );
            }
        }
    }

    fn connect(&mut self, number: usize) -> anyhow::Result<()> {
        let mut game = Game::headless(GameOptions::default(), Headless::OnlyOwn);
        let step = game.next_step(self.crew.now());
        ensure!(step == Step::Connect, "a client does not connect");
        let dealer = Dealer {
            game,
            transfer: None,
            next: number as u64 * STRIDE,
            sent: VecDeque::new(),
            in_flight: 0,
            processed: 0,
            is_in_world: false,
        };
        let config = self.config.clone();
        let now = Instant::now();
        let connecting = self
            .endpoint
            .connect(config, self.server, "localhost", 0, dealer, now);
        connecting.context("cannot connect")?;
        Ok(())
    }

    /// Lets all clients deal that the server sends nothing to, or of which a packet was lost.
    fn nudge(&mut self) {
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.crew, now, |crew, link, dealer| {
                    let is_stale = |sent: &(Instant, usize)| now > sent.0 + RESEND_AFTER;
                    let is_stale = dealer.sent.front().is_some_and(is_stale);
                    dealer.deal(link, crew, is_stale);
                });
        }
    }

    fn leave(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        for handle in self.endpoint.handles() {
            self.endpoint
                .visit(handle, &mut self.crew, now, |_, link, _| {
                    link.close(Close::Bye.code(), "bye");
                });
        }
        let end = now + LEAVE_WAIT;
        while !self.endpoint.is_idle() && Instant::now() < end {
            self.endpoint.flush();
            self.endpoint.wait(Instant::now() + LOOK_PERIOD)?;
            self.endpoint.receive(&mut self.crew, PACKETS_MAX);
            self.endpoint.upkeep(&mut self.crew);
        }
        Ok(())
    }
}

impl Crew {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Dealer {
    /// Counts what the server has confirmed.
    fn confirm(&mut self, crew: &mut Crew, now: Instant) {
        let Some(view) = self.game.view() else {
            return;
        };
        // At this level nothing is sent before it is on disk.
        if view.kept() < Some(view.newest()) {
            return;
        }
        let processed = view.processed();
        let mut confirmed = processed.wrapping_sub(self.processed) as usize;
        self.processed = processed;
        self.in_flight -= confirmed;
        crew.in_flight -= confirmed;
        crew.done.confirmed += confirmed as u64;
        crew.shared.confirmed.fetch_add(confirmed as u64, Relaxed);
        while confirmed > 0 {
            let Some(sent) = self.sent.front_mut() else {
                return;
            };
            let of_these = confirmed.min(sent.1);
            let latency = now.saturating_duration_since(sent.0);
            crew.done.latencies.0.push((latency, of_these as u32));
            confirmed -= of_these;
            sent.1 -= of_these;
            self.sent.pop_front_if(|sent| sent.1 == 0);
        }
    }

    /// Sends as many transfers as may be in flight, and those that are again if it `must_resend`.
    fn deal(&mut self, link: &mut Link<'_>, crew: &mut Crew, must_resend: bool) {
        let Some(view) = self.game.view() else {
            return;
        };
        if !self.is_in_world && view.own().is_some() {
            self.is_in_world = true;
            self.transfer = view.schema().command_named(TRANSFER).map(|c| c.kind);
            crew.shared.joined.fetch_add(1, Relaxed);
        }
        let shared = &crew.shared;
        let deals = shared.is_begun.load(Relaxed) && !shared.is_ending.load(Relaxed);
        let wanted = crew.pipelined.saturating_sub(self.in_flight);
        let Some(transfer) = self.transfer.filter(|_| deals && wanted > 0) else {
            if must_resend || self.in_flight == 0 {
                carrier::send_now(&mut self.game, link, crew.now());
            }
            return;
        };
        for _ in 0..wanted {
            let (from, to, amount) = crew.pairs.of(self.next);
            self.next += 1;
            let [from, to] = [from, to].map(|number| account(number).reference().0);
            if let Err(error) = self.game.command(transfer, &[from, to, amount]) {
                crew.lost = Some(error.to_string());
                return;
            }
        }
        self.in_flight += wanted;
        crew.in_flight += wanted;
        self.sent.push_back((Instant::now(), wanted));
        carrier::send_now(&mut self.game, link, crew.now());
    }
}

/// Counts the transfers without effect.
struct Refusals<'a>(&'a mut u64);

impl EventHandler for Refusals<'_> {
    fn refused(&mut self, _: Tick, run: RefusedRun) {
        *self.0 += u64::from(run.count);
    }
}

impl Application for Crew {
    type Session = Dealer;

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<Dealer> {
        Open::Ignore
    }

    fn event(&mut self, event: Event, link: &mut Link<'_>, dealer: &mut Dealer) {
        let now = self.now();
        let refusals = &mut Refusals(&mut self.done.refused);
        carrier::deliver(&mut dealer.game, event, link, now, refusals);
    }

    fn settled(&mut self, link: &mut Link<'_>, dealer: &mut Dealer) {
        dealer.confirm(self, Instant::now());
        dealer.deal(link, self, false);
    }

    fn closed(&mut self, _: Handle, mut dealer: Dealer, reason: ConnectionError) {
        let reason = ending(&reason);
        if !self.shared.is_ending.load(Relaxed) {
            self.lost = Some(reason.reason.clone());
        }
        dealer.game.closed(reason, self.now());
    }
}

/// How far apart clients begin in what was drawn.
const STRIDE: u64 = 17_389;
const PACKETS_MAX: usize = 1024;
const LOOK_PERIOD: Duration = Duration::from_millis(2);
const TURN_PERIOD: Duration = Duration::from_millis(20);
/// A confirmation that takes so long is one of a packet that was lost.
const RESEND_AFTER: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(30);
const LEAVE_WAIT: Duration = Duration::from_secs(1);
