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
use crate::report::{Figures, SwarmReport};
use crate::verify::{
    check_at_rest, check_bags, check_members, check_notices, check_possessions, check_texts,
};
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
    /// Bots that are in the world.
    pub present: u64,
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
        let state = Arc::new(SwarmState::new(options.target));
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
            present: state.present(),
            lost: state.lost.load(Relaxed),
            came_back: state.came_back.load(Relaxed),
            commands_sent: state.commands_sent.load(Relaxed),
            updates_delivered: state.updates_delivered.load(Relaxed),
            latency_ms_p50,
            latency_ms_p99,
        }
    }

    /// Median and 99th percentile of the latencies since the last call, in milliseconds.
    pub fn take_recent_latency_ms(&self) -> [f64; 2] {
        self.state.take_recent_latency_ms()
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

    /// Wants so many bots in the world from now on. Some leave, or join, as fast as the server lets
    /// them: those that leave are as others that come again.
    pub fn set_target(&self, bots: usize) {
        self.state.target.store(bots, Relaxed);
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
    pub fn finish(self) -> Result<SwarmReport, ClientError> {
        self.finish_figures().map(Figures::report)
    }

    /// The same, for figures that are added to those of other machines.
    pub fn finish_figures(mut self) -> Result<Figures, ClientError> {
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

    fn figures(&self) -> Figures {
        let state = &self.state;
        let [latency_us, lateness_us] = state.spreads();
        Figures {
            behaviour: self.options.behaviour_name().to_owned(),
            tick_hz: state.schema.get().map_or(0, |s| s.world.tick_hz),
            clients: self.options.clients as u64,
            connected: state.connected.load(Relaxed),
            failed: state.failed.load(Relaxed),
            left: state.left.load(Relaxed),
            lost: state.lost.load(Relaxed),
            joins_repeated: state.joins_repeated.load(Relaxed),
            seconds: self.played.as_secs_f64(),
            commands_sent: state.commands_sent.load(Relaxed),
            commands_refused: state.refused(),
            updates_delivered: state.updates_delivered.load(Relaxed),
            payload_bytes: state.payload_bytes.load(Relaxed),
            notices: state.notices.load(Relaxed),
            notices_full: state.full.load(Relaxed),
            visible_sum: state.visible_sum.load(Relaxed),
            views_seen: state.views_seen.load(Relaxed),
            latency_us,
            lateness_us,
            socket_drops: state.socket_drops.load(Relaxed),
            send_errors: state.send_errors.load(Relaxed),
            is_verified: self.options.verify,
            examples: state.complaints(),
            ..Figures::default()
        }
    }

    /// Makes the comparisons that take all bots, and adds up the results.
    fn verify(&self, report: &mut Figures) {
        let (Some(history), Some(schema)) = (self.state.history.get(), self.state.schema.get())
        else {
            return;
        };
        let views = self.state.views();
        check_at_rest(history, schema, &views);
        check_notices(history, schema, &views);
        check_bags(history, schema, &views);
        let owned = views.iter();
        let owned = owned.flat_map(|view| view.possessions.iter().map(|own| (*own, view.bot)));
        check_possessions(&history.findings, owned);
        check_texts(&history.findings, &history.texts, &views);
        check_members(history, &views);
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
