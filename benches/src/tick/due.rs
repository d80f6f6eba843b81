//! The due stage: many commands wait, and in each tick some fall due and as many are
//! put off anew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Counts, Frame, TimedCommand};
use shared::{CommandKind, EntityId, Tick, WorldConfig};

use crate::report::markdown::{NOTHING, grouped, head, line, number, title};
use crate::report::{Report, Row, Sample};
use crate::tick::backends::{BASELINE, Candidate, EngineOptions};

/// The due stage: a million commands wait, ten thousand of them fall due in each tick
///
/// As many are put off anew by the server, so that the number stays. Nobody watches.
/// Beside the backends, a binary heap of the same commands on one thread. Every backend
/// must agree with the cpu backend on one thread on the state after every tick.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many commands wait
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 24))]
    pub pending: u32,
    /// How many of them fall due in a tick: a divisor of those that wait
    #[arg(long, default_value = "10000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 20))]
    pub due: u32,
    /// Timed ticks
    #[arg(long, default_value = "50", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    #[command(flatten)]
    pub engines: EngineOptions,
}

/// Measures, writes the table to `out` and returns the report. Fails where a command is
/// lost, or two backends disagree.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let (pending, due) = (options.pending, options.due);
    ensure!(
        pending.is_multiple_of(due) && pending / due <= 1_000_000,
        "{due} a tick does not divide {pending} into at most 1000000 ticks"
    );
    let mut report = Report::new();
    report.rows = measure(options)?;
    options.engines.run.keep(&report)?;
    show(&report, out)?;
    Ok(report)
}

/// A row for the heap, one for the baseline, and one for each backend.
fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options)?;
    let mut rows = vec![heap(options)?];
    let mut expected: Option<Vec<u64>> = None;
    for candidate in options.engines.candidates() {
        let (samples, hashes) = sample(options, &config, &candidate)?;
        let expected = expected.get_or_insert_with(|| hashes.clone());
        for (i, (found, expected)) in hashes.iter().zip(expected.iter()).enumerate() {
            ensure!(
                found == expected,
                "after tick {}, {} has the state {found:x} where {} has {expected:x}",
                i + 1,
                candidate.name,
                BASELINE.name,
            );
        }
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
        eprintln!("due, {}: {:.3} ms", row.backend, due_ms(row).unwrap_or(0.0));
    }
    Ok(rows)
}

/// Runs the ticks; each one's time, and the hash of the state after it.
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
        fill(&mut frame, Tick(tick), options);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        let total = begin.elapsed();
        check(&output.counts, tick, options)?;
        // The first only puts everything off.
        if tick > 1 {
            samples.push(Sample::of(&output, total));
            hashes.push(output.hash.combined());
        }
    }
    Ok((samples, hashes))
}

/// What is put off in a tick: everything in the first, so that what falls due together
/// is spread over all that waits; then as much as falls due.
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
        frame.push_after(ticks, entity, 0, CommandKind::Move, &[1, -1]);
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

/// The textbook's future event set, with nothing around it.
fn heap(options: &Options) -> anyhow::Result<Row> {
    let mut heap = BinaryHeap::new();
    let mut sequence = 0;
    let mut samples = vec![];
    let mut commands = vec![];
    for tick in 1..=1 + WARM_UP_TICKS + options.runs {
        let begin = Instant::now();
        commands.clear();
        while let Some(&Reverse(Entry(timed))) = heap.peek()
            && timed.due.0 == tick
        {
            heap.pop();
            commands.push(timed);
        }
        for (i, ticks) in (0..).zip(delays(Tick(tick), options)) {
            let entity = EntityId::new(i % ENTITIES, 1);
            let kind = CommandKind::Move.id();
            let timed = TimedCommand::new(Tick(tick + ticks), entity, kind, &[1, -1]);
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
            let stages = vec![("due", total)];
            samples.push(Sample { total, stages });
        }
    }
    let mut row = Row::of(NAME, "heap", "a binary heap on one thread", &samples);
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
        options.engines.run.seed,
        due.max(ENTITIES),
        2 * due.max(ENTITIES),
    );
    Ok(WorldConfig::parse(&text, "the due stage's world")?)
}

/// Writes the table of a report.
pub fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "What falls due")?;
    writeln!(
        out,
        "Times of a tick's due stage in milliseconds, medians. heap: pops what is due and \
         pushes as many, and nothing else. baseline: {}. On {}, {}.\n",
        BASELINE.approach,
        report.place(),
        report.date
    )?;
    let columns = [
        "waiting",
        "due",
        "backend",
        "threads",
        "due stage",
        "heap / it",
        "whole tick",
    ];
    head(out, &columns)?;
    let rows = || report.rows.iter().filter(|row| row.scenario == NAME);
    for row in rows() {
        let whole = |name| row.whole(name).map_or(NOTHING.to_owned(), grouped);
        let is_alike = |other: &Row| {
            ["pending", "due"]
                .iter()
                .all(|name| other.whole(name) == row.whole(name))
        };
        let heap = rows().find(|other| other.backend == "heap" && is_alike(other));
        let ratio = heap
            .and_then(due_ms)
            .zip(due_ms(row))
            .map(|(heap, it)| heap / it);
        let cells = [
            whole("pending"),
            whole("due"),
            row.backend.clone(),
            whole("threads"),
            number(due_ms(row)),
            number(ratio),
            number(Some(row.total_ms)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

fn due_ms(row: &Row) -> Option<f64> {
    row.stages_ms.get("due").copied()
}

/// What rows of this bench are called.
pub const NAME: &str = "due";
/// Both output buffers have been written.
const WARM_UP_TICKS: u32 = 4;
const ENTITIES: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::backends::{EngineName, RunOptions};

    #[test]
    fn the_bench_runs_and_tells_of_every_way() {
        let options = Options {
            pending: 600,
            due: 30,
            runs: 3,
            engines: EngineOptions {
                backends: vec![EngineName::Cpu],
                run: RunOptions {
                    threads: Some(2),
                    seed: 1,
                    json: None,
                },
            },
        };
        let mut out = vec![];
        let report = run(&options, &mut out).unwrap();
        let backends: Vec<_> = report.rows.iter().map(|row| row.backend.as_str()).collect();
        assert_eq!(backends, ["heap", "baseline", "cpu"]);
        assert!(report.rows.iter().all(|row| due_ms(row).is_some()));
        assert_eq!(
            String::from_utf8(out).unwrap().matches("| 600 |").count(),
            3
        );
    }
}
