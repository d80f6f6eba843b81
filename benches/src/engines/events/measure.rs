use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_kernels::events::parallel::Windows;
use gpu_kernels::events::{
    ApproximateTorus, EventSet, HeapSet, Model, Parallel, Phold, Progress, Sequential, Torus,
};

use super::{BackendName, CalendarQueue, Options};
use crate::report::Row;

/// Ticks in a time unit.
const UNIT: u32 = 1 << 16;
/// The paper's mean service, in units.
const SERVICE: u32 = 10;
/// Units until the start is forgotten.
const WARM_UP: u32 = 2 * SERVICE;
/// Units until queues are as long as they will be.
const SETTLED: u32 = 1000;
/// Time ends at 65,536 units.
const UNITS_MAX: u32 = 65_000;

/// A timed run.
struct Run {
    time: Duration,
    progress: Progress,
    hash: u64,
}

/// The paper's network on every backend: figures 11 to 13, table 2.
pub fn torus(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for &side in &options.sides {
        for &lookahead in &options.lookaheads {
            let model = network(side, options.run.seed, SERVICE, lookahead)?;
            // Half of the servers are busy.
            let rate = f64::from(side * side) / f64::from(2 * SERVICE);
            let mut scenario = Scenario::new("torus", options, rate);
            scenario.param("side", side).param("lookahead", lookahead);
            let on_cpu = scenario.run_on_cpu(&model, options)?;
            if options.backends.contains(&BackendName::Cuda) {
                let expected = scenario.checksum(&model, options, &on_cpu)?;
                rows.extend(cuda::torus(&scenario, &model, options, &expected)?);
            }
            rows.extend(on_cpu);
        }
    }
    Ok(rows)
}

pub fn phold(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for remote in [100_000, 1_000_000] {
        let n = options.processes;
        let model = Phold::new(n, options.run.seed, SERVICE * UNIT, UNIT, remote)?;
        let rate = f64::from(n) / f64::from(SERVICE);
        let mut scenario = Scenario::new("phold", options, rate);
        scenario
            .param("processes", n)
            .param("remote_percent", remote / 10_000);
        let on_cpu = scenario.run_on_cpu(&model, options)?;
        if options.backends.contains(&BackendName::Cuda) {
            let expected = scenario.checksum(&model, options, &on_cpu)?;
            rows.push(cuda::phold(&scenario, &model, &expected)?);
        }
        rows.extend(on_cpu);
    }
    Ok(rows)
}

/// What the modified service time does to the statistics: figures 14 and 15.
pub fn accuracy(options: &Options) -> anyhow::Result<Vec<Row>> {
    let side = 64;
    let mut rows = vec![];
    for mean in [10, 20] {
        // A tick stands for no lookahead at all.
        for lookahead in std::iter::once(0).chain(options.lookaheads.iter().copied()) {
            let model = network(side, options.run.seed, mean, lookahead)?;
            let rate = f64::from(side * side) / f64::from(2 * mean);
            let units = (options.events as f64 / rate).ceil() as u32;
            let (from, until) = (SETTLED * UNIT, (SETTLED + units).min(50_000) * UNIT);
            let mut run = Sequential::<_, CalendarQueue>::new(&model);
            run.run(from, |_| ());
            let start = run.snapshot();
            let begin = Instant::now();
            let progress = run.run(until, |_| ());
            let time = begin.elapsed();
            let end = run.snapshot();
            let stay = (end.tally.stay - start.tally.stay) as f64
                / (end.tally.arrivals - start.tally.arrivals) as f64;
            let busy = model.busy(until, &end.processes, &end.tally)
                - model.busy(from, &start.processes, &start.tally);
            let all = f64::from(until - from) * f64::from(side * side);
            let mut scenario = Scenario::new("accuracy", options, rate);
            scenario
                .param("side", side)
                .param("lookahead", lookahead)
                .param("mean", mean)
                .param("stay", stay / f64::from(UNIT))
                .param("utilization", busy as f64 / all);
            let hash = end.hash::<Torus>();
            let run = Run {
                time,
                progress,
                hash,
            };
            rows.push(scenario.row(BackendName::Calendar, "calendar queue", 1, &run));
        }
    }
    Ok(rows)
}

/// Approximate time: table 1.
pub fn causality_errors(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for &side in &options.sides {
        for &lookahead in options.lookaheads.iter().filter(|&&d| d <= 500) {
            let model = ApproximateTorus(network(side, options.run.seed, SERVICE, lookahead)?);
            let rate = f64::from(side * side) / f64::from(2 * SERVICE);
            let scenario = &mut Scenario::new("errors", options, rate);
            let begin = Instant::now();
            let mut run = Parallel::with_windows(&model, options.run.threads(), Windows::Slots)?;
            let progress = run.run(scenario.until.min(50_000 * UNIT));
            let time = begin.elapsed();
            let end = run.snapshot();
            scenario.param("side", side).param("lookahead", lookahead);
            scenario.param("errors", end.tally.errors);
            let run = Run {
                time,
                progress,
                hash: end.hash::<ApproximateTorus>(),
            };
            let threads = options.run.threads();
            rows.push(scenario.row(BackendName::Cpu, "slots of time", threads, &run));
        }
    }
    Ok(rows)
}

