//! Many bots on a few threads, each thread with its own sockets.

mod bot;
mod crew;
mod latency;
mod lateness;
mod options;
mod state;
mod thread;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::connect::ClientError;
use crate::report::SwarmReport;
use crate::verify::{check_at_rest, check_notices};
pub use options::SwarmOptions;
use state::{Phase, SwarmState};

/// A running swarm.
pub struct Swarm {
    state: Arc<SwarmState>,
    threads: Vec<JoinHandle<Result<(), ClientError>>>,
    options: SwarmOptions,
    playing_since: Option<Instant>,
    played: Duration,
}

/// A swarm's figures so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    pub connected: u64,
    /// Bots that were in the world and lost their connection.
    pub lost: u64,
    /// How often bots lost their connection, came back as the same entity, or as another one
    /// where that was gone, and had a command processed.
    pub came_back: u64,
    pub commands_sent: u64,
    pub updates_delivered: u64,
    pub latency_ms_p50: f64,
    pub latency_ms_p99: f64,
}

impl Swarm {
    /// Starts the threads; bots begin to connect.
    pub fn start(options: SwarmOptions) -> std::io::Result<Swarm> {
        let wrong = |what| std::io::Error::new(std::io::ErrorKind::InvalidInput, what);
        options.check().map_err(wrong)?;
        quic::socket::make_room(options.sockets);
        let state = Arc::new(SwarmState::new());
        let threads = (0..options.threads.max(1))
            .map(|thread| thread::spawn(thread, options.clone(), state.clone()))
            .collect::<Result<_, _>>()?;
        Ok(Swarm {
            state,
            threads,
            options,
            playing_since: None,
            played: Duration::ZERO,
        })
    }

    pub fn progress(&self) -> Progress {
        let state = &self.state;
        let [latency_ms_p50, latency_ms_p99, _] = state.latency_ms();
        Progress {
            connected: state.connected.load(Relaxed),
            lost: state.lost.load(Relaxed),
            came_back: state.came_back.load(Relaxed),
            commands_sent: state.commands_sent.load(Relaxed),
            updates_delivered: state.updates_delivered.load(Relaxed),
            latency_ms_p50,
            latency_ms_p99,
        }
    }

    /// The error of the bots' script, as far as that is known.
    pub fn script_problems(&self) -> Option<String> {
        let problems = self.state.play.get()?.as_ref().err()?;
        Some(problems.clone())
    }

    /// Whether every bot is connected or has failed to connect.
    pub fn is_settled(&self) -> bool {
        let settled = self.state.connected.load(Relaxed) + self.state.failed.load(Relaxed);
        settled >= self.options.clients as u64 || self.threads.iter().all(|t| t.is_finished())
    }

    /// Lets the bots play. The report covers the time from here to [`Swarm::rest`].
    pub fn play(&mut self) {
        self.playing_since = Some(Instant::now());
        self.state.set_phase(Phase::Play);
    }

    /// Lets the bots send no more commands, so that the world comes to rest.
    pub fn rest(&mut self) {
        self.played = self.playing_since.map_or(Duration::ZERO, |t| t.elapsed());
        self.state.set_phase(Phase::Rest);
    }

    /// Collects and compares what the bots know, ends their connections, and reports.
    pub fn finish(mut self) -> Result<SwarmReport, ClientError> {
        self.wait_for_rest();
        self.state.set_phase(Phase::Compare);
        let began = Instant::now();
        while !self.state.is_done() && began.elapsed() < VIEWS_WAIT {
            std::thread::sleep(POLL);
        }
        self.state.set_phase(Phase::Leave);
        self.join()?;
        let mut report = self.figures();
        if self.options.verify {
            self.verify(&mut report);
        }
        Ok(report)
    }

    /// Waits until the server has processed all commands. If that takes longer than the
    /// caller has waited, what they did still has to reach all bots.
    fn wait_for_rest(&self) {
        let is_asked = self.options.verify && self.state.phase() == Phase::Rest;
        if !is_asked || self.state.is_at_rest() {
            return;
        }
        let began = Instant::now();
        while !self.state.is_at_rest() && began.elapsed() < VIEWS_WAIT {
            std::thread::sleep(POLL);
        }
        std::thread::sleep(REST);
    }

    /// Waits for all threads, and gives the first error.
    fn join(&mut self) -> Result<(), ClientError> {
        let mut result = Ok(());
        for thread in self.threads.drain(..) {
            let joined = thread.join().unwrap_or_else(|_| {
                let reason = "a thread of bots has panicked".to_owned();
                Err(ClientError::ended(reason))
            });
            result = result.and(joined);
        }
        result
    }

    fn figures(&self) -> SwarmReport {
        let state = &self.state;
        let tick_hz = state.schema.get().map_or(0, |s| s.world.tick_hz);
        let [latency_ms_p50, latency_ms_p99, latency_ms_p999] = state.latency_ms();
        let connected = state.connected.load(Relaxed);
        let updates = state.updates_delivered.load(Relaxed);
        let bytes = state.payload_bytes.load(Relaxed) as f64;
        let seconds = self.played.as_secs_f64();
        let views = state.views_seen.load(Relaxed).max(1);
        let visible_mean = state.visible_sum.load(Relaxed) as f64 / views as f64;
        let per_client = bytes / (connected.max(1) as f64 * seconds.max(1e-9));
        SwarmReport {
            behaviour: self.options.behaviour_name().to_owned(),
            clients: self.options.clients as u64,
            clients_connected: connected,
            joins_repeated: state.joins_repeated.load(Relaxed),
            seconds,
            commands_sent: state.commands_sent.load(Relaxed),
            updates_delivered: updates,
            notices: state.notices.load(Relaxed),
            notices_full: state.full.load(Relaxed),
            visible_mean,
            latency_ms_p50,
            latency_ms_p99,
            latency_ms_p999,
            bots_late_ms_p99: state.lateness_ms(),
            bots_socket_drops: state.socket_drops.load(Relaxed),
            bots_send_errors: state.send_errors.load(Relaxed),
            bytes_per_client_per_second: per_client,
            bytes_per_update: bytes / updates.max(1) as f64,
            // A client's own entity is in view too, and updated like the others.
            bytes_per_visible_per_tick: per_client / (f64::from(tick_hz) * (visible_mean + 1.0)),
            is_verified: self.options.verify,
            verify_checked: 0,
            verify_errors: 0,
            verify_late: 0,
            verify_open: 0,
            sessions_lost: state.lost.load(Relaxed),
            examples: state.complaints(),
        }
    }

    /// Makes the comparisons that take all bots, and adds up the results.
    fn verify(&self, report: &mut SwarmReport) {
        let (Some(history), Some(schema)) = (self.state.history.get(), self.state.schema.get())
        else {
            return;
        };
        let views = self.state.views();
        check_at_rest(history, schema, &views);
        check_notices(history, schema, &views);
        if self.options.play.is_none() && self.options.behaviour.makes_requests() {
            history.check_granted();
        }
        report.verify_checked = history.findings.checked.load(Relaxed);
        report.verify_errors = history.findings.errors.load(Relaxed);
        report.verify_late = history.findings.late.load(Relaxed);
        report.verify_open = history.findings.open.load(Relaxed);
        report.examples.extend(history.findings.examples());
    }
}

const POLL: Duration = Duration::from_millis(20);
/// Only entities that have not moved for a second are compared.
const REST: Duration = Duration::from_millis(1200);
/// How long bots may take to come to rest, and to hand in their views.
const VIEWS_WAIT: Duration = Duration::from_secs(20);
