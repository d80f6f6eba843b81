//! Many bots on a few threads, each thread with its own runtime and sockets.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use shared::wire::movement::Movement;
use shared::wire::stream::Item;
use shared::{Schema, Tick};
use tokio::sync::Semaphore;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{MissedTickBehavior, interval_at};

use crate::behaviour::{Behaviour, BehaviourKind, Deeds, Dice, Request};
use crate::client::{Client, Witness};
use crate::connect::{ClientError, Connector, Trust, hello};
use crate::report::SwarmReport;
use crate::verify::{Checker, FinalView, Ledger, check_at_rest, check_hearing};
use crate::view::{Told, View, ViewCounts};

/// What swarm to run, against which server.
#[derive(Clone, Debug)]
pub struct SwarmOptions {
    pub server: SocketAddr,
    /// The name that the server's certificate must have.
    pub name: String,
    pub trust: Trust,
    pub token: String,
    pub clients: usize,
    pub behaviour: BehaviourKind,
    /// How often a second each bot acts; the server's tick rate if not given.
    pub rate_hz: Option<f64>,
    pub threads: usize,
    /// All clients of one socket land on one shard of the server.
    pub sockets: usize,
    pub seed: u64,
    /// The share of datagrams to lose each way.
    pub loss: f64,
    pub verify: bool,
}

/// A running swarm.
pub struct Swarm {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Result<(), ClientError>>>,
    options: SwarmOptions,
    playing_since: Option<Instant>,
    played: Duration,
}

/// What has happened so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub connected: u64,
    pub lost: u64,
    pub commands_sent: u64,
    pub updates_delivered: u64,
    pub latency_ms_p50: f64,
    pub latency_ms_p99: f64,
}

/// Shared between the swarm's threads.
struct Shared {
    phase: AtomicU8,
    connected: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
    commands_sent: AtomicU64,
    updates_delivered: AtomicU64,
    payload_bytes: AtomicU64,
    notices: AtomicU64,
    /// How often notices may have been left out.
    full: AtomicU64,
    /// Others in view, summed over bots' actions; and how many actions.
    visible_sum: AtomicU64,
    visible_samples: AtomicU64,
    latency_us: Mutex<Histogram<u64>>,
    ledger: OnceLock<Ledger>,
    schema: OnceLock<Schema>,
    views: Mutex<Vec<FinalView>>,
    complaints: Mutex<Vec<String>>,
}

/// What bots are to do, in order.
mod phase {
    pub const CONNECT: u8 = 0;
    pub const PLAY: u8 = 1;
    pub const REST: u8 = 2;
    /// Hand in what is known; nobody leaves yet, as the others would see it.
    pub const COMPARE: u8 = 3;
    pub const LEAVE: u8 = 4;
}

impl Swarm {
    /// Starts connecting.
    pub fn start(options: SwarmOptions) -> std::io::Result<Swarm> {
        let latency =
            Histogram::new_with_bounds(1, 60_000_000, 3).expect("constant bounds are valid");
        let shared = Arc::new(Shared {
            phase: AtomicU8::new(phase::CONNECT),
            connected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            commands_sent: AtomicU64::new(0),
            updates_delivered: AtomicU64::new(0),
            payload_bytes: AtomicU64::new(0),
            notices: AtomicU64::new(0),
            full: AtomicU64::new(0),
            visible_sum: AtomicU64::new(0),
            visible_samples: AtomicU64::new(0),
            latency_us: Mutex::new(latency),
            ledger: OnceLock::new(),
            schema: OnceLock::new(),
            views: Mutex::new(vec![]),
            complaints: Mutex::new(vec![]),
        });
        let mut threads = vec![];
        for thread in 0..options.threads.max(1) {
            let (shared, options) = (shared.clone(), options.clone());
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            threads.push(
                std::thread::Builder::new()
                    .name(format!("bots-{thread}"))
                    .spawn(move || {
                        let local = LocalSet::new();
                        local.block_on(&runtime, run_thread(thread, options, shared))
                    })?,
            );
        }
        Ok(Swarm {
            shared,
            threads,
            options,
            playing_since: None,
            played: Duration::ZERO,
        })
    }

    pub fn progress(&self) -> Progress {
        let shared = &self.shared;
        let latency = lock(&shared.latency_us);
        let ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1000.0;
        Progress {
            connected: shared.connected.load(Relaxed),
            lost: shared.lost.load(Relaxed),
            commands_sent: shared.commands_sent.load(Relaxed),
            updates_delivered: shared.updates_delivered.load(Relaxed),
            latency_ms_p50: ms(0.5),
            latency_ms_p99: ms(0.99),
        }
    }

