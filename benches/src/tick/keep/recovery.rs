//! The frames of a fight, written by one backend and recovered by each.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use durability::annotations::Annotations;
use durability::disk::Folder;
use durability::level::Level;
use durability::record::Entry;
use durability::recovered::Recovered;
use durability::recovery::{self, Replay};
use durability::worker::Boundary;
use gpu_kernels::{Frame, Stage, StateHash};
use program::note;
use shared::{Tick, WorldConfig};
use tick::tick_loop::PersistentWorld;

use super::Options;
use super::folder::{CHECKPOINT, JOURNAL, NO_CHECKPOINTS, RunFolder};
use crate::report::markdown::{grouped, head, line, number, title};
use crate::report::{Report, Row, Sample};
use crate::tick::backends::Candidate;
use crate::tick::fight::{Frames, config};

/// A fight that was played and written.
struct PlayedFight {
    /// Of all ticks, as they were played.
    time: Duration,
    /// The same with making the frames, and writing them.
    written: Duration,
    /// Without that of the births, which the checkpoint has.
    ticks: u64,
    hash: StateHash,
}

/// The files of a fight, the same for its rows.
struct Files {
    written_on: &'static str,
    checkpoint_bytes: u64,
    journal_bytes: u64,
    /// Megabytes a second, from the disk and from the system's memory.
    read_mb_s: [f64; 2],
}

