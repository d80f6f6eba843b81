//! Ticks of a world that is kept, against ticks of one in memory, and its recovery: the
//! server's own loop at full rate, with shards that encode for every client and send nothing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use server::durable::disk::Folder;
use server::durable::level::Level;
use server::durable::recovery::{self, Replay};
use server::metrics::steps::Step;
use server::offline;
use server::server::{DataOptions, world_data};
use server::tick::tick_loop::{FanOutMode, Kept};
use shared::WorldConfig;

use super::backends::{BackendOptions, Candidate};
use super::clients::ClientCounts;
use super::fan_out::world;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// What keeping a world costs. Fails where a kept world, or its recovery, comes to another
/// state.
pub struct Keep;

/// The server's loop with a world in memory and with one that is kept
///
/// As `fan-out`, overlapped. The journal is written into a folder, with a checkpoint before
/// the first tick and after the last, and another one on the way with `--checkpoint-ticks`.
/// Then a backend recovers the world from its first checkpoint and the whole journal.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list
    #[arg(long, default_value = "65536", value_name = "RANGE")]
    pub clients: ClientCounts,
    /// Threads that encode [default: one a core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub shards: Option<usize>,
    /// Timed ticks of each run
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    pub ticks: usize,
    /// Runs of each way, by turns
    #[arg(long, default_value = "3", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    /// Ticks from one checkpoint to the next
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = at_least_one)]
    pub checkpoint_ticks: usize,
    /// Folder for the journals, on the disk to measure
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    pub folder: PathBuf,
    #[command(flatten)]
    pub backends: BackendOptions,
}

impl Bench for Keep {
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
        title(out, &format!("Worlds that are kept, on {}", report.place()))?;
        let names = [
            "backend",
            "clients",
            "way",
            "tick p50, ms",
            "p99",
            "handing over and waiting, ms",
            "bytes a tick",
        ];
        head(out, &names)?;
        for row in report.rows.iter().filter(|r| r.scenario == NAME) {
            line(
                out,
                &[
                    row.backend.clone(),
                    row.cell("clients"),
                    row.approach.clone(),
                    number(Some(row.total_ms)),
                    number(row.float("p99_ms")),
                    number(row.float("keep_ms")),
                    row.cell("journal_bytes"),
                ],
            )?;
        }
        Ok(())
    }
}

/// A row for each way, and one for the recovery.
fn measure(options: &Options, clients: u32, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let world = world(clients, options.backends.run.seed())?;
    let folder = options
        .folder
        .join(format!("bench-keep-{}", std::process::id()));
    let mut ways = WAYS.map(|way| (way, vec![]));
    let mut first: Option<Vec<u64>> = None;
    let mut recoveries = vec![];
    for _ in 0..options.runs {
        for (way, runs) in &mut ways {
            let _ = std::fs::remove_dir_all(&folder);
            let run = run(options, &world, candidate, *way, &folder)?;
            let hashes = first.get_or_insert_with(|| run.run.hashes.clone());
            ensure!(
                run.run.hashes == *hashes,
                "{}: another state",
                name_of(*way)
            );
            runs.push(run);
            if *way == Some(Level::Told) {
                recoveries.push(recover(&world, candidate, &folder)?);
            }
        }
    }
    std::fs::remove_dir_all(&folder).context("cannot remove the journals")?;
    let mut rows: Vec<Row> = ways
        .iter()
        .map(|(way, runs)| row(*way, runs, clients, candidate))
        .collect();
    rows.push(recovery_row(&recoveries, clients, candidate));
    Ok(rows)
}

/// What a run did, and the bytes that its journal takes.
struct Measured {
    run: offline::Run,
    journal_bytes: u64,
}