    /// Whether every bot is connected, or has failed to.
    pub fn is_settled(&self) -> bool {
        let ended = self.shared.connected.load(Relaxed) + self.shared.failed.load(Relaxed);
        ended >= self.options.clients as u64 || self.threads.iter().all(|t| t.is_finished())
    }

    fn has_all_views(&self) -> bool {
        let lost = self.shared.lost.load(Relaxed);
        lock(&self.shared.views).len() as u64 + lost >= self.shared.connected.load(Relaxed)
    }

    /// Lets the bots act, and counts from here.
    pub fn play(&mut self) {
        self.playing_since = Some(Instant::now());
        self.shared.phase.store(phase::PLAY, Relaxed);
    }

    /// Stops acting; the world comes to rest.
    pub fn rest(&mut self) {
        self.played = self.playing_since.map_or(Duration::ZERO, |t| t.elapsed());
        self.shared.phase.store(phase::REST, Relaxed);
    }

    /// Compares what the bots know, sends them home, and reports.
    pub fn finish(self) -> Result<SwarmReport, ClientError> {
        let tick_hz = self.shared.schema.get().map_or(0, |s| s.world.tick_hz);
        self.shared.phase.store(phase::COMPARE, Relaxed);
        let asked = Instant::now();
        while !self.has_all_views() && asked.elapsed() < VIEWS_WAIT {
            std::thread::sleep(POLL);
        }
        self.shared.phase.store(phase::LEAVE, Relaxed);
        let mut first_error = None;
        for thread in self.threads {
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => first_error = first_error.or(Some(error)),
                Err(_) => {
                    let failed = ClientError::Ended("a bots' thread has failed".to_owned());
                    first_error = first_error.or(Some(failed));
                }
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        let shared = &self.shared;
        let mut examples = lock(&shared.complaints).clone();
        let (mut checked, mut errors, mut open) = (0, 0, 0);
        if let (Some(ledger), Some(schema)) = (shared.ledger.get(), shared.schema.get())
            && self.options.verify
        {
            let views = lock(&shared.views);
            check_at_rest(ledger, schema, &views);
            check_hearing(ledger, schema, &views);
            if self.options.behaviour.asks() {
                ledger.check_granted();
            }
            checked = ledger.findings.checked.load(Relaxed);
            errors = ledger.findings.errors.load(Relaxed);
            open = ledger.findings.open.load(Relaxed);
            examples.extend(ledger.findings.examples());
        }
        let latency = lock(&shared.latency_us);
        let ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1000.0;
        let connected = shared.connected.load(Relaxed);
        let updates = shared.updates_delivered.load(Relaxed);
        let bytes = shared.payload_bytes.load(Relaxed) as f64;
        let seconds = self.played.as_secs_f64();
        let samples = shared.visible_samples.load(Relaxed).max(1);
        let visible_mean = shared.visible_sum.load(Relaxed) as f64 / samples as f64;
        let per_client = bytes / (connected.max(1) as f64 * seconds.max(1e-9));
        Ok(SwarmReport {
            behaviour: self.options.behaviour.name(),
            clients: self.options.clients as u64,
            clients_connected: connected,
            seconds,
            commands_sent: shared.commands_sent.load(Relaxed),
            updates_delivered: updates,
            notices: shared.notices.load(Relaxed),
            notices_full: shared.full.load(Relaxed),
            visible_mean,
            latency_ms_p50: ms(0.5),
            latency_ms_p99: ms(0.99),
            bytes_per_client_per_second: per_client,
            bytes_per_update: bytes / updates.max(1) as f64,
            // One's own entity is in view too, and told of like the others.
            bytes_per_visible_per_tick: per_client / (f64::from(tick_hz) * (visible_mean + 1.0)),
            is_verified: self.options.verify,
            verify_checked: checked,
            verify_errors: errors,
            verify_open: open,
            sessions_lost: shared.lost.load(Relaxed),
            examples,
        })
    }
}

impl Shared {
    fn complain(&self, complaint: String) {
        let mut complaints = lock(&self.complaints);
        if complaints.len() < COMPLAINTS_MAX {
            complaints.push(complaint);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread's bots, from first to last.
async fn run_thread(
    thread: usize,
    options: SwarmOptions,
    shared: Arc<Shared>,
) -> Result<(), ClientError> {
    let threads = options.threads.max(1);
    let sockets = options.sockets.max(1).div_ceil(threads);
    let connectors = (0..sockets)
        .map(|socket| {
            let seed = options.seed ^ ((thread * sockets + socket) as u64) << 32;
            let loss = (options.loss > 0.0).then_some((options.loss, seed));
            Connector::new(options.server, &options.name, &options.trust, loss).map(Rc::new)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let handshakes = Rc::new(Semaphore::new(HANDSHAKES_AT_ONCE));
    let latencies = Rc::new(RefCell::new(Latencies::new(shared.clone())));
    let bots: Vec<_> = (thread..options.clients)
        .step_by(threads)
        .enumerate()
        .map(|(i, bot)| {
            let connector = connectors[i % connectors.len()].clone();
            let work = run_bot(
                bot,
                connector,
                handshakes.clone(),
                options.clone(),
                shared.clone(),
                latencies.clone(),
            );
            spawn_local(work)
        })
        .collect();
    for bot in bots {
        // A bot's own end is in the counts.
        let _ = bot.await;
    }
    latencies.borrow_mut().hand_in();
    for connector in &connectors {
        connector.wait_idle().await;
    }
    Ok(())
}

async fn run_bot(
    bot: usize,
    connector: Rc<Connector>,
    handshakes: Rc<Semaphore>,
    options: SwarmOptions,
    shared: Arc<Shared>,
    latencies: Rc<RefCell<Latencies>>,
) {
    let connected = {
        let Ok(_turn) = handshakes.acquire().await else {
            return;
        };
        Client::connect(&connector, &hello(&options.token, None)).await
    };
    let client = match connected {
        Ok(client) => client,
        Err(error) => {
            shared.failed.fetch_add(1, Relaxed);
            return shared.complain(format!("bot {bot}: {error}"));
        }
    };
    let schema = client.view().schema();
    shared.schema.get_or_init(|| schema.clone());
    let ledger = shared
        .ledger
        .get_or_init(|| Ledger::new(schema, options.clients));
    let entity = client.view().entity();
    ledger.register(bot, entity);
    let checker = options
        .verify
        .then(|| Checker::new(bot, entity, ledger, schema));
    let mut dice = Dice::new(options.seed.wrapping_add(bot as u64));
    let rate_hz = options.rate_hz.unwrap_or(f64::from(schema.world.tick_hz));
    let bot = Bot {
        number: bot,
        behaviour: options.behaviour.start(&mut dice),
        dice,
        client,
        notes: Notes {
            checker,
            sent: VecDeque::new(),
            latencies,
            shared: shared.clone(),
        },
        counted: None,
        shared: shared.clone(),
    };
    match bot
        .live(Duration::from_secs_f64(1.0 / rate_hz.max(0.01)))
        .await
    {
        Ok(client) => {
            while shared.phase.load(Relaxed) != phase::LEAVE {
                tokio::time::sleep(POLL).await;
            }
            client.leave();
        }
        Err((error, was_in)) => {
            if !was_in {
                shared.failed.fetch_add(1, Relaxed);
            }
            shared.lost.fetch_add(u64::from(was_in), Relaxed);
            shared.complain(format!("a bot lost its connection: {error}"));
        }
    }
}

struct Bot {
    number: usize,
    client: Client,
    behaviour: Box<dyn Behaviour>,
    dice: Dice,
    notes: Notes,
    /// The counts at the beginning of play.
    counted: Option<ViewCounts>,
    shared: Arc<Shared>,
}

/// What a bot notes of what it is told.
struct Notes {
    checker: Option<Checker>,
    /// Commands whose effect hasn't been seen: (sequence number, when sent).
    sent: VecDeque<(u32, Instant)>,
    latencies: Rc<RefCell<Latencies>>,
    shared: Arc<Shared>,
}

/// One thread's latencies, handed in together: the lock is everybody's.
struct Latencies {
    us: Vec<u64>,
    handed_in: Instant,
    shared: Arc<Shared>,
}

impl Latencies {
    fn new(shared: Arc<Shared>) -> Latencies {
        Latencies {
            us: vec![],
            handed_in: Instant::now(),
            shared,
        }
    }

    fn add(&mut self, latency: Duration, now: Instant) {
        self.us.push(latency.as_micros() as u64);
        if self.us.len() >= LATENCIES_AT_ONCE || now - self.handed_in >= HAND_IN_EVERY {
            self.handed_in = now;
            self.hand_in();
        }
    }

    fn hand_in(&mut self) {
        let mut histogram = lock(&self.shared.latency_us);
        for us in self.us.drain(..) {
            histogram.saturating_record(us.max(1));
        }
    }
}

impl Bot {
    /// Acts and listens until the end, and hands in what it knows then.
    /// An error says whether it had been in the world.
    async fn live(mut self, period: Duration) -> Result<Client, (ClientError, bool)> {
        // Bots act at different moments, as people do.
        let start = tokio::time::Instant::now() + period.mul_f64(self.dice.unit());
        let mut turns = interval_at(start, period);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_in = false;
        loop {
            tokio::select! {
                received = self.client.receive(&mut self.notes) => {
                    received.map_err(|error| (error, is_in))?;
                    // Connected is who sees itself, not who was merely welcomed.
                    if !is_in && self.client.view().own().is_some() {
                        is_in = true;
                        self.shared.connected.fetch_add(1, Relaxed);
                    }
                }
                _ = turns.tick() => match self.shared.phase.load(Relaxed) {
                    phase::PLAY => {
                        self.counted.get_or_insert(self.client.view().counts);
                        self.act();
                    }
                    phase::COMPARE | phase::LEAVE => break,
                    other => {
                        if other == phase::REST && let Some(before) = self.counted.take() {
                            let play = self.client.view().counts.since(&before);
                            self.shared.updates_delivered.fetch_add(play.updates(), Relaxed);
                            self.shared.payload_bytes.fetch_add(play.payload_bytes(), Relaxed);
                            self.shared.notices.fetch_add(play.notices, Relaxed);
                            self.shared.full.fetch_add(play.full, Relaxed);
                        }
                        self.client.flush();
                    }
                },
            }
        }
        let view = self.client.view();
        let checker = self.notes.checker.take();
        let is_newborn = checker
            .as_ref()
            .is_some_and(|checker| checker.is_newborn(view.newest()));
        let second_ago = view.newest().0.saturating_sub(view.schema().world.tick_hz);
        let touched = checker
            .as_ref()
            .map(|checker| checker.touched_after(Tick(second_ago)));
        let (regions, hearing) = checker.map(Checker::finish).unwrap_or_default();
        let last = FinalView {
            bot: self.number,
            entity: view.entity(),
            is_dead: view.is_dead() || is_newborn,
            newest: view.newest(),
            entities: view.entities().clone(),
            touched: touched.unwrap_or_default(),
            regions,
            hearing,
        };
        lock(&self.shared.views).push(last);
        Ok(self.client)
    }

    fn act(&mut self) {
        let mut deeds = Deeds::default();
        self.behaviour
            .act(self.client.view(), &mut self.dice, &mut deeds);
        for request in deeds.requests {
            self.ask(request);
        }
        let now = Instant::now();
        for (kind, words, count) in deeds.commands {
            if let Some(sequence) = self.client.command(kind, &words[..count]) {
                if let Some(checker) = &mut self.notes.checker {
                    checker.acts(kind, &words[..count]);
                }
                self.shared.commands_sent.fetch_add(1, Relaxed);
                self.notes.sent.push_back((sequence, now));
            }
        }
        self.client.flush();
        let others = self.client.view().entities().len().saturating_sub(1);
        self.shared.visible_sum.fetch_add(others as u64, Relaxed);
        self.shared.visible_samples.fetch_add(1, Relaxed);
    }
}

impl Bot {
    fn ask(&mut self, request: Request) {
        let number = match &request {
            Request::SetRegion { index, region } => Some(self.client.set_region(*index, *region)),
            Request::Subscribe { id, wish } => {
                let text = wish.text(self.client.view().schema());
                self.client.subscribe(*id, &text)
            }
            Request::Unsubscribe { id } => Some(self.client.unsubscribe(*id)),
        };
        if let (Some(number), Some(checker)) = (number, &mut self.notes.checker) {
            checker.asks(number, request);
        }
    }
}

impl Witness for Notes {
    fn told(&mut self, view: &View, told: Told, movement: &Movement) {
        let now = Instant::now();
        let mut latencies = self.latencies.borrow_mut();
        while let Some(&(_, sent)) = self.sent.front().filter(|s| s.0 <= view.processed()) {
            self.sent.pop_front();
            latencies.add(now - sent, now);
        }
        if let (Some(checker), Some(ledger)) = (&mut self.checker, self.shared.ledger.get()) {
            checker.told(ledger, view, told, movement);
        }
    }

    fn item(&mut self, tick: Tick, item: &Item) {
        if let (Some(checker), Some(ledger)) = (&mut self.checker, self.shared.ledger.get()) {
            checker.item(ledger, tick, item);
        }
    }
}

/// A server's handshakes are work for one core; more at once only time out.
const HANDSHAKES_AT_ONCE: usize = 64;
const LATENCIES_AT_ONCE: usize = 256;
const HAND_IN_EVERY: Duration = Duration::from_millis(250);
const COMPLAINTS_MAX: usize = 10;
const POLL: Duration = Duration::from_millis(20);
/// How long bots may take to hand in what they know.
const VIEWS_WAIT: Duration = Duration::from_secs(20);
