//! The frames of a fight, written by one backend and recovered by each.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use gpu_kernels::{Frame, StateHash};
use server::durable::disk::Folder;
use server::durable::level::Level;
use server::durable::record::Entry;
use server::durable::recovery::{self, Replay};
use server::tick::tick_loop::Kept;
use shared::{Tick, WorldConfig};

use super::Options;
use super::folder::{CHECKPOINT, JOURNAL, NO_CHECKPOINTS, RunFolder};
use crate::report::markdown::{grouped, head, line, number, title};
use crate::report::{Report, Row};
use crate::tick::backends::Candidate;
use crate::tick::fight::{Frames, config};

/// A fight that was played and written.
struct Played {
    /// Of all ticks, as they were played.
    time: Duration,
    ticks: u64,
    hash: StateHash,
}

/// For each backend that writes: a row of the fight, and one of each recovery.
pub fn measure(options: &Options, clients: u32) -> anyhow::Result<Vec<Row>> {
    let world = config(clients, options.backends.run.seed())?;
    let mut rows = vec![];
    for writer in options.backends.named() {
        let folder = RunFolder::new(&options.folder);
        let played = play(options, &world, &writer, &folder).context(writer.name)?;
        let mut own = vec![row(&writer, PLAYED, [played.time], &played)];
        for reader in options.backends.named() {
            let mut times = vec![];
            for _ in 0..options.runs {
                let time = recover(&world, &reader, &folder, &played);
                times.push(time.with_context(|| format!("recovered on {}", reader.name))?);
            }
            own.push(row(&reader, RECOVERED, times, &played));
        }
        for mut row in own {
            row.put("entities", clients);
            row.put("written_on", writer.name);
            row.put("checkpoint_bytes", folder.bytes_of(CHECKPOINT)?.0);
            row.put("journal_bytes", folder.bytes_of(JOURNAL)?.0 / played.ticks);
            eprintln!(
                "keep, {clients} entities, {}, {}: {:.1} ms",
                row.backend, row.approach, row.total_ms
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Plays a fight whose entities are born in the first tick.
fn play(
    options: &Options,
    world: &WorldConfig,
    candidate: &Candidate,
    folder: &RunFolder,
) -> anyhow::Result<Played> {
    let mut backend = candidate.start(world)?;
    let threads = options.backends.run.threads();
    let kept = folder.begin(world, Level::None, NO_CHECKPOINTS, threads, &mut *backend)?;
    let Kept {
        mut keeper,
        recovered,
        ..
    } = kept;
    let mut births = Frame::new(Tick(0));
    births.populate(world);
    let births = Arc::new(births);
    keeper.record(entry(births.clone(), recovered.hash.clone()))?;
    let mut output = backend.tick(&births)?;
    let mut frames = Frames::after_births(world, &output);
    let (mut time, mut ticks) = (Duration::ZERO, 1);
    for _ in 0..options.recover_ticks {
        let frame = Arc::new(frames.next(&output).clone());
        keeper.record(entry(frame.clone(), output.hash.clone()))?;
        let begun = Instant::now();
        output = backend.tick(&frame)?;
        time += begun.elapsed();
        ticks += 1;
    }
    let hash = output.hash.clone();
    keeper.finish()?;
    Ok(Played { time, ticks, hash })
}

fn entry(frame: Arc<Frame>, before: StateHash) -> Entry {
    Entry {
        frame,
        before,
        changes: vec![],
    }
}

/// The time from the files to the state at their end.
fn recover(
    world: &WorldConfig,
    candidate: &Candidate,
    folder: &RunFolder,
    played: &Played,
) -> anyhow::Result<Duration> {
    let disk = Folder::new(folder.path());
    let mut backend = candidate.start(world)?;
    let begun = Instant::now();
    let stored = recovery::newest(&disk, None)?.context("no checkpoint")?;
    let replay = Replay {
        backend: &mut *backend,
        until: None,
        progress: &mut |_| (),
    };
    let (recovered, _) = recovery::replay(&disk, stored, replay)?;
    let time = begun.elapsed();
    ensure!(recovered.start.tick == played.ticks, "ticks are missing");
    ensure!(
        recovered.hash.agrees_but_for_known(&played.hash),
        "another state"
    );
    Ok(time)
}

/// The samples are whole fights, or whole recoveries.
fn row(
    candidate: &Candidate,
    approach: &str,
    times: impl IntoIterator<Item = Duration>,
    played: &Played,
) -> Row {
    let mut row = Row::new(SCENARIO, candidate.name, approach, times);
    row.put("threads", candidate.threads);
    row.work = played.ticks;
    row.checksum = format!("{:016x}", played.hash.combined());
    row
}

pub fn table(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, &format!("Recovery of a fight, on {}", report.place()))?;
    let names = [
        "written on",
        "backend",
        "entities",
        "ticks",
        "way",
        "all ticks, ms",
        "bytes a tick",
    ];
    head(out, &names)?;
    for row in rows {
        let cells = [
            row.text("written_on").unwrap_or_default().to_owned(),
            row.backend.clone(),
            row.cell("entities"),
            grouped(row.work),
            row.approach.clone(),
            number(Some(row.total_ms)),
            row.cell("journal_bytes"),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

const PLAYED: &str = "played";
const RECOVERED: &str = "recovered";
pub const SCENARIO: &str = "keep recovery";