/// The ways of selection by themselves: figure 10.
pub fn selection(options: &Options) -> anyhow::Result<Vec<Row>> {
    cuda::selection(options)
}

fn network(side: u32, seed: u64, mean: u32, lookahead: u32) -> anyhow::Result<Torus> {
    let ticks = (u64::from(lookahead) * u64::from(UNIT) / 1000).max(1) as u32;
    Ok(Torus::new(side, seed, mean * UNIT, ticks)?)
}

/// One model's rows.
struct Scenario {
    params: BTreeMap<String, serde_json::Value>,
    /// When a run on a CPU ends.
    until: u32,
}

impl Scenario {
    /// For a model with so many events a unit.
    fn new(part: &str, options: &Options, rate: f64) -> Scenario {
        let units = f64::from(WARM_UP) + options.events as f64 / rate;
        Scenario {
            params: BTreeMap::from([
                ("part".to_owned(), part.into()),
                ("seed".to_owned(), options.run.seed.into()),
            ]),
            // In ticks, as on a large network a unit is many events.
            until: (units.min(f64::from(UNITS_MAX)) * f64::from(UNIT)) as u32,
        }
    }

    fn param(&mut self, name: &str, value: impl Into<serde_json::Value>) -> &mut Scenario {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    fn row(&self, backend: BackendName, approach: &str, threads: usize, run: &Run) -> Row {
        let ms = run.time.as_secs_f64() * 1e3;
        let mut params = self.params.clone();
        params.insert("threads".to_owned(), threads.into());
        params.insert("windows".to_owned(), run.progress.windows.into());
        Row {
            scenario: super::NAME.to_owned(),
            params,
            backend: backend.name().to_owned(),
            approach: approach.to_owned(),
            total_ms: ms,
            total_ms_mean: ms,
            total_ms_deviation: 0.0,
            stages_ms: BTreeMap::new(),
            samples: 1,
            work: run.progress.events,
            checksum: checksum(run.hash),
        }
    }

    /// What the state at `until` must be.
    fn checksum<M: Model>(
        &self,
        model: &M,
        options: &Options,
        rows: &[Row],
    ) -> anyhow::Result<String> {
        if let Some(row) = rows.first() {
            return Ok(row.checksum.clone());
        }
        let run = parallel(model, options.run.threads(), self.until)?;
        Ok(checksum(run.hash))
    }

    /// Rows of the backends on CPUs, which must all come to the same state.
    fn run_on_cpu<M: Model>(&self, model: &M, options: &Options) -> anyhow::Result<Vec<Row>> {
        let mut rows: Vec<Row> = vec![];
        for &backend in &options.backends {
            let row = match backend {
                BackendName::Heap => {
                    let run = sequential::<M, HeapSet>(model, self.until);
                    self.row(backend, "binary heap", 1, &run)
                }
                BackendName::Calendar => {
                    let run = sequential::<M, CalendarQueue>(model, self.until);
                    self.row(backend, "calendar queue", 1, &run)
                }
                BackendName::Cpu => {
                    let threads = options.run.threads();
                    self.row(
                        backend,
                        "windows",
                        threads,
                        &parallel(model, threads, self.until)?,
                    )
                }
                BackendName::Cuda => continue,
            };
            if let Some(first) = rows.first() {
                ensure!(
                    row.checksum == first.checksum,
                    "{:?}: {} came to {}, {} to {}",
                    self.params,
                    row.backend,
                    row.checksum,
                    first.backend,
                    first.checksum
                );
            }
            say(&row);
            rows.push(row);
        }
        Ok(rows)
    }
}

fn checksum(hash: u64) -> String {
    format!("{hash:016x}")
}

fn sequential<M: Model, S: EventSet>(model: &M, until: u32) -> Run {
    let mut run = Sequential::<M, S>::new(model);
    run.run(WARM_UP * UNIT, |_| ());
    let begin = Instant::now();
    let progress = run.run(until, |_| ());
    Run {
        time: begin.elapsed(),
        progress,
        hash: run.snapshot().hash::<M>(),
    }
}

fn parallel<M: Model>(model: &M, threads: usize, until: u32) -> anyhow::Result<Run> {
    let mut run = Parallel::new(model, threads)?;
    run.run(WARM_UP * UNIT);
    let begin = Instant::now();
    let progress = run.run(until);
    Ok(Run {
        time: begin.elapsed(),
        progress,
        hash: run.snapshot().hash::<M>(),
    })
}

fn say(row: &Row) {
    let params: Vec<String> = row.params.iter().map(|(k, v)| format!("{k} {v}")).collect();
    eprintln!(
        "{}: {}, {}: {} events in {:.1} ms, {:.2} million a second",
        params.join(", "),
        row.backend,
        row.approach,
        row.work,
        row.total_ms,
        row.work as f64 / row.total_ms / 1e3
    );
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cuda {
    use gpu_kernels::cuda::events::{CudaPhold, CudaTorus, Selection, SelectionTrial};

    use super::*;

    /// The whole run to the given time with the best selection, and with the others
    /// on the largest network. It also comes to the state of a shorter run on CPUs.
    pub fn torus(
        scenario: &Scenario,
        model: &Torus,
        options: &Options,
        expected: &str,
    ) -> anyhow::Result<Vec<Row>> {
        let is_largest = options.sides.iter().all(|&side| side <= model.side);
        let mut rows = vec![];
        for selection in Selection::ALL {
            if selection != Selection::Local && !is_largest {
                continue;
            }
            let mut gpu = CudaTorus::new(model, selection)?;
            gpu.run(scenario.until)?;
            ensure!(
                checksum(gpu.snapshot()?.hash::<Torus>()) == expected,
                "{:?}: the GPU came to another state with {selection:?}",
                scenario.params
            );
            gpu.restart()?;
            let begin = Instant::now();
            let progress = gpu.run(options.until * UNIT)?;
            let time = begin.elapsed();
            let run = Run {
                time,
                progress,
                hash: gpu.snapshot()?.hash::<Torus>(),
            };
            let approach = format!("windows, {} selection", selection.name());
            let mut row = scenario.row(BackendName::Cuda, &approach, 1, &run);
            let names = ["selection", "departures", "arrivals"];
            row.stages_ms = names
                .into_iter()
                .zip(gpu.shares())
                .map(|(name, share)| (name.to_owned(), share * row.total_ms))
                .collect();
            row.params.insert("until".to_owned(), options.until.into());
            row.params
                .insert("selection".to_owned(), selection.name().into());
            say(&row);
            rows.push(row);
        }
        let agree = rows
            .windows(2)
            .all(|pair| pair[0].checksum == pair[1].checksum);
        ensure!(agree, "ways of selection came to different states");
        Ok(rows)
    }

    pub fn phold(scenario: &Scenario, model: &Phold, expected: &str) -> anyhow::Result<Row> {
        let mut gpu = CudaPhold::new(model)?;
        gpu.run(WARM_UP * UNIT)?;
        let begin = Instant::now();
        let progress = gpu.run(scenario.until)?;
        let run = Run {
            time: begin.elapsed(),
            progress,
            hash: gpu.snapshot()?.hash::<Phold>(),
        };
        ensure!(
            checksum(run.hash) == expected,
            "{:?}: the GPU came to another state",
            scenario.params
        );
        let row = scenario.row(BackendName::Cuda, "windows, sorted", 1, &run);
        say(&row);
        Ok(row)
    }

    pub fn selection(options: &Options) -> anyhow::Result<Vec<Row>> {
        let n: u32 = 1 << 24;
        let trial = SelectionTrial::new(n, options.run.seed).context("selection needs a GPU")?;
        let mut rows = vec![];
        for percent in (0..=100).step_by(10) {
            let bound = (u64::from(u32::MAX) * percent / 100) as u32;
            let mut counts = vec![];
            for selection in [Selection::Atomic, Selection::Scan, Selection::Hybrid] {
                let mut times = vec![];
                for _ in 0..20 {
                    let ms = trial.select(selection, bound)?;
                    times.push(Duration::from_secs_f64(f64::from(ms) / 1e3));
                }
                let selected = trial.selected()?;
                counts.push(selected.len());
                let sum = selected.iter().fold(0u64, |sum, &i| {
                    sum.wrapping_add(shared::mix::mix(7, u64::from(i)))
                });
                let summary = crate::report::statistics::Summary::of(times);
                let mut scenario = Scenario::new("selection", options, 1.0);
                scenario
                    .param("numbers", n)
                    .param("selected_percent", percent);
                let run = Run {
                    time: Duration::from_secs_f64(summary.median / 1e3),
                    progress: Progress {
                        events: selected.len() as u64,
                        windows: 0,
                    },
                    hash: sum,
                };
                let mut row = scenario.row(BackendName::Cuda, selection.name(), 1, &run);
                row.total_ms_mean = summary.mean;
                row.total_ms_deviation = summary.deviation;
                row.samples = 20;
                rows.push(row);
            }
            let last = &rows[rows.len() - 3..];
            let agree = last
                .windows(2)
                .all(|pair| pair[0].checksum == pair[1].checksum);
            ensure!(agree, "ways of selection differ: {counts:?}");
        }
        Ok(rows)
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod cuda {
    use super::*;

    pub fn torus(_: &Scenario, _: &Torus, _: &Options, _: &str) -> anyhow::Result<Vec<Row>> {
        anyhow::bail!("the cuda backend needs Linux on x86-64")
    }

    pub fn phold(_: &Scenario, _: &Phold, _: &str) -> anyhow::Result<Row> {
        anyhow::bail!("the cuda backend needs Linux on x86-64")
    }

    pub fn selection(_: &Options) -> anyhow::Result<Vec<Row>> {
        anyhow::bail!("the selection needs Linux on x86-64")
    }
}