/// For each backend that writes: a row of the fight, and one of each recovery.
pub fn measure(options: &Options, clients: u32) -> anyhow::Result<Vec<Row>> {
    let world = config(clients, options.backends.run.seed())?;
    let mut rows = vec![];
    let writers = match options.written_on {
        Some(backend) => vec![options.backends.of(backend)],
        None => options.backends.named().collect(),
    };
    for writer in writers {
        let folder = RunFolder::new(&options.folder);
        let played = play(options, &world, &writer, &folder).context(writer.name)?;
        let files = Files {
            written_on: writer.name,
            checkpoint_bytes: folder.bytes_of(CHECKPOINT)?.0,
            journal_bytes: folder.bytes_of(JOURNAL)?.0,
            read_mb_s: folder.read_mb_s(JOURNAL)?,
        };
        let mut own = vec![Row::new(SCENARIO, writer.name, PLAYED, [played.time])];
        own[0].put("written_ms", played.written.as_secs_f64() * 1e3);
        for reader in options.backends.named() {
            let mut samples = vec![];
            for _ in 0..options.runs {
                let sample = recover(&world, &reader, &folder, &played);
                samples.push(sample.with_context(|| format!("recovered on {}", reader.name))?);
            }
            let mut row = Row::of(SCENARIO, reader.name, RECOVERED, &samples);
            let mb = files.journal_bytes as f64 / 1e6;
            row.put("mb_s", mb / (row.total_ms / 1e3));
            own.push(row);
        }
        for mut row in own {
            row.put("entities", clients);
            row.put("threads", options.backends.run.threads());
            row.work = played.ticks;
            row.checksum = format!("{:016x}", played.hash.combined());
            files.put(&mut row);
            note!(
                "keep, {clients} entities, {}, {}: {:.1} ms {:.0?}",
                row.backend,
                row.approach,
                row.total_ms,
                row.stages_ms
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

impl Files {
    fn put(&self, row: &mut Row) {
        row.put("written_on", self.written_on);
        row.put("checkpoint_bytes", self.checkpoint_bytes);
        row.put("journal_bytes", self.journal_bytes / row.work);
        let [disk, memory] = self.read_mb_s;
        row.put("disk_mb_s", disk);
        row.put("memory_mb_s", memory);
    }
}

/// Plays a fight whose entities are born in the first tick. After that comes a checkpoint.
fn play(
    options: &Options,
    world: &WorldConfig,
    candidate: &Candidate,
    folder: &RunFolder,
) -> anyhow::Result<PlayedFight> {
    let mut backend = candidate.start(world)?;
    let threads = options.backends.run.threads();
    let kept = folder.begin(world, Level::None, NO_CHECKPOINTS, threads, &mut *backend)?;
    let PersistentWorld {
        mut worker,
        recovered,
        ..
    } = kept;
    let mut births = Frame::new(Tick(0));
    births.populate(world);
    let births = Arc::new(births);
    worker.record(entry(births.clone(), recovered.hash.clone()))?;
    let mut output = backend.tick(&births)?;
    worker.begin_checkpoint(Boundary {
        world: world.clone(),
        tick: Tick(1),
        hash: output.hash.clone(),
        births: output.births.clone(),
        deaths: vec![],
        characters: vec![],
    })?;
    worker.finish_copy(backend.snapshot()?)?;
    let mut frames = Frames::after_births(world, &output)?;
    let mut time = Duration::ZERO;
    let all = Instant::now();
    for _ in 0..options.recover_ticks {
        frames.next(&output);
        let memory = Arc::into_inner(worker.frame()).unwrap_or_default();
        let frame = Arc::new(frames.exchange(memory));
        worker.record(entry(frame.clone(), output.hash.clone()))?;
        let begun = Instant::now();
        output = backend.tick(&frame)?;
        time += begun.elapsed();
    }
    let hash = output.hash.clone();
    worker.finish()?;
    Ok(PlayedFight {
        time,
        written: all.elapsed(),
        ticks: options.recover_ticks as u64,
        hash,
    })
}

fn entry(frame: Arc<Frame>, before: StateHash) -> Entry {
    Entry {
        frame,
        annotations: Annotations::default(),
        before,
        changes: vec![],
    }
}

/// The time from the files to the state at their end, and what each part of it took. The
/// parts before `restore` and after `hash` come one after the other; those of the journal run
/// at once.
fn recover(
    world: &WorldConfig,
    candidate: &Candidate,
    folder: &RunFolder,
    played: &PlayedFight,
) -> anyhow::Result<Sample> {
    let disk = Folder::new(folder.path());
    let mut backend = candidate.start(world)?;
    let begun = Instant::now();
    let stored = recovery::newest(&disk, None)?.context("no checkpoint")?;
    let checkpoint = begun.elapsed();
    let replay = Replay {
        backend: &mut *backend,
        until: None,
        progress: &mut |_| (),
    };
    let (recovered, _) = recovery::replay(&disk, stored, replay)?;
    let total = begun.elapsed();
    ensure!(
        recovered.start.tick == played.ticks + 1,
        "ticks are missing"
    );
    ensure!(
        recovered.hash.agrees_but_for_known(&played.hash),
        "another state"
    );
    Ok(Sample {
        total,
        stages: stages(checkpoint, &recovered),
    })
}

fn stages(checkpoint: Duration, recovered: &Recovered) -> Vec<(&'static str, Duration)> {
    let Recovered { work, times, .. } = recovered;
    let mut stages = vec![
        ("checkpoint", checkpoint),
        ("restore", times.restoring),
        ("hash", times.hashing),
        ("read", work.reading),
        ("check", work.checking),
        ("decode", work.decoding),
        ("wait", work.waiting),
        ("submit", times.submitting),
        ("collect", times.collecting),
        ("copy", times.copying),
    ];
    stages.extend(Stage::ALL.map(|stage| (stage.name(), times.stages.of(stage))));
    stages
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
        "MB/s",
        "disk",
        "memory",
        "checkpoint, ms",
        "restore and hash",
        "read",
        "check",
        "decode",
        "wait",
        "ticks",
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
            number(row.float("mb_s")),
            number(row.float("disk_mb_s")),
            number(row.float("memory_mb_s")),
            number(row.stage("checkpoint")),
            number(sum(row, &["restore", "hash"])),
            number(row.stage("read")),
            number(row.stage("check")),
            number(row.stage("decode")),
            number(row.stage("wait")),
            number(sum(row, &["submit", "collect"])),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

fn sum(row: &Row, stages: &[&str]) -> Option<f64> {
    stages.iter().map(|stage| row.stage(stage)).sum()
}

const PLAYED: &str = "played";
const RECOVERED: &str = "recovered";
pub const SCENARIO: &str = "keep recovery";
