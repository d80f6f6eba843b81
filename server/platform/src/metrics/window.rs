//! Sums over the ticks since the last sample, for the dashboard's history.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gpu_kernels::tick::counts::MetricKind;
use gpu_kernels::tick::parts::PARTS_MAX;
use gpu_kernels::{Counts, Stage};
use shared::world::command::COMMANDS_MAX;
use shared::{Tick, WorldConfig};

use super::counts::{FanOutCounts, Refusals};
use super::steps::Step;
use super::telemetry::TickReport;

/// Some ticks, in sums.
#[derive(Clone, Debug)]
pub struct Window {
    pub ticks: u64,
    /// The newest tick.
    pub tick: Tick,
    pub late: u64,
    pub skipped: u64,
    /// Ticks that were not recorded though they should have been.
    pub unrecorded: u64,
    pub subscriptions_lost: u64,
    /// After the newest tick.
    pub clients: u64,
    /// From one scheduled tick to the next.
    pub period: Duration,
    /// By step.
    pub steps: [Duration; Step::ALL.len()],
    /// By stage.
    pub stages: [Duration; Stage::ALL.len()],
    /// By the place in `--gpus`: how long each was busy.
    pub gpus: [Duration; PARTS_MAX],
    pub fan_out_wait: Duration,
    pub lateness_max: Duration,
    /// Each tick from gathering commands to the last datagram, in microseconds; at most
    /// `TICK_TIMES_MAX`.
    pub tick_times_us: Vec<u32>,
    /// By the place in [`Counts::METRICS`]: sums of counters, and the newest of gauges.
    pub counts: [u64; Counts::METRICS.len()],
    pub fan_out: FanOutCounts,
    pub refusals: Refusals,
    /// By number: the commands that clients and operators gave.
    pub given: [u64; COMMANDS_MAX],
    /// By number: the runs that used up their budget.
    pub over_budget: [u64; COMMANDS_MAX],
    /// By number: the runs that met an index or a key that is not there.
    pub out_of_range: [u64; COMMANDS_MAX],
    /// The world as it is now, if its scripts have changed.
    pub world: Option<Arc<WorldConfig>>,
}

impl Window {
    /// No ticks.
    pub fn new() -> Window {
        Window {
            ticks: 0,
            tick: Tick(0),
            late: 0,
            skipped: 0,
            unrecorded: 0,
            subscriptions_lost: 0,
            clients: 0,
            period: Duration::ZERO,
            steps: [Duration::ZERO; Step::ALL.len()],
            stages: [Duration::ZERO; Stage::ALL.len()],
            gpus: [Duration::ZERO; PARTS_MAX],
            fan_out_wait: Duration::ZERO,
            lateness_max: Duration::ZERO,
            // The tick thread need not allocate.
            tick_times_us: Vec::with_capacity(TICK_TIMES_MAX),
            counts: [0; Counts::METRICS.len()],
            fan_out: FanOutCounts::default(),
            refusals: Refusals::default(),
            given: [0; COMMANDS_MAX],
            over_budget: [0; COMMANDS_MAX],
            out_of_range: [0; COMMANDS_MAX],
            world: None,
        }
    }

    /// Adds a tick. `given` are its commands by number.
    pub fn note(&mut self, report: &TickReport<'_>, given: &[u64; COMMANDS_MAX]) {
        let figures = report.figures;
        self.ticks += 1;
        self.tick = report.output.tick;
        self.late += u64::from(!figures.late_by.is_zero());
        self.skipped += figures.skipped;
        self.unrecorded += u64::from(!report.is_recorded);
        self.subscriptions_lost += report.subscriptions_lost;
        self.clients = figures.clients;
        self.period = report.period;
        for (step, sum) in Step::ALL.into_iter().zip(&mut self.steps) {
            *sum += figures.steps.of(step);
        }
        for (stage, sum) in Stage::ALL.into_iter().zip(&mut self.stages) {
            *sum += report.output.stages.of(stage);
        }
        for (time, sum) in report.output.part_times.iter().zip(&mut self.gpus) {
            *sum += *time;
        }
        self.fan_out_wait += report.fan_out_wait;
        self.lateness_max = self.lateness_max.max(report.lateness);
        if self.tick_times_us.len() < TICK_TIMES_MAX {
            let us = u32::try_from(figures.tick.as_micros()).unwrap_or(u32::MAX);
            self.tick_times_us.push(us);
        }
        for (count, sum) in Counts::METRICS.iter().zip(&mut self.counts) {
            let number = (count.value)(&report.output.counts);
            match count.kind {
                MetricKind::Counter => *sum += number,
                MetricKind::Gauge => *sum = number,
            }
        }
        self.fan_out += *report.fan_out;
        self.refusals += *report.refusals;
        for (sum, number) in self.given.iter_mut().zip(given) {
            *sum += number;
        }
        for &(kind, runs) in &report.output.over_budget {
            self.over_budget[usize::from(kind.id())] += runs;
        }
        for &(kind, runs) in &report.output.out_of_range {
            self.out_of_range[usize::from(kind.id())] += runs;
        }
    }
}

impl Default for Window {
    fn default() -> Window {
        Window::new()
    }
}

/// A window that the tick thread fills and another one takes.
#[derive(Clone)]
pub struct SharedWindow(Arc<Mutex<Window>>);

impl SharedWindow {
    pub fn new() -> SharedWindow {
        SharedWindow(Arc::new(Mutex::new(Window::new())))
    }

    pub fn lock(&self) -> MutexGuard<'_, Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the window, and begins a new one.
    pub fn take(&self) -> Window {
        // The tick thread waits for a swap at most.
        let mut window = Window::new();
        std::mem::swap(&mut *self.lock(), &mut window);
        window
    }
}

impl Default for SharedWindow {
    fn default() -> SharedWindow {
        SharedWindow::new()
    }
}

/// More than there are in some seconds.
const TICK_TIMES_MAX: usize = 4096;
