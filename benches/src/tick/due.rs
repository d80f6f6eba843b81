//! The due stage: many commands wait, and in each tick some fall due and as many new
//! ones are scheduled.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Counts, Frame, TimedCommand};
use program::note;
use script::builtin;
use shared::{EntityId, Tick, WorldConfig};

use super::backends::{BASELINE, BackendOptions, Candidate};
use super::checks::ensure_same;
use crate::bench::Bench;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// The stage `due`. Fails where a command is lost or two backends disagree on the state.
pub struct Due;

/// The due stage: a million commands wait, ten thousand of them fall due in each tick
///
/// The server schedules as many new ones, so that their number is constant. There are no
/// observers. Beside the backends, a binary heap of the same commands runs on one
/// thread. The bench fails if a backend disagrees with the cpu backend on one thread on
/// the state after any tick.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Waiting commands
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 24))]
    pending: u32,
    /// Commands that fall due in a tick: a divisor of the waiting ones
    #[arg(long, default_value = "10000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    due: u32,
    /// Timed ticks
    #[arg(long, default_value = "50", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Due {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let (pending, due) = (options.pending, options.due);
        ensure!(
            pending.is_multiple_of(due) && pending / due <= 1_000_000,
            "{due} a tick does not divide {pending} into at most 1000000 ticks"
        );
        recorder.add(measure(options)?)
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        write(report, out)
    }
}

/// A row for the heap, one for the baseline, and one for each backend.
fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options)?;
    let mut rows = vec![heap(options)?];
    let mut expected: Option<Vec<u64>> = None;
    for candidate in options.backends.candidates() {
        let (samples, hashes) = sample(options, &config, &candidate)?;
        let expected = expected.get_or_insert_with(|| hashes.clone());
        ensure_same(&candidate, &hashes, expected)?;
        let samples = &samples[WARM_UP_TICKS as usize..];
        let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
        row.put("threads", candidate.threads);
        row.checksum = format!("{:016x}", hashes[hashes.len() - 1]);
        rows.push(row);
    }
    for row in &mut rows {
        row.put("pending", options.pending);
        row.put("due", options.due);
        row.work = u64::from(options.due);
        note!(
            "due, {}: {:.3} ms",
            row.backend,
            row.stage(NAME).unwrap_or(0.0)
        );
    }
    Ok(rows)
}

/// Runs the ticks; returns the time of each and the hash of the state after it.
fn sample(
    options: &Options,
    config: &WorldConfig,
    candidate: &Candidate,
) -> anyhow::Result<(Vec<Sample>, Vec<u64>)> {
    let mut backend = candidate.start(config)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    backend.tick(&frame)?;
    let (mut samples, mut hashes) = (vec![], vec![]);
    for tick in 1..=1 + WARM_UP_TICKS + options.runs {
        fill(&mut frame, Tick(tick.into()), options);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        let total = begin.elapsed();
        check(&output.counts, tick, options)?;
        // The first tick only puts commands off.
        if tick > 1 {
            samples.push(Sample::of(&output, total));
            hashes.push(output.hash.combined());
        }
    }
    Ok((samples, hashes))
}

/// The delays of a tick's commands. The first tick schedules all, evenly spread over the
/// ticks that follow; each later one as many as fall due.
fn delays(tick: Tick, options: &Options) -> impl Iterator<Item = u32> {
    let (pending, due) = (options.pending, options.due);
    let ticks = pending / due;
    let n = if tick.0 == 1 { pending } else { due };
    (0..n).map(move |i| if tick.0 == 1 { 1 + i % ticks } else { ticks })
}

fn fill(frame: &mut Frame, tick: Tick, options: &Options) {
    frame.reset(tick);
    for (i, ticks) in (0..).zip(delays(tick, options)) {
        let entity = EntityId::new(i % ENTITIES, 1);
        frame.push_after(ticks, entity, 0, builtin::MOVE, &[1, -1]);
    }
}

