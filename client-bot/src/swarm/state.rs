//! The state that the threads of a swarm share.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use client_core::ViewCounts;
use hdrhistogram::Histogram;
use script::Play;
use shared::Schema;

use crate::report::Spread;
use crate::verify::{FinalView, History};

/// The phases of a swarm, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub enum Phase {
    Connect,
    Play,
    /// Send no commands any more, so that the world comes to rest.
    Rest,
    /// Hand in the final view. No bot leaves yet, as the others would see it.
    Compare,
    Leave,
}

/// Counters, and what bots hand in.
pub struct SwarmState {
    phase: AtomicU8,
    /// Bots with smaller numbers are to be in the world.
    pub target: AtomicUsize,
    /// Bots that have left, as the target was lower: each time counts.
    pub left: AtomicU64,
    /// Bots that came into the world, again after each time that they had left it.
    pub connected: AtomicU64,
    /// Bots that could not connect.
    pub failed: AtomicU64,
    /// Attempts to join that bots made again.
    pub joins_repeated: AtomicU64,
    /// Bots that were in the world and lost their connection.
    pub lost: AtomicU64,
    /// How often bots lost their connection, came back and played on.
    pub came_back: AtomicU64,
    /// Bots whose last commands are processed, at rest.
    pub resting: AtomicU64,
    /// Packets that the system did not take.
    pub send_errors: AtomicU64,
    /// Packets that arrived when a socket's buffer was full.
    pub socket_drops: AtomicU64,
    pub commands_sent: AtomicU64,
    /// Commands without effect, by why they had none.
    refused: Mutex<BTreeMap<String, u64>>,
    pub updates_delivered: AtomicU64,
    pub payload_bytes: AtomicU64,
    pub notices: AtomicU64,
    /// Ticks in which notices may have been left out, summed over bots.
    pub full: AtomicU64,
    /// Others in view, summed over bots with views and their turns.
    pub visible_sum: AtomicU64,
    /// How many views were summed.
    pub views_seen: AtomicU64,
    latency_us: Mutex<Histogram<u64>>,
    /// The latencies since somebody asked for them last.
    recent_us: Mutex<Histogram<u64>>,
    /// How late the swarm's threads look for packets.
    lateness_us: Mutex<Histogram<u64>>,
    /// Set by the first bot that is welcomed, as is `schema`.
    pub history: OnceLock<History>,
    pub schema: OnceLock<Schema>,
    /// The script of all bots, or what is wrong with it.
    pub play: OnceLock<Result<Arc<Play>, String>>,
    views: Mutex<Vec<FinalView>>,
    /// Bots that have nothing more to say.
    done: AtomicU64,
    complaints: Mutex<Vec<String>>,
}

/// A thread's counts and times. It hands that in now and then, as threads that write to
/// the same place wait for each other.
#[derive(Debug, Default)]
pub struct Tally {
    pub commands_sent: u64,
    /// Commands without effect, by why they had none.
    pub refused: BTreeMap<String, u64>,
    pub visible_sum: u64,
    pub views_seen: u64,
    pub latencies_us: Vec<u64>,
    /// How late the thread looked for packets.
    pub lateness_us: Vec<u64>,
}

impl SwarmState {
    pub fn new(target: usize) -> SwarmState {
        let histogram =
            || Histogram::new_with_bounds(1, 60_000_000, 3).expect("constant bounds are valid");
        SwarmState {
            phase: AtomicU8::new(Phase::Connect as u8),
            target: AtomicUsize::new(target),
            left: AtomicU64::new(0),
            connected: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            joins_repeated: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            came_back: AtomicU64::new(0),
            resting: AtomicU64::new(0),
            send_errors: AtomicU64::new(0),
            socket_drops: AtomicU64::new(0),
            commands_sent: AtomicU64::new(0),
            refused: Mutex::default(),
            updates_delivered: AtomicU64::new(0),
            payload_bytes: AtomicU64::new(0),
            notices: AtomicU64::new(0),
            full: AtomicU64::new(0),
            visible_sum: AtomicU64::new(0),
            views_seen: AtomicU64::new(0),
            latency_us: Mutex::new(histogram()),
            recent_us: Mutex::new(histogram()),
            lateness_us: Mutex::new(histogram()),
            history: OnceLock::new(),
            schema: OnceLock::new(),
            play: OnceLock::new(),
            views: Mutex::new(vec![]),
            done: AtomicU64::new(0),
            complaints: Mutex::new(vec![]),
        }
    }

