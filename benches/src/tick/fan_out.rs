//! Ticks that overlap the fan-out of the tick before, against ticks that wait for it, and
//! the work of the tick thread step by step: the server's own loop at full rate, with shards
//! that encode for every client and send nothing.

use std::io::{self, Write};
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Args;
use durability::recording::{RecordingWriter, Sink};
use platform::metrics::steps::Step;
use server::offline;
use tick::tick_loop::FanOutMode;

use super::backends::{BackendOptions, Candidate};
use super::clients::ClientCounts;
use super::worlds;
use crate::bench::Bench;
use crate::options::{at_least_one, threads};
use crate::report::markdown::{grouped, head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// The overlap of the fan-out. Fails where the two ways disagree.
pub struct FanOut;

/// The server's loop with fan-outs awaited and overlapped
///
/// All clients move in every tick, each sees about 20 others, and shards encode for each
/// of them what a server would send. The next tick starts as soon as the loop is free:
/// after the fan-out, or during it. All ways must end each tick in the same state and
/// encode the same number of bytes. A second table has the steps of the tick thread.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list
    #[arg(long, default_value = "65536", value_name = "RANGE")]
    pub clients: ClientCounts,
    /// Threads that encode [default: one a core]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub shards: Option<usize>,
    /// Timed ticks of each run
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    pub ticks: usize,
    /// Runs of each way, by turns
    #[arg(long, default_value = "3", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    /// Record all ticks, to nowhere
    #[arg(long)]
    pub record: bool,
    #[command(flatten)]
    pub backends: BackendOptions,
}

impl Bench for FanOut {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &clients in &options.clients.0 {
            for candidate in options.backends.named() {
                let rows = measure(options, clients, &candidate).context(candidate.name)?;
                recorder.add(rows)?;
            }
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        let rows: Vec<&Row> = report.rows.iter().filter(|r| r.scenario == NAME).collect();
        show_ways(report, &rows, out)?;
        // Older reports have no steps.
        match rows.iter().all(|row| row.stages_ms.is_empty()) {
            true => Ok(()),
            false => show_steps(report, &rows, out),
        }
    }
}

/// Writes a row for each backend and number of clients.
fn show_ways(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    title(
        out,
        &format!("Awaited and overlapped fan-outs on {}", report.place()),
    )?;
    head(
        out,
        &[
            "backend",
            "clients",
            "shards",
            "deliveries",
            "engine",
            "awaited, ms",
            "overlapped, ms",
            "ratio",
        ],
    )?;
    let of = |way: Variant| rows.iter().filter(move |row| row.approach == way.name);
    for (awaited, overlapped) in of(AWAITED).zip(of(OVERLAPPED)) {
        let whole = |name: &str| awaited.whole(name).map_or(String::new(), grouped);
        let engine_ms = awaited.params.get("engine_ms");
        line(
            out,
            &[
                awaited.backend.clone(),
                whole("clients"),
                whole("shards"),
                grouped(awaited.work),
                number(engine_ms.and_then(serde_json::Value::as_f64)),
                number(Some(awaited.total_ms)),
                number(Some(overlapped.total_ms)),
                number(Some(awaited.total_ms / overlapped.total_ms)),
            ],
        )?;
    }
    Ok(())
}

/// Writes the work of the tick thread: a row for each way.
fn show_steps(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    let text = format!("Steps of the tick thread in ms on {}", report.place());
    title(out, &text)?;
    let names = Step::ALL.map(Step::name);
    let first = ["backend", "way", "threads", "clients"];
    let last = ["without backend", "p99"];
    head(out, &[&first[..], &names[..], &last[..]].concat())?;
    for row in rows {
        let mut cells = vec![row.backend.clone(), row.approach.clone()];
        cells.extend(["host_threads", "clients"].map(|name| row.cell(name)));
        cells.extend(names.map(|name| number(row.stage(name))));
        cells.extend(["host_ms_p50", "host_ms_p99"].map(|name| number(row.float(name))));
        line(out, &cells)?;
    }
    Ok(())
}

