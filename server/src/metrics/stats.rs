//! Figures of a running server, for people.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;

/// What a server has done since [`Stats::restart`].
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
    /// Work of the tick thread, in microseconds.
    engine_us: Histogram<u64>,
    /// From taking in commands to the last datagram, in microseconds.
    tick_us: Histogram<u64>,
}

/// The figures of one tick.
#[derive(Clone, Copy, Debug)]
pub struct TickFigures {
    pub clients: u64,
    pub late: bool,
    pub skipped: u64,
    pub engine: Duration,
    pub tick: Duration,
    pub commands_applied: u64,
    pub deliveries: u64,
    pub notices: u64,
    pub sessions_lost: u64,
    pub malformed: u64,
    pub commands_over_quota: u64,
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
            engine_us: histogram(),
            tick_us: histogram(),
        }
    }

    /// A quantile of the tick thread's work, in milliseconds.
    pub fn engine_ms(&self, quantile: f64) -> f64 {
        self.engine_us.value_at_quantile(quantile) as f64 / 1000.0
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
        figures.ticks_late += u64::from(tick.late);
        figures.ticks_skipped += tick.skipped;
        figures.commands_applied += tick.commands_applied;
        figures.deliveries += tick.deliveries;
        figures.notices += tick.notices;
        figures.sessions_lost += tick.sessions_lost;
        figures.malformed += tick.malformed;
        figures.commands_over_quota += tick.commands_over_quota;
        let us = |time: Duration| time.as_micros() as u64;
        figures.engine_us.saturating_record(us(tick.engine).max(1));
        figures.tick_us.saturating_record(us(tick.tick).max(1));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Stats {
    fn default() -> Stats {
        Stats::new()
    }
}
