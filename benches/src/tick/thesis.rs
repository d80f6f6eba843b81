//! Chapter 4 of the thesis: a square map, clients spread evenly, one `move` of
//! every client each tick, and everyone in the neighbouring buckets is told.

mod baseline;
mod engine;
mod figures;
mod options;
mod published;
mod results;
mod scenario;
mod tables;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_kernels::Frame;
use shared::mix::mix;

pub use crate::report::Sample;
use crate::report::{Report, Row};
pub use baseline::Baseline;
pub use engine::Engine;
pub use options::{BackendName, ClientCounts, Options, OutputName};
pub use scenario::{Actor, Moves, Scenario};

/// One way of running ticks.
pub trait Subject {
    /// Runs one tick: only what happens in here counts.
    fn tick(&mut self, frame: &Frame) -> anyhow::Result<Sample>;

    /// Calls `visit` with each (observer, entity) that the last tick delivered.
    fn deliveries(&self, visit: &mut dyn FnMut(u32, u32));
}

/// What a tick delivered, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    pub deliveries: u64,
    pub sum: u64,
}

impl Checksum {
    pub fn of(subject: &dyn Subject) -> Checksum {
        let mut checksum = Checksum::default();
        subject.deliveries(&mut |observer, entity| {
            checksum.deliveries += 1;
            let pair = mix(u64::from(observer), u64::from(entity));
            checksum.sum = checksum.sum.wrapping_add(pair);
        });
        checksum
    }
}

/// Measures every scenario, writes the tables to `out` and returns the report.
/// Fails where two backends don't deliver the same.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for &map in &options.maps {
        for &aoi in &options.aois {
            for &clients in &options.clients.0 {
                let seed = options.run.seed;
                let scenario = Scenario {
                    map,
                    aoi,
                    clients,
                    seed,
                };
                let rows = measure(&scenario, options)
                    .with_context(|| format!("map {map}, AOI {aoi}, {clients} clients"))?;
                report.rows.extend(rows);
            }
        }
    }
    options.run.keep(&report)?;
    show(&report, options.plots.as_deref(), out)?;
    Ok(report)
}

/// Writes the tables of a report to `out`, and its figures into a folder, with links
/// below the tables.
pub fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    tables::write(report, out)?;
    plots.map_or(Ok(()), |folder| figures::write(report, folder, out))
}

/// A row for each backend.
fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = vec![];
    let mut first: Option<(String, Checksum)> = None;
    // The last tick that all of them run.
    let common = options.runs.min(options.baseline_runs);
    for (backend, output) in options.subjects() {
        let (engine, mut moves) =
            Engine::populated(scenario, backend, output, options.run.threads())?;
        let mut subject: Box<dyn Subject> = match backend {
            BackendName::Baseline => Box::new(Baseline::new(scenario, moves.positions())?),
            BackendName::Cpu | BackendName::Cuda => Box::new(engine),
        };
        let (samples, checksum) = sample(subject.as_mut(), &mut moves, common, |done, spent| {
            done < common
                || done < options.runs
                    && (backend != BackendName::Baseline || spent < BASELINE_ENOUGH)
        })?;
        let name = format!("{} {}", backend.name(), output.name());
        let (reference, expected) = first.get_or_insert_with(|| (name.clone(), checksum));
        ensure!(
            checksum == *expected,
            "{name} delivered {checksum:x?} where {reference} delivered {expected:x?}",
        );
        let row = row(scenario, options, (backend, output), &samples, checksum);
        eprintln!(
            "map {}, AOI {}, {} clients, {name}: {:.3} ms",
            scenario.map, scenario.aoi, scenario.clients, row.total_ms
        );
        rows.push(row);
    }
    Ok(rows)
}

/// Runs ticks while `more` (given how many are done and how long they took) asks
/// for them, and checks what the `checked`-th delivered.
fn sample(
    subject: &mut dyn Subject,
    moves: &mut Moves,
    checked: usize,
    more: impl Fn(usize, Duration) -> bool,
) -> anyhow::Result<(Vec<Sample>, Checksum)> {
    for _ in 0..WARM_UP_TICKS {
        subject.tick(moves.next_frame())?;
    }
    let begin = Instant::now();
    let mut samples = vec![];
    let mut checksum = Checksum::default();
    while more(samples.len(), begin.elapsed()) {
        samples.push(subject.tick(moves.next_frame())?);
        if samples.len() == checked {
            checksum = Checksum::of(subject);
        }
    }
    Ok((samples, checksum))
}

fn row(
    scenario: &Scenario,
    options: &Options,
    (backend, output): (BackendName, OutputName),
    samples: &[Sample],
    checksum: Checksum,
) -> Row {
    let (approach, threads) = match backend {
        BackendName::Baseline => ("grid of linked lists, as in the thesis", 1),
        BackendName::Cpu => ("sorted buckets", options.run.threads()),
        BackendName::Cuda => ("sorted buckets", 1),
    };
    let mut row = Row::of(NAME, backend.name(), approach, samples);
    row.put("map", scenario.map);
    row.put("aoi", scenario.aoi);
    row.put("clients", scenario.clients);
    row.put("deliveries", checksum.deliveries);
    row.put("threads", threads);
    row.put("output", output.name());
    row.work = checksum.deliveries;
    row.checksum = format!("{:016x}", checksum.sum);
    row
}

/// What rows of this bench are called.
pub const NAME: &str = "thesis";
/// Both of the engine's output buffers have been written, and caches are warm.
const WARM_UP_TICKS: usize = 4;
/// The baseline runs more often than it must only while that is quick.
const BASELINE_ENOUGH: Duration = Duration::from_secs(2);
