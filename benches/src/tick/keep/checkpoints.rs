//! The server's loop at its rate, without and with checkpoints on the way.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, ensure};
use durability::level::Level;
use program::note;
use server::offline;
use shared::WorldConfig;
use tick::tick_loop::FanOutMode;

use super::folder::{CHECKPOINT, NO_CHECKPOINTS, RunFolder};
use super::levels::quantile_ms;
use super::{LoopRun, Options};
use crate::report::markdown::{head, line, number, title};
use crate::report::{Report, Row};
use crate::tick::backends::Candidate;

/// The result of a run, and its checkpoints.
struct Measured {
    run: offline::Run,
    /// Without the first and the last.
    checkpoints: u64,
    /// Of one.
    bytes: u64,
}

/// Two rows for each backend.
pub fn measure(options: &Options, clients: u32) -> anyhow::Result<Vec<Row>> {
    let world = options.world(clients)?;
    let mut rows = vec![];
    for candidate in options.backends.named() {
        let ways = [
            ("without checkpoints", NO_CHECKPOINTS),
            ("with checkpoints", options.checkpoint_every),
        ];
        let mut ways = ways.map(|(name, seconds)| (name, seconds, vec![]));
        let mut first: Option<Vec<u64>> = None;
        for _ in 0..options.runs {
            for (name, seconds, runs) in &mut ways {
                let measured = run(options, &world, &candidate, *seconds);
                let measured = measured.context(candidate.name)?;
                let hashes = first.get_or_insert_with(|| measured.run.hashes.clone());
                ensure!(measured.run.hashes == *hashes, "{name}: another state");
                runs.push(measured);
            }
        }
        for (name, _, runs) in &ways {
            let mut row = row(name, runs, options, &candidate);
            row.put("clients", clients);
            row.put("entities", world.schema.world.capacity);
            note!(
                "keep, {clients} clients, {}, {}: {:.3} ms, {} late",
                row.backend,
                row.approach,
                row.total_ms,
                row.cell("late")
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

fn run(
    options: &Options,
    world: &WorldConfig,
    candidate: &Candidate,
    checkpoint_seconds: u32,
) -> anyhow::Result<Measured> {
    let folder = RunFolder::new(&options.folder);
    let given = LoopRun {
        level: Some(Level::Synced),
        checkpoint_seconds,
        ticks: options.seconds * options.tick_hz as usize,
        period: Some(Duration::from_secs(1) / options.tick_hz),
        // A tick is late if its fan-out does not end in time.
        fan_out: FanOutMode::Awaited,
    };
    let run = options.run(world, candidate, &folder, given)?;
    let (bytes, files) = folder.bytes_of(CHECKPOINT)?;
    Ok(Measured {
        run,
        checkpoints: files.saturating_sub(2),
        bytes: bytes / files.max(1),
    })
}

/// The samples are the ticks of all runs.
fn row(name: &str, runs: &[Measured], options: &Options, candidate: &Candidate) -> Row {
    let times = runs.iter().flat_map(|measured| &measured.run.ticks);
    let mut times: Vec<Duration> = times.copied().collect();
    let mut row = Row::new(SCENARIO, candidate.name, name, times.iter().copied());
    let period = Duration::from_secs(1) / options.tick_hz;
    let late = times.iter().filter(|&&time| time > period).count();
    times.sort_unstable();
    row.put("late", late);
    row.put("p99_ms", quantile_ms(&times, 99));
    row.put("longest_ms", quantile_ms(&times, 100));
    row.put("threads", candidate.threads);
    row.put("tick_hz", options.tick_hz);
    let checkpoints: u64 = runs.iter().map(|measured| measured.checkpoints).sum();
    row.put("checkpoints", checkpoints);
    if let Some(Measured { run, bytes, .. }) = runs.last() {
        row.put("checkpoint_bytes", *bytes);
        row.work = run.figures.deliveries / run.figures.ticks.max(1);
        let hash = run.hashes.last().copied().unwrap_or(0);
        row.checksum = format!("{hash:016x}");
    }
    row
}

pub fn table(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    title(
        out,
        &format!("Ticks during checkpoints, on {}", report.place()),
    )?;
    let names = [
        "backend",
        "clients",
        "entities",
        "Hz",
        "way",
        "checkpoints",
        "bytes of one",
        "ticks",
        "late",
        "p50, ms",
        "p99",
        "longest",
    ];
    head(out, &names)?;
    for row in rows {
        let cells = [
            row.backend.clone(),
            row.cell("clients"),
            row.cell("entities"),
            row.cell("tick_hz"),
            row.approach.clone(),
            row.cell("checkpoints"),
            row.cell("checkpoint_bytes"),
            row.samples.to_string(),
            row.cell("late"),
            number(Some(row.total_ms)),
            number(row.float("p99_ms")),
            number(row.float("longest_ms")),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

pub const SCENARIO: &str = "keep checkpoints";
