//! Figures of a running server, for people.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

use super::counts::Ages;
use super::steps::{Step, StepTimes};

/// The work of a server since [`Stats::restart`].
#[derive(Clone, Debug)]
pub struct Figures {
    pub clients: u64,
    pub ticks: u64,
    /// Ticks whose fan-out ended more than a period after their scheduled start.
    pub ticks_late: u64,
    /// Scheduled ticks that were left out because one was late.
    pub ticks_skipped: u64,
    pub commands_applied: u64,
    pub deliveries: u64,
    pub notices: u64,
    pub sessions_lost: u64,
    pub malformed: u64,
    pub commands_over_quota: u64,
    /// Clients that were not sent a tick for want of time, summed over ticks.
    pub deferred: u64,
    /// Clients that were not sent a tick as nothing was received from them, summed over ticks.
    pub out_of_touch: u64,
    /// Entities whose movement was deferred for a client, summed over ticks.
    pub movement_deferred: u64,
    pub socket_drops: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
    pub packet_bytes_sent: u64,
    pub packet_bytes_received: u64,
    /// Clients in the world, summed over ticks.
    pub client_ticks: u64,
    /// The age of the acknowledged state of clients, in microseconds.
    age_us: Histogram<u64>,
    /// Runs that used up their budget, by the command's name.
    pub over_budget: BTreeMap<String, u64>,
    /// Work of the tick thread, in microseconds.
    engine_us: Histogram<u64>,
    /// The same without the backend's tick.
    host_us: Histogram<u64>,
    /// By step, in microseconds.
    steps_us: [Histogram<u64>; Step::ALL.len()],
    /// From gathering commands to the last datagram, in microseconds.
    tick_us: Histogram<u64>,
}

/// The figures of one tick.
#[derive(Clone, Copy, Debug)]
pub struct TickFigures {
    pub clients: u64,
    /// How much more than a period after its scheduled start its fan-out ended.
    pub late_by: Duration,
    pub skipped: u64,
    pub steps: StepTimes,
    pub tick: Duration,
    pub commands_applied: u64,
    pub deliveries: u64,
    pub notices: u64,
    pub sessions_lost: u64,
    pub malformed: u64,
    pub commands_over_quota: u64,
    /// Clients by the age of their acknowledged state.
    pub ages: Ages,
    pub deferred: u64,
    pub out_of_touch: u64,
    /// Entities whose movement was deferred for a client, summed over ticks.
    pub movement_deferred: u64,
    pub socket_drops: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
    pub packet_bytes_sent: u64,
    pub packet_bytes_received: u64,
    /// From one scheduled tick to the next.
    pub period: Duration,
}

/// Figures that the tick thread writes and other threads read.
pub struct Stats(Mutex<Figures>);

impl Figures {
    fn new() -> Figures {
        // A minute is more than any tick; three digits are enough for people.
        let histogram =
            || Histogram::new_with_bounds(1, 60_000_000, 3).expect("constant bounds are valid");
        Figures {
            clients: 0,
            ticks: 0,
            ticks_late: 0,
            ticks_skipped: 0,
            commands_applied: 0,
            deliveries: 0,
            notices: 0,
            sessions_lost: 0,
            malformed: 0,
            commands_over_quota: 0,
            deferred: 0,
            out_of_touch: 0,
            movement_deferred: 0,
            socket_drops: 0,
            packets_sent: 0,
            packets_received: 0,
            packet_bytes_sent: 0,
            packet_bytes_received: 0,
            client_ticks: 0,
            age_us: histogram(),
            over_budget: BTreeMap::new(),
            engine_us: histogram(),
            host_us: histogram(),
            steps_us: std::array::from_fn(|_| histogram()),
            tick_us: histogram(),
        }
    }

    /// A quantile of the age of the acknowledged state of clients, in milliseconds.
    pub fn age_ms(&self, quantile: f64) -> f64 {
        self.age_us.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// A quantile of the tick thread's work, in milliseconds.
    pub fn engine_ms(&self, quantile: f64) -> f64 {
        self.engine_us.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// A quantile of the tick thread's work without the backend's tick, in milliseconds.
    pub fn host_ms(&self, quantile: f64) -> f64 {
        self.host_us.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// A quantile of one step of the tick thread, in milliseconds.
    pub fn step_ms(&self, step: Step, quantile: f64) -> f64 {
        self.steps_us[step as usize].value_at_quantile(quantile) as f64 / 1000.0
    }

    /// A quantile of whole ticks, in milliseconds.
    pub fn tick_ms(&self, quantile: f64) -> f64 {
        self.tick_us.value_at_quantile(quantile) as f64 / 1000.0
    }
}

impl Stats {
    pub fn new() -> Stats {
        Stats(Mutex::new(Figures::new()))
    }

    /// Starts counting at 0 again.
    pub fn restart(&self) {
        let mut figures = self.lock();
        let clients = figures.clients;
        *figures = Figures {
            clients,
            ..Figures::new()
        };
    }

    pub fn figures(&self) -> Figures {
        self.lock().clone()
    }

    pub fn add(&self, tick: &TickFigures) {
        let mut figures = self.lock();
        figures.clients = tick.clients;
        figures.ticks += 1;
        figures.ticks_late += u64::from(!tick.late_by.is_zero());
        figures.ticks_skipped += tick.skipped;
        figures.commands_applied += tick.commands_applied;
        figures.deliveries += tick.deliveries;
        figures.notices += tick.notices;
        figures.sessions_lost += tick.sessions_lost;
        figures.malformed += tick.malformed;
        figures.commands_over_quota += tick.commands_over_quota;
        figures.deferred += tick.deferred;
        figures.out_of_touch += tick.out_of_touch;
        figures.movement_deferred += tick.movement_deferred;
        figures.socket_drops += tick.socket_drops;
        figures.packets_sent += tick.packets_sent;
        figures.packets_received += tick.packets_received;
        figures.packet_bytes_sent += tick.packet_bytes_sent;
        figures.packet_bytes_received += tick.packet_bytes_received;
        let us = |time: Duration| time.as_micros() as u64;
        for (ticks, clients) in tick.ages.iter() {
            figures.client_ticks += u64::from(clients);
            let age = us(tick.period * ticks + tick.late_by).max(1);
            figures.age_us.saturating_record_n(age, u64::from(clients));
        }
        let engine = us(tick.steps.total());
        figures.engine_us.saturating_record(engine.max(1));
        let host = us(tick.steps.host());
        figures.host_us.saturating_record(host.max(1));
        for (step, times) in Step::ALL.into_iter().zip(&mut figures.steps_us) {
            times.saturating_record(us(tick.steps.of(step)).max(1));
        }
        figures.tick_us.saturating_record(us(tick.tick).max(1));
    }

    /// Counts runs of a command that used up their budget.
    pub fn add_over_budget(&self, command: &str, runs: u64) {
        let mut figures = self.lock();
        *figures.over_budget.entry(command.to_owned()).or_default() += runs;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts by name, for people.
pub fn counts_text(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter().map(|(name, count)| format!("{count} {name}"));
    counts.collect::<Vec<_>>().join(", ")
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new()
    }
}