fn check(counts: &Counts, tick: u32, options: &Options) -> anyhow::Result<()> {
    let expected = if tick == 1 { 0 } else { u64::from(options.due) };
    ensure!(
        counts.applied == expected && counts.timed == u64::from(options.pending),
        "expected {expected} commands due and {} waiting after tick {tick}: {counts:?}",
        options.pending
    );
    Ok(())
}

/// The textbook's future event set, without a tick around it.
fn heap(options: &Options) -> anyhow::Result<Row> {
    let mut heap = BinaryHeap::new();
    let mut sequence = 0;
    let mut samples = vec![];
    let mut commands = vec![];
    for tick in 1..=1 + WARM_UP_TICKS + options.runs {
        let begin = Instant::now();
        commands.clear();
        while let Some(&Reverse(Entry(timed))) = heap.peek()
            && timed.due.0 == u64::from(tick)
        {
            heap.pop();
            commands.push(timed);
        }
        for (i, ticks) in (0..).zip(delays(Tick(tick.into()), options)) {
            let entity = EntityId::new(i % ENTITIES, 1);
            let kind = builtin::MOVE.id();
            let timed = TimedCommand::new(Tick((tick + ticks).into()), entity, kind, &[1, -1]);
            heap.push(Reverse(Entry(TimedCommand { sequence, ..timed })));
            sequence += 1;
        }
        let total = begin.elapsed();
        let expected = if tick == 1 { 0 } else { options.due };
        ensure!(
            commands.len() == expected as usize,
            "the heap lost commands"
        );
        if tick > 1 + WARM_UP_TICKS {
            samples.push(Sample::of_stage(NAME, total));
        }
    }
    let mut row = Row::of(NAME, HEAP, "a binary heap on one thread", &samples);
    row.put("threads", 1);
    Ok(row)
}

/// By tick, then sequence.
#[derive(PartialEq, Eq)]
struct Entry(TimedCommand);

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.0.due, self.0.sequence).cmp(&(other.0.due, other.0.sequence))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn config(options: &Options) -> anyhow::Result<WorldConfig> {
    let (pending, due) = (options.pending, options.due);
    let text = format!(
        r#"
        [world]
        name = "due"
        size = [1000, 1000]
        aoi = 50
        capacity = {ENTITIES}
        seed = {}
        visible_max = 1

        [limits]
        clients = 1
        timed_commands = {pending}
        commands_per_tick = {}
        updates_per_tick = {}
        deliveries_per_tick = 1

        [[kind]]
        name = "player"
        population = {ENTITIES}
        "#,
        options.backends.run.seed(),
        due.max(ENTITIES),
        2 * due.max(ENTITIES),
    );
    Ok(world_file::parse(&text, "the due stage's world")?)
}

fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "Waiting commands that fall due")?;
    writeln!(
        out,
        "Times of a tick's due stage in milliseconds, medians. heap: only pops \
         the due commands and pushes as many. baseline: {}. {}\n",
        BASELINE.approach,
        report.origin()
    )?;
    let columns = [
        "waiting",
        "due",
        "backend",
        "threads",
        "due stage",
        "heap / this",
        "whole tick",
    ];
    head(out, &columns)?;
    for row in &report.rows {
        let mut rows = report.rows.iter();
        let heap = rows.find(|r| r.backend == HEAP && r.has_same(row, &["pending", "due"]));
        let due_ms = |row: &Row| row.stage(NAME);
        let times = heap.and_then(due_ms).zip(due_ms(row));
        let cells = [
            row.cell("pending"),
            row.cell("due"),
            row.backend.clone(),
            row.cell("threads"),
            number(due_ms(row)),
            number(times.map(|(heap, it)| heap / it)),
            number(Some(row.total_ms)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

const NAME: &str = "due";
const HEAP: &str = "heap";
/// After these both output buffers are written.
const WARM_UP_TICKS: u32 = 4;
const ENTITIES: u32 = 1000;