    pub fn phase(&self) -> Phase {
        match self.phase.load(Relaxed) {
            0 => Phase::Connect,
            1 => Phase::Play,
            2 => Phase::Rest,
            3 => Phase::Compare,
            _ => Phase::Leave,
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    /// Takes a thread's tally in, which begins again.
    pub fn add_tally(&self, tally: &mut Tally) {
        let add = |sum: &AtomicU64, counted: &mut u64| {
            sum.fetch_add(std::mem::take(counted), Relaxed);
        };
        add(&self.commands_sent, &mut tally.commands_sent);
        add(&self.visible_sum, &mut tally.visible_sum);
        add(&self.views_seen, &mut tally.views_seen);
        if !tally.refused.is_empty() {
            let mut refused = lock(&self.refused);
            for (why, count) in std::mem::take(&mut tally.refused) {
                *refused.entry(why).or_default() += count;
            }
        }
        record(&self.latency_us, &tally.latencies_us);
        record(&self.recent_us, &tally.latencies_us);
        record(&self.lateness_us, &tally.lateness_us);
        tally.latencies_us.clear();
        tally.lateness_us.clear();
    }

    /// Commands without effect, by why they had none.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        lock(&self.refused).clone()
    }

    /// Adds what a bot received while it played.
    pub fn add_counts(&self, play: &ViewCounts) {
        self.updates_delivered.fetch_add(play.updates(), Relaxed);
        self.payload_bytes.fetch_add(play.payload_bytes(), Relaxed);
        self.notices.fetch_add(play.notices, Relaxed);
        self.full.fetch_add(play.full, Relaxed);
    }

    /// Median, 99th and 99.9th percentile, in milliseconds.
    pub fn latency_ms(&self) -> [f64; 3] {
        let histogram = lock(&self.latency_us);
        [0.5, 0.99, 0.999].map(|quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0)
    }

    /// Median and 99th percentile of the latencies since the last call, in milliseconds.
    pub fn take_recent_latency_ms(&self) -> [f64; 2] {
        let mut histogram = lock(&self.recent_us);
        let found = [0.5, 0.99].map(|q| histogram.value_at_quantile(q) as f64 / 1000.0);
        histogram.reset();
        found
    }

    /// All latencies, and how late threads looked for packets, in microseconds.
    pub fn spreads(&self) -> [Spread; 2] {
        [&self.latency_us, &self.lateness_us].map(|histogram| Spread::of(&lock(histogram)))
    }

    /// A bot could not connect.
    pub fn fail(&self, reason: String) {
        self.failed.fetch_add(1, Relaxed);
        self.complain(reason);
    }

    /// Keeps the first few complaints, each once.
    pub fn complain(&self, complaint: String) {
        let mut complaints = lock(&self.complaints);
        if complaints.len() < COMPLAINTS_MAX && !complaints.contains(&complaint) {
            complaints.push(complaint);
        }
    }

    pub fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).clone()
    }

    /// Takes a bot's final view, if it was to be verified.
    pub fn hand_in(&self, view: Option<FinalView>) {
        lock(&self.views).extend(view);
        self.done.fetch_add(1, Relaxed);
    }

    pub fn views(&self) -> MutexGuard<'_, Vec<FinalView>> {
        lock(&self.views)
    }

    /// Bots that are in the world.
    pub fn present(&self) -> u64 {
        let gone = self.lost.load(Relaxed) + self.left.load(Relaxed);
        self.connected.load(Relaxed).saturating_sub(gone)
    }

    /// Whether the server has processed the last commands of all bots that are still there.
    pub fn is_at_rest(&self) -> bool {
        self.resting.load(Relaxed) >= self.present()
    }

    /// Whether every bot that is still there has nothing more to say.
    pub fn is_done(&self) -> bool {
        self.done.load(Relaxed) >= self.present()
    }
}

fn record(histogram: &Mutex<Histogram<u64>>, all: &[u64]) {
    let mut histogram = lock(histogram);
    for &us in all {
        histogram.saturating_record(us.max(1));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const COMPLAINTS_MAX: usize = 10;
