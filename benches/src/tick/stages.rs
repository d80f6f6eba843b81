//! What each stage of a fight costs a command, an update, an entity or a delivery, beside the
//! least that the same machine needs for it.

mod counts;
mod floor;

use std::io::Write;

use anyhow::Context;
use clap::Args;
use gpu_kernels::Stage;
use program::note;

use super::backends::{BackendName, BackendOptions, Candidate};
use super::clients::ClientCounts;
use super::fight::Arena;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};
use counts::Counter;

/// Stage by stage.
pub struct Stages;

/// What each stage costs: nanoseconds a command, an update, an entity, a delivery
///
/// The cpu backend runs the fight on one thread and on several. Floors are loops on one thread
/// that do no more than a stage must: reads and writes of as many rows, pairs, positions and
/// deliveries. Also what a tick allocates on one thread. With --check, the bench fails if that
/// is more than 5 % above the figures that are kept in its source.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 65536,524288
    #[arg(long, default_value = "4096,65536", value_name = "RANGE|LIST")]
    clients: ClientCounts,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// How many of a hundred clients do anything in a tick
    #[arg(
        long,
        default_value = "100",
        value_name = "PERCENT",
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    acting: u32,
    /// Fails if a tick allocates more than it did
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Stages {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let several = options.backends.of(BackendName::Cpu);
        let one = several.on_threads(1);
        for &clients in &options.clients.0 {
            for candidate in [one, several] {
                let row = measure(clients, options, &candidate)
                    .with_context(|| format!("{clients} clients"))?;
                recorder.add(vec![row])?;
                if several.threads == 1 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, "Stage by stage")?;
        writeln!(
            out,
            "Medians of a fight's ticks, in nanoseconds a unit; floors are of one thread. {}\n",
            report.origin()
        )?;
        let header = [
            "clients",
            "threads",
            "stage",
            "unit",
            "units",
            "ms",
            "ns a unit",
            "floor",
        ];
        head(out, &header)?;
        for row in &report.rows {
            for stage in STAGES {
                let name = stage.stage.name();
                let float = |what: &str| row.float(&format!("{name}_{what}"));
                let cells = [
                    row.cell("clients"),
                    row.cell("threads"),
                    name.to_owned(),
                    stage.unit.to_owned(),
                    row.cell(&format!("{name}_units")),
                    number(row.stage(name)),
                    number(float("ns")),
                    number(float("floor_ns")),
                ];
                line(out, &cells)?;
            }
        }
        title(out, "What a tick allocates")?;
        head(
            out,
            &[
                "clients",
                "threads",
                "allocations",
                "bytes",
                "pages touched first",
            ],
        )?;
        for row in &report.rows {
            let names = ["clients", "threads", "allocations", "bytes", "pages"];
            line(out, &names.map(|name| row.cell(name)))?;
        }
        Ok(())
    }
}

/// A stage, and what its time is divided by.
struct Unit {
    stage: Stage,
    unit: &'static str,
}

const STAGES: [Unit; 4] = [
    Unit {
        stage: Stage::Logic,
        unit: "command",
    },
    Unit {
        stage: Stage::Merge,
        unit: "update",
    },
    Unit {
        stage: Stage::Index,
        unit: "entity",
    },
    Unit {
        stage: Stage::Interest,
        unit: "delivery",
    },
];

fn measure(clients: u32, options: &Options, candidate: &Candidate) -> anyhow::Result<Row> {
    let mut arena = Arena::populated(clients, options.backends.run.seed(), candidate)?;
    arena.frames.set_acting(options.acting);
    for _ in 0..WARM_UP_TICKS {
        arena.tick()?;
    }
    let mut samples: Vec<Sample> = Vec::with_capacity(options.runs);
    let mut counter = Counter::default();
    for _ in 0..options.runs {
        samples.push(counter.count(&mut arena)?);
    }
    let mut row = Row::of(NAME, candidate.name, candidate.approach, &samples);
    row.put("clients", clients);
    row.put("threads", candidate.threads);
    row.put("acting", options.acting);
    let counts = arena.output.counts;
    let units = [
        counts.commands,
        counts.updates,
        clients.into(),
        counts.deliveries,
    ];
    for (stage, units) in STAGES.iter().zip(units) {
        let name = stage.stage.name();
        let ms = row.stage(name).unwrap_or(f64::NAN);
        row.put(&format!("{name}_units"), units);
        row.put(&format!("{name}_ns"), ms * 1e6 / units as f64);
        let floor = floor::of(stage.stage, clients, units);
        row.put(
            &format!("{name}_floor_ns"),
            floor.as_secs_f64() * 1e9 / units as f64,
        );
    }
    row.work = counts.deliveries;
    row.checksum = format!("{:016x}", arena.output.hash.combined());
    counter.put(&mut row);
    if options.check && candidate.threads == 1 && options.acting == 100 {
        counter.check(clients)?;
    }
    note!(
        "stages, {clients} clients, {} threads: {:.3} ms",
        candidate.threads,
        row.total_ms
    );
    Ok(row)
}

const NAME: &str = "stages";
/// After these all buffers have been used.
const WARM_UP_TICKS: usize = 6;