/// A row for each way.
fn measure(options: &Options, clients: u32, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let seed = options.backends.run.seed();
    let world = worlds::about_20_in_view(clients, 0, TICK_HZ, seed)?;
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let shards = options.shards.unwrap_or_else(cores);
    let mut rounds = WAYS.map(|way| (way, way.threads(options), vec![]));
    let mut first: Option<(Vec<u64>, u64)> = None;
    for _ in 0..options.runs {
        for (way, threads, runs) in &mut rounds {
            let run = offline::run(offline::Options {
                world: world.clone(),
                backend: candidate.start(&world)?,
                shards,
                ticks: options.ticks,
                period: None,
                fan_out: way.fan_out,
                threads: *threads,
                recording: options
                    .record
                    .then(|| RecordingWriter::to(Nowhere, &world))
                    .transpose()?,
                kept: None,
                is_linked: false,
                is_checked: false,
            })?;
            let (hashes, bytes) = first.get_or_insert_with(|| (run.hashes.clone(), run.bytes));
            ensure!(run.hashes == *hashes, "{}: another state", way.name);
            ensure!(run.bytes == *bytes, "{}: other bytes", way.name);
            runs.push(run);
        }
    }
    let row = |(way, threads, runs): &(Variant, usize, Vec<offline::Run>)| {
        let mut row = row(way.name, runs, candidate);
        row.put("host_threads", *threads);
        row.put("clients", clients);
        row.put("shards", shards);
        row
    };
    Ok(rounds.iter().map(row).collect())
}

/// A disk that takes everything at once.
struct Nowhere;

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Nowhere {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The samples are the ticks of all runs.
fn row(way: &str, runs: &[offline::Run], candidate: &Candidate) -> Row {
    let times = runs.iter().flat_map(|run| &run.ticks);
    let sample = |&total: &Duration| Sample {
        total,
        stages: vec![],
    };
    let samples: Vec<Sample> = times.map(sample).collect();
    let mut row = Row::of(NAME, candidate.name, way, &samples);
    // The loop's ticks are not divided into upload, computing and download.
    row.params.clear();
    row.put("threads", candidate.threads);
    row.put("ticks_per_second", 1e3 / row.total_ms);
    if let Some(last) = runs.last() {
        row.put("engine_ms", last.figures.engine_ms(0.5));
        row.put("tick_ms", last.figures.tick_ms(0.5));
        row.put("host_ms_p50", last.figures.host_ms(0.5));
        row.put("host_ms_p99", last.figures.host_ms(0.99));
        let steps = Step::ALL.map(|step| (step.name().to_owned(), last.figures.step_ms(step, 0.5)));
        row.stages_ms = steps.into();
        row.put("bytes", last.bytes);
        row.work = last.figures.deliveries / last.figures.ticks.max(1);
        let hash = last.hashes.last().copied().unwrap_or(0);
        row.checksum = format!("{hash:016x}");
    }
    row
}

/// A way to run the loop.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    fan_out: FanOutMode,
    /// The tick's own work has as many threads as the backend.
    is_parallel: bool,
}

impl Variant {
    fn threads(self, options: &Options) -> usize {
        match self.is_parallel {
            true => options.backends.run.threads(),
            false => 1,
        }
    }
}

const ONE_THREAD: Variant = Variant {
    name: "awaited, the steps on one thread",
    fan_out: FanOutMode::Awaited,
    is_parallel: false,
};
const AWAITED: Variant = Variant {
    name: "the fan-out awaited",
    fan_out: FanOutMode::Awaited,
    is_parallel: true,
};
const OVERLAPPED: Variant = Variant {
    name: "the fan-out overlapped",
    fan_out: FanOutMode::Overlapped,
    is_parallel: true,
};
/// The baseline first.
const WAYS: [Variant; 3] = [ONE_THREAD, AWAITED, OVERLAPPED];
/// Of the world; the loop runs at full rate.
const TICK_HZ: u32 = 10;
/// The name of this bench's rows.
const NAME: &str = "fan-out";
