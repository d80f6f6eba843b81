//! Two ticks in flight against one at a time: the same frames both ways, with a
//! timeline of when each was submitted and collected.

mod timeline;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Backend, Frame, Snapshot, Stage, Ticket};

use crate::report::{Report, Row, Sample};
use crate::tick::backends::{Candidate, EngineOptions, at_least_one};
use crate::tick::fight::{Arena, ensure_nothing_dropped};
pub use timeline::show;

/// Two ticks in flight against one at a time, in a fight
///
/// With two in flight the next tick is submitted before the last one is collected, so
/// that one's download overlaps the other's upload and work. Both ways run the same
/// frames from the same snapshot, and must end each tick in the same state.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of clients
    #[arg(long, default_value = "524288", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 23))]
    pub clients: u32,
    /// Ticks of the timeline
    #[arg(long, default_value = "10", value_name = "N", value_parser = at_least_one)]
    pub ticks: usize,
    /// How often the timeline is measured; the last one is shown
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    #[command(flatten)]
    pub engines: EngineOptions,
    /// Draws the timelines into this folder, as SVG files
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
}

/// Measures, writes the timelines to `out` and returns the report. Fails where the two
/// ways disagree.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for candidate in options.engines.asked() {
        let rows = measure(options, &candidate).with_context(|| candidate.name)?;
        report.rows.extend(rows);
    }
    options.engines.run.keep(&report)?;
    show(&report, options.plots.as_deref(), out)?;
    Ok(report)
}

/// How many ticks are in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    One,
    Two,
}

impl Way {
    const ALL: [Way; 2] = [Way::One, Way::Two];

    const fn name(self) -> &'static str {
        match self {
            Way::One => "one tick at a time",
            Way::Two => "two ticks in flight",
        }
    }
}

/// One tick, on a clock that starts with the first one.
#[derive(Clone, Debug)]
struct Span {
    submit: (Duration, Duration),
    collect: (Duration, Duration),
    stages: Vec<(&'static str, Duration)>,
    /// Of the state after it.
    hash: u64,
}

/// A row for each way.
fn measure(options: &Options, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let mut arena = Arena::populated(options.clients, options.engines.run.seed, candidate)?;
    for _ in 0..WARM_UP_TICKS {
        arena.tick()?;
    }
    let snapshot = arena.backend.snapshot()?;
    // What fighters do depends on whom they saw, so the frames are made one at a time.
    let (mut frames, mut expected) = (vec![], vec![]);
    for _ in 0..options.ticks {
        frames.push(arena.fight.next_frame(&arena.output).clone());
        let frame = frames.last().context("a frame was just made")?;
        arena.output = arena.backend.tick(frame)?;
        ensure_nothing_dropped(&arena.output)?;
        expected.push(arena.output.hash.combined());
    }
    // Not counted: a backend may prepare memory that it sees again.
    run_through(arena.backend.as_mut(), &snapshot, &frames, Way::Two)?;
    let mut rounds = Way::ALL.map(|way| (way, vec![]));
    for _ in 0..options.runs {
        for (way, spans) in &mut rounds {
            let round = run_through(arena.backend.as_mut(), &snapshot, &frames, *way)?;
            let found = round.iter().map(|span| span.hash);
            ensure!(
                found.eq(expected.iter().copied()),
                "{} leads to another state",
                way.name()
            );
            spans.push(round);
        }
    }
    let rows = rounds
        .iter()
        .map(|(way, rounds)| row(*way, rounds, options, candidate));
    Ok(rows.collect())
}

/// Runs all frames from the snapshot.
fn run_through(
    backend: &mut dyn Backend,
    snapshot: &Snapshot,
    frames: &[Frame],
    way: Way,
) -> anyhow::Result<Vec<Span>> {
    backend.restore(snapshot)?;
    let start = Instant::now();
    let mut spans = vec![];
    let mut waiting: Option<InFlight> = None;
    for frame in frames {
        let begin = start.elapsed();
        let ticket = backend.submit(frame)?;
        let submitted = InFlight {
            ticket,
            submit: (begin, start.elapsed()),
        };
        match way {
            Way::One => spans.push(submitted.collect(backend, start)?),
            Way::Two => {
                if let Some(earlier) = waiting.replace(submitted) {
                    spans.push(earlier.collect(backend, start)?);
                }
            }
        }
    }
    if let Some(last) = waiting {
        spans.push(last.collect(backend, start)?);
    }
    Ok(spans)
}

struct InFlight {
    ticket: Ticket,
    submit: (Duration, Duration),
}

impl InFlight {
    fn collect(self, backend: &mut dyn Backend, start: Instant) -> anyhow::Result<Span> {
        let begin = start.elapsed();
        let output = backend.collect(self.ticket)?;
        let collect = (begin, start.elapsed());
        Ok(Span {
            submit: self.submit,
            collect,
            stages: Sample::of(&output, collect.1 - self.submit.0).stages,
            hash: output.hash.combined(),
        })
    }
}

/// A sample is a whole round, divided by its ticks: so nothing counts twice, and what
/// is uneven from tick to tick does not matter.
fn row(way: Way, rounds: &[Vec<Span>], options: &Options, candidate: &Candidate) -> Row {
    let samples: Vec<Sample> = rounds.iter().map(|round| sample(round)).collect();
    let mut row = Row::of(NAME, candidate.name, way.name(), &samples);
    row.put("clients", options.clients);
    row.put("threads", candidate.threads);
    row.put("ticks_per_second", 1e3 / row.total_ms);
    if let Some(last) = rounds.last() {
        row.put("timeline", timeline::of(last));
        row.work = last.len() as u64;
        row.checksum = last
            .last()
            .map_or(String::new(), |span| format!("{:016x}", span.hash));
    }
    row
}

/// The average tick of a round.
fn sample(round: &[Span]) -> Sample {
    let ticks = round.len().max(1) as u32;
    let end = round.last().map_or(Duration::ZERO, |span| span.collect.1);
    let stages = Stage::ALL.iter().enumerate().map(|(i, stage)| {
        let all: Duration = round.iter().map(|span| span.stages[i].1).sum();
        (stage.name(), all / ticks)
    });
    Sample {
        total: end / ticks,
        stages: stages.collect(),
    }
}

/// What rows of this bench are called.
pub const NAME: &str = "overlap";
const WARM_UP_TICKS: usize = 4;
