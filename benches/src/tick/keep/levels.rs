//! The server's loop at full rate, in memory and at each level.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use durability::level::Level;
use platform::metrics::steps::Step;
use program::note;
use server::offline;
use shared::WorldConfig;
use tick::tick_loop::FanOutMode;

use super::folder::{JOURNAL, NO_CHECKPOINTS, RunFolder};
use super::{LoopRun, Options};
use crate::report::markdown::{head, line, number, title};
use crate::report::{Report, Row};
use crate::tick::backends::Candidate;

/// A way to run the loop.
#[derive(Clone, Copy)]
struct Variant {
    name: &'static str,
    level: Option<Level>,
    /// The journal's files are in memory, where a sync takes no time.
    is_in_memory: bool,
}

/// The result of a run, and its journal's bytes per tick.
struct Measured {
    run: offline::Run,
    journal_bytes: u64,
}

/// A row for each backend and way.
pub fn measure(options: &Options, clients: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for candidate in options.backends.named() {
        let own = of_backend(options, clients, &candidate);
        rows.extend(own.context(candidate.name)?);
    }
    Ok(rows)
}

fn of_backend(options: &Options, clients: u32, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let world = options.world(clients)?;
    let ways = WAYS.into_iter();
    let ways = ways.filter(|way| !way.is_in_memory || Path::new(MEMORY).is_dir());
    let mut ways: Vec<(Variant, Vec<Measured>)> = ways.map(|way| (way, vec![])).collect();
    let mut first: Option<Vec<u64>> = None;
    for _ in 0..options.runs {
        for (way, runs) in &mut ways {
            let measured = run(options, &world, candidate, *way)?;
            let hashes = first.get_or_insert_with(|| measured.run.hashes.clone());
            ensure!(
                measured.run.hashes == *hashes,
                "{}: another state",
                way.name
            );
            runs.push(measured);
        }
    }
    let mut rows: Vec<Row> = vec![];
    for (way, runs) in &ways {
        let mut row = row(*way, runs, candidate);
        row.put("clients", clients);
        row.put("entities", world.schema.world.capacity);
        let memory_ms = rows.first().map_or(row.total_ms, |memory| memory.total_ms);
        row.put("overhead", row.total_ms / memory_ms - 1.0);
        note!(
            "keep, {clients} clients, {}, {}: {:.3} ms",
            row.backend,
            row.approach,
            row.total_ms
        );
        rows.push(row);
    }
    Ok(rows)
}

fn run(
    options: &Options,
    world: &WorldConfig,
    candidate: &Candidate,
    way: Variant,
) -> anyhow::Result<Measured> {
    let folder = RunFolder::new(match way.is_in_memory {
        true => Path::new(MEMORY),
        false => &options.folder,
    });
    let given = LoopRun {
        level: way.level,
        checkpoint_seconds: NO_CHECKPOINTS,
        ticks: options.ticks,
        period: None,
        fan_out: FanOutMode::Overlapped,
    };
    let run = options.run(world, candidate, &folder, given)?;
    let journal_bytes = match way.level {
        None => 0,
        Some(_) => folder.bytes_of(JOURNAL)?.0 / run.hashes.len().max(1) as u64,
    };
    Ok(Measured { run, journal_bytes })
}

/// The samples are the ticks of all runs.
fn row(way: Variant, runs: &[Measured], candidate: &Candidate) -> Row {
    let times = runs.iter().flat_map(|measured| &measured.run.ticks);
    let mut times: Vec<Duration> = times.copied().collect();
    let mut row = Row::new(SCENARIO, candidate.name, way.name, times.iter().copied());
    times.sort_unstable();
    row.put("p99_ms", quantile_ms(&times, 99));
    row.put("threads", candidate.threads);
    if let Some(Measured { run, journal_bytes }) = runs.last() {
        row.put("keep_ms", run.figures.step_ms(Step::Keep, 0.5));
        row.put("journal_bytes", *journal_bytes);
        row.work = run.figures.commands_applied / run.figures.ticks.max(1);
        let hash = run.hashes.last().copied().unwrap_or(0);
        row.checksum = format!("{hash:016x}");
    }
    row
}

/// Of so many percent of the sorted times, the longest.
pub fn quantile_ms(times: &[Duration], percent: usize) -> f64 {
    let last = times.len().saturating_sub(1) * percent / 100;
    times.get(last).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}

pub fn table(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    title(
        out,
        &format!("Ticks of persistent worlds, on {}", report.place()),
    )?;
    let names = [
        "backend",
        "clients",
        "entities",
        "way",
        "tick p50, ms",
        "p99",
        "handing over and waiting, ms",
        "p50 above memory's, %",
        "bytes a tick",
    ];
    head(out, &names)?;
    for row in rows {
        let cells = [
            row.backend.clone(),
            row.cell("clients"),
            row.cell("entities"),
            row.approach.clone(),
            number(Some(row.total_ms)),
            number(row.float("p99_ms")),
            number(row.float("keep_ms")),
            number(row.float("overhead").map(|share| 100.0 * share)),
            row.cell("journal_bytes"),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

const fn on_disk(name: &'static str, level: Option<Level>) -> Variant {
    Variant {
        name,
        level,
        is_in_memory: false,
    }
}

/// The baseline first.
const WAYS: [Variant; 5] = [
    on_disk("in memory", None),
    on_disk("kept: none", Some(Level::None)),
    on_disk("kept: soon", Some(Level::Soon)),
    on_disk("kept: synced", Some(Level::Synced)),
    Variant {
        name: "kept: synced, without the disk's time",
        level: Some(Level::Synced),
        is_in_memory: true,
    },
];
/// Where Linux has files in memory.
const MEMORY: &str = "/dev/shm";
pub const SCENARIO: &str = "keep levels";
