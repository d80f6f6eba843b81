//! The tick that the server runs: exact distance, known sets, all clients move, and half
//! of them strike, heal or blast.

mod arena;
mod scenario;
mod table;

use std::io::Write;

use anyhow::Context;
use clap::Args;
use gpu_kernels::Counts;
use program::note;
use shared::world::mix::mix;

use super::backends::{BackendOptions, Candidate};
use super::checks::ensure_same;
use super::clients::ClientCounts;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report, Row, Sample};

pub use arena::{Arena, Delivered};
pub use scenario::{CELLS_MAX, Frames, config, side, walled_with};

/// The server's tick. Fails where two backends disagree on the state or on the
/// deliveries of a tick.
pub struct Fight;

/// The tick that the server runs: a fight of evenly spread clients
///
/// Exact distance, known sets, and enter, update and leave. Clients are as dense as
/// 524,288 of them on a map of 2500 x 2500, where each sees 26 others within 10 units.
/// The bench fails if a backend disagrees with the baseline, the cpu backend on one
/// thread, on the state or the deliveries of any tick that both run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 65536,524288
    #[arg(long, default_value = "4096,65536,524288", value_name = "RANGE|LIST")]
    clients: ClientCounts,
    /// Timed ticks
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// Timed ticks of the baseline; 0: none, and backends are compared with the first one
    #[arg(long, default_value = "5", value_name = "N")]
    baseline_runs: usize,
    /// How many of a hundred clients move in a tick, and maybe strike, heal or blast
    #[arg(
        long,
        default_value = "100",
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    acting: u32,
    /// How many of a hundred blocks of cells are walls, along which every step slides
    #[arg(
        long,
        default_value = "0",
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u32).range(0..=50)
    )]
    walls: u32,
    /// Walls hide what is behind them
    #[arg(long)]
    sight: bool,
    /// Also with the clients of a number in so many planes, each with as many; 0: without
    #[arg(long, default_value = "0", value_name = "N")]
    planes: u32,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Fight {
    const NAME: &'static str = NAME;
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &clients in &options.clients.0 {
            let planes = (options.planes > 0).then_some(options.planes);
            for planes in [None].into_iter().chain(planes.map(Some)) {
                let rows = measure(clients, planes, options);
                recorder.add(rows.with_context(|| format!("{clients} clients"))?)?;
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(table::write(report, out)?)
    }

    fn charts(report: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
        Ok(vec![("fight.svg".to_owned(), table::chart(report))])
    }
}

/// The results of a tick that all backends must agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    /// The state's hash.
    state: u64,
    delivered: Delivered,
    counts: Counts,
}

/// A row for the baseline and one for each backend.
fn measure(clients: u32, planes: Option<u32>, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    let mut expected: Vec<Outcome> = vec![];
    // Rows have the figures of the last tick that all candidates run.
    let is_wanted = |candidate: &Candidate| !candidate.is_baseline() || options.baseline_runs > 0;
    let common = match options.baseline_runs {
        0 => options.runs,
        baseline => options.runs.min(baseline),
    };
    let common = WARM_UP_TICKS + common;
    for candidate in options.backends.candidates().filter(is_wanted) {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs,
            false => options.runs,
        };
        let (samples, outcomes) =
            sample(clients, planes, options, &candidate, WARM_UP_TICKS + runs)?;
        ensure_same(&candidate, &outcomes, &expected)?;
        let samples = &samples[WARM_UP_TICKS..];
        let mut row = row(
            clients,
            options.acting,
            &candidate,
            samples,
            &outcomes[common - 1],
        );
        if options.walls > 0 {
            row.put("walls", options.walls);
        }
        if options.sight {
            row.put("sight", 1);
        }
        if let Some(planes) = planes {
            row.put("planes", planes);
        }
        note!(
            "fight, {clients} clients, {}: {:.3} ms",
            row.backend,
            row.total_ms
        );
        rows.push(row);
        if expected.is_empty() {
            expected = outcomes;
        }
    }
    Ok(rows)
}

/// Time and outcome of each tick of a new arena.
fn sample(
    clients: u32,
    planes: Option<u32>,
    options: &Options,
    candidate: &Candidate,
    ticks: usize,
) -> anyhow::Result<(Vec<Sample>, Vec<Outcome>)> {
    let seed = options.backends.run.seed();
    let world = match planes {
        None if options.sight => scenario::in_sight(clients, seed, options.walls)?,
        None => scenario::walled(clients, seed, options.walls)?,
        Some(planes) => scenario::in_planes(clients, seed, planes)?,
    };
    let mut arena = Arena::of(&world, candidate)?;
    arena.frames.set_acting(options.acting);
    let (mut samples, mut outcomes) = (vec![], vec![]);
    for _ in 0..ticks {
        samples.push(arena.tick()?);
        outcomes.push(Outcome {
            state: arena.output.hash.combined(),
            delivered: Delivered::by(&arena.output),
            counts: arena.output.counts,
        });
    }
    Ok((samples, outcomes))
}

fn row(
    clients: u32,
    acting: u32,
    candidate: &Candidate,
    samples: &[Sample],
    outcome: &Outcome,
) -> Row {
    let Outcome {
        state,
        delivered,
        counts,
    } = outcome;
    let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
    row.put("clients", clients);
    row.put("threads", candidate.threads);
    if candidate.gpus > 1 {
        row.put("gpus", candidate.gpus);
    }
    if acting < 100 {
        row.put("acting", acting);
    }
    row.put("output", "pairs");
    row.put("commands", counts.commands);
    row.put("updates", counts.updates);
    row.put("changes", counts.changes);
    row.put("deliveries", delivered.total());
    row.put("enters", delivered.enters);
    row.put("leaves", delivered.leaves);
    row.work = delivered.total();
    row.checksum = format!("{:016x}", mix(*state, delivered.sum));
    row
}

const NAME: &str = "fight";
/// After these all clients know what they see, and both output buffers are written.
const WARM_UP_TICKS: usize = 4;