fn run(
    options: &Options,
    world: &WorldConfig,
    candidate: &Candidate,
    way: Option<Level>,
    folder: &Path,
) -> anyhow::Result<Measured> {
    let mut backend = candidate.start(world)?;
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.backends.run.threads();
    let kept = match way {
        None => None,
        Some(level) => {
            let data = DataOptions {
                level,
                keeps_all: true,
                checkpoint_seconds: 1_000_000,
                ..DataOptions::new(folder)
            };
            let mut same = world.clone();
            let opened = world_data::open(&data, &mut same)?;
            let Kept {
                mut keeper,
                recovered,
            } = world_data::recover(opened, &data, world, threads, &mut *backend)?;
            keeper.set_checkpoint_ticks(options.checkpoint_ticks as u64);
            Some(Kept { keeper, recovered })
        }
    };
    let run = offline::run(offline::Options {
        world: world.clone(),
        backend,
        shards: options.shards.unwrap_or_else(cores),
        ticks: options.ticks,
        fan_out: FanOutMode::Overlapped,
        threads,
        recording: None,
        kept,
        is_checked: false,
    })?;
    let journal_bytes = match way {
        None => 0,
        Some(_) => bytes_of_journal(folder)? / run.hashes.len().max(1) as u64,
    };
    Ok(Measured { run, journal_bytes })
}

fn bytes_of_journal(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("journal-") {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// A recovery: the time of all its ticks, and their number.
struct Recovery {
    time: Duration,
    ticks: u64,
    hash: u64,
}

fn recover(world: &WorldConfig, candidate: &Candidate, folder: &Path) -> anyhow::Result<Recovery> {
    let disk = Folder::new(folder);
    let mut backend = candidate.start(world)?;
    let begun = Instant::now();
    let stored = recovery::newest(&disk, Some(0))?.context("the first checkpoint")?;
    let replay = Replay {
        backend: &mut *backend,
        until: None,
        progress: &mut |_| (),
    };
    let (recovered, _) = recovery::replay(&disk, stored, replay)?;
    Ok(Recovery {
        time: begun.elapsed(),
        ticks: recovered.start.tick,
        hash: recovered.hash.combined(),
    })
}

/// The samples are the ticks of all runs.
fn row(way: Option<Level>, runs: &[Measured], clients: u32, candidate: &Candidate) -> Row {
    let times = runs.iter().flat_map(|measured| &measured.run.ticks);
    let sample = |&total: &Duration| Sample {
        total,
        stages: vec![],
    };
    let mut samples: Vec<Sample> = times.map(sample).collect();
    let mut row = Row::of(NAME, candidate.name, name_of(way), &samples);
    row.params.clear();
    samples.sort_by_key(|sample| sample.total);
    let last = samples.len().saturating_sub(1) * 99 / 100;
    if let Some(slow) = samples.get(last) {
        row.put("p99_ms", slow.total.as_secs_f64() * 1e3);
    }
    row.put("clients", clients);
    row.put("threads", candidate.threads);
    if let Some(Measured { run, journal_bytes }) = runs.last() {
        row.put("keep_ms", run.figures.step_ms(Step::Keep, 0.5));
        row.put("journal_bytes", *journal_bytes);
        let hash = run.hashes.last().copied().unwrap_or(0);
        row.checksum = format!("{hash:016x}");
    }
    row
}

/// The samples are whole recoveries.
fn recovery_row(recoveries: &[Recovery], clients: u32, candidate: &Candidate) -> Row {
    let sample = |recovery: &Recovery| Sample {
        total: recovery.time,
        stages: vec![],
    };
    let samples: Vec<Sample> = recoveries.iter().map(sample).collect();
    let mut row = Row::of(NAME, candidate.name, "recovered as a whole", &samples);
    row.params.clear();
    row.put("clients", clients);
    row.put("threads", candidate.threads);
    if let Some(last) = recoveries.last() {
        row.work = last.ticks;
        row.checksum = format!("{:016x}", last.hash);
    }
    row
}

fn name_of(way: Option<Level>) -> &'static str {
    match way {
        None => "in memory",
        Some(Level::None) => "kept: none",
        Some(Level::Soon) => "kept: soon",
        Some(Level::Told) => "kept: told",
    }
}

/// The baseline first.
const WAYS: [Option<Level>; 4] = [
    None,
    Some(Level::None),
    Some(Level::Soon),
    Some(Level::Told),
];
/// What rows of this bench are called.
const NAME: &str = "keep";
