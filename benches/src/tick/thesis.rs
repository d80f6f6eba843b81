//! Chapter 4 of the thesis: a square map, clients spread evenly, one `move` of
//! every client each tick, and its delivery to all clients in the neighbouring buckets.

mod baseline;
mod engine;
mod figures;
mod options;
mod published;
mod results;
mod scenario;
mod subject;
mod tables;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use program::note;

use super::moves::Moves;
use crate::bench::Bench;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report, Row, Sample};
pub use baseline::Baseline;
pub use engine::Engine;
pub use options::{BackendName, Options, OutputName};
pub use scenario::Scenario;
pub use subject::{Checksum, Subject};

/// The scenarios of the thesis's chapter 4. Fails where two backends do not deliver
/// the same.
pub struct Thesis;

impl Bench for Thesis {
    const NAME: &'static str = NAME;
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &map in &options.maps {
            for &aoi in &options.aois {
                for &clients in &options.clients.0 {
                    let scenario = Scenario {
                        map,
                        aoi,
                        clients,
                        seed: options.run.seed(),
                    };
                    let rows = measure(&scenario, options)
                        .with_context(|| format!("map {map}, AOI {aoi}, {clients} clients"))?;
                    recorder.add(rows)?;
                }
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(tables::write(report, out)?)
    }

    fn charts(report: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
        Ok(figures::charts(report))
    }
}

/// A row for each backend.
fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = vec![];
    let mut first: Option<(String, Checksum)> = None;
    // The last tick that all backends run.
    let common = options.runs.min(options.baseline_runs);
    for (backend, output) in options.subjects() {
        let (threads, gpus) = (options.run.threads(), options.gpus.gpus);
        let (engine, mut moves) = Engine::populated(scenario, backend, output, threads, gpus)?;
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
        note!(
            "map {}, AOI {}, {} clients, {name}: {:.3} ms",
            scenario.map,
            scenario.aoi,
            scenario.clients,
            row.total_ms
        );
        rows.push(row);
    }
    Ok(rows)
}

/// Runs ticks while `more` (number of timed ticks, time since the first) is true, and
/// returns their times and the checksum of the `checked`-th.
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
    if backend == BackendName::Cuda && options.gpus.gpus > 1 {
        row.put("gpus", options.gpus.gpus);
    }
    row.put("output", output.name());
    row.work = checksum.deliveries;
    row.checksum = format!("{:016x}", checksum.sum);
    row
}

const NAME: &str = "thesis";
/// After these the engine has written both of its output buffers, and caches are warm.
const WARM_UP_TICKS: usize = 4;
/// Beyond this time the baseline runs no more ticks than it must.
const BASELINE_ENOUGH: Duration = Duration::from_secs(2);
