use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use engines::events::{EventSet, HeapSet, Model, Parallel, Progress, Sequential};
use program::note;

use super::calendar::CalendarQueue;
use super::options::{BackendName, Options};
use crate::report::Row;

/// A model with the parameters of its rows.
pub struct Scenario {
    pub params: BTreeMap<String, serde_json::Value>,
    /// The end of a run on a CPU, in ticks.
    pub until: u32,
}

impl Scenario {
    /// For a model with `rate` events a unit.
    pub fn new(part: &str, options: &Options, rate: f64) -> Scenario {
        let units = f64::from(WARM_UP) + options.events as f64 / rate;
        Scenario {
            params: BTreeMap::from([
                ("part".to_owned(), part.into()),
                ("seed".to_owned(), options.run.seed().into()),
            ]),
            // Not whole units: in a large network a unit has many events.
            until: (units.min(f64::from(UNITS_MAX)) * f64::from(UNIT)) as u32,
        }
    }

    pub fn param(&mut self, name: &str, value: impl Into<serde_json::Value>) -> &mut Scenario {
        self.params.insert(name.to_owned(), value.into());
        self
    }

    pub fn row(&self, backend: BackendName, approach: &str, threads: usize, run: &Run) -> Row {
        let mut row = Row::new(super::NAME, backend.name(), approach, [run.time]);
        row.params.clone_from(&self.params);
        row.put("threads", threads);
        row.put("windows", run.progress.windows);
        row.work = run.progress.events;
        row.checksum = checksum(run.hash);
        row
    }

    /// The expected checksum of the state at `until`.
    pub fn checksum<M: Model>(
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

    /// Rows of the backends on CPUs. Fails if they end in different states.
    pub fn run_on_cpu<M: Model>(&self, model: &M, options: &Options) -> anyhow::Result<Vec<Row>> {
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
                    "{:?}: {} ended in {}, {} in {}",
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

/// A timed run.
pub struct Run {
    pub time: Duration,
    pub progress: Progress,
    pub hash: u64,
}

pub fn checksum(hash: u64) -> String {
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

/// Writes a line of progress.
pub fn say(row: &Row) {
    let params: Vec<String> = row.params.iter().map(|(k, v)| format!("{k} {v}")).collect();
    note!(
        "{}: {}, {}: {} events in {:.1} ms, {:.2} million a second",
        params.join(", "),
        row.backend,
        row.approach,
        row.work,
        row.total_ms,
        row.work as f64 / row.total_ms / 1e3
    );
}

/// Ticks in a time unit.
pub const UNIT: u32 = 1 << 16;
/// The paper's mean service in units.
pub const SERVICE: u32 = 10;
/// Units until the initial state has no influence.
pub const WARM_UP: u32 = 2 * SERVICE;
/// Time ends at 65,536 units.
const UNITS_MAX: u32 = 65_000;
