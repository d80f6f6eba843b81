//! Ticks that overlap the fan-out of the tick before, against ticks that wait for it: the
//! server's own loop at full rate, with shards that encode for every client and send
//! nothing.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use server::offline;
use server::tick::tick_loop::FanOutMode;
use shared::WorldConfig;

use super::backends::{BackendOptions, Candidate};
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{grouped, head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// The overlap of the fan-out. Fails where the two ways disagree.
pub struct FanOut;

/// The server's loop with fan-outs awaited and overlapped
///
/// All clients move in every tick, each sees about 20 others, and shards encode for each
/// of them what a server would send. The next tick starts as soon as the loop is free:
/// after the fan-out, or during it. Both ways must end each tick in the same state and
/// encode the same number of bytes.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of clients
    #[arg(long, default_value = "65536", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    pub clients: u32,
    /// Threads that encode [default: one a core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub shards: Option<usize>,
    /// Timed ticks of each run
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    pub ticks: usize,
    /// Runs of each way, by turns
    #[arg(long, default_value = "3", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    #[command(flatten)]
    pub backends: BackendOptions,
}

impl Bench for FanOut {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for candidate in options.backends.named() {
            let rows = measure(options, &candidate).context(candidate.name)?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        show(report, out)
    }
}

/// Writes the table of a report: a row for each backend.
fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
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
    let rows: Vec<&Row> = report.rows.iter().filter(|r| r.scenario == NAME).collect();
    for ways in rows.chunks_exact(WAYS.len()) {
        let [awaited, overlapped] = [ways[0], ways[1]];
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

/// A row for each way.
fn measure(options: &Options, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let world = world(options.clients, options.backends.run.seed())?;
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let shards = options.shards.unwrap_or_else(cores);
    let mut rounds = WAYS.map(|(fan_out, name)| (fan_out, name, vec![]));
    let mut first: Option<(Vec<u64>, u64)> = None;
    for _ in 0..options.runs {
        for (fan_out, name, runs) in &mut rounds {
            let run = offline::run(offline::Options {
                world: world.clone(),
                backend: candidate.start(&world)?,
                shards,
                ticks: options.ticks,
                fan_out: *fan_out,
                is_checked: false,
            })?;
            let (hashes, bytes) = first.get_or_insert_with(|| (run.hashes.clone(), run.bytes));
            ensure!(run.hashes == *hashes, "{name}: another state");
            ensure!(run.bytes == *bytes, "{name}: other bytes");
            runs.push(run);
        }
    }
    let row = |(_, name, runs): &(FanOutMode, &str, Vec<offline::Run>)| {
        let mut row = row(name, runs, candidate);
        row.put("clients", options.clients);
        row.put("shards", shards);
        row
    };
    Ok(rounds.iter().map(row).collect())
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
        row.put("bytes", last.bytes);
        row.work = last.figures.deliveries / last.figures.ticks.max(1);
        let hash = last.hashes.last().copied().unwrap_or(0);
        row.checksum = format!("{hash:016x}");
    }
    row
}

/// So large that each client sees about 20 others.
fn world(clients: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let side = (SIDE_PER_CLIENT * f64::from(clients).sqrt()).max(1.0);
    let text = format!(
        r#"
        [world]
        size = [{side}, {side}]
        aoi = 50
        capacity = {clients}
        seed = {seed}
        [limits]
        clients = {clients}
        [[kind]]
        name = "player"
        attributes = [{{ name = "hp", type = "i32", default = 100, audience = "state" }}]
        "#
    );
    Ok(script::world::parse(&text, "the bench's world")?)
}

/// The baseline first.
const WAYS: [(FanOutMode, &str); 2] = [
    (FanOutMode::Awaited, "the fan-out awaited"),
    (FanOutMode::Overlapped, "the fan-out overlapped"),
];
const SIDE_PER_CLIENT: f64 = 20.0;
/// What rows of this bench are called.
const NAME: &str = "fan-out";
