//! Two ticks in flight against one at a time: the same frames both ways, with a
//! timeline of when each tick was submitted and collected.

mod timeline;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Backend, Frame, Snapshot, Stage, SubmittedTick};

use super::backends::{BackendOptions, Candidate};
use super::checks::ensure_nothing_dropped;
use super::fight::Arena;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::plot::Chart;
use crate::report::{Recorder, Report, Row, Sample};

/// The overlap of ticks. Fails where the two ways disagree on the state.
pub struct Overlap;

/// Two ticks in flight against one at a time, in a fight
///
/// With two in flight the next tick is submitted before the last one is collected, so
/// that one's download overlaps the other's upload and work. Both ways run the same
/// frames from the same snapshot. The bench fails if they differ in the state after any
/// tick.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Number of clients
    #[arg(long, default_value = "524288", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 23))]
    clients: u32,
    /// Ticks of a timeline
    #[arg(long, default_value = "10", value_name = "N", value_parser = at_least_one)]
    ticks: usize,
    /// Timelines to measure; the last one is shown
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Overlap {
    const NAME: &'static str = NAME;
    const DRAWS: bool = true;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for candidate in options.backends.named() {
            let rows = measure(options, &candidate).context(candidate.name)?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        timeline::tables(report, out)
    }

    fn charts(report: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
        timeline::charts(report)
    }
}

/// The number of ticks in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipeline {
    One,
    Two,
}

impl Pipeline {
    const ALL: [Pipeline; 2] = [Pipeline::One, Pipeline::Two];

    const fn name(self) -> &'static str {
        match self {
            Pipeline::One => "one tick at a time",
            Pipeline::Two => "two ticks in flight",
        }
    }
}

/// One tick, on a clock that starts with the first tick.
#[derive(Clone, Debug)]
struct Span {
    submit: (Duration, Duration),
    collect: (Duration, Duration),
    stages: Vec<(&'static str, Duration)>,
    /// The hash of the state after the tick.
    hash: u64,
}

/// A row for each way.
fn measure(options: &Options, candidate: &Candidate) -> anyhow::Result<Vec<Row>> {
    let mut arena = Arena::populated(options.clients, options.backends.run.seed(), candidate)?;
    for _ in 0..WARM_UP_TICKS {
        arena.tick()?;
    }
    let snapshot = arena.backend.snapshot()?;
    // A frame depends on the deliveries of the tick before.
    let (mut frames, mut expected) = (vec![], vec![]);
    for _ in 0..options.ticks {
        let frame = arena.frames.next(&arena.output).clone();
        arena.output = arena.backend.tick(&frame)?;
        ensure_nothing_dropped(&arena.output)?;
        expected.push(arena.output.hash.combined());
        frames.push(frame);
    }
    // Not timed: a backend may prepare memory that it sees again.
    run_through(arena.backend.as_mut(), &snapshot, &frames, Pipeline::Two)?;
    let mut rounds = Pipeline::ALL.map(|way| (way, vec![]));
    for _ in 0..options.runs {
        for (way, spans) in &mut rounds {
            let round = run_through(arena.backend.as_mut(), &snapshot, &frames, *way)?;
            let found = round.iter().map(|span| span.hash);
            ensure!(
                found.eq(expected.iter().copied()),
                "{} ends in another state",
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
    way: Pipeline,
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
            Pipeline::One => spans.push(submitted.collect(backend, start)?),
            Pipeline::Two => {
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
    ticket: SubmittedTick,
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

/// A sample is the time of a whole round divided by its ticks, since the times of
/// overlapping ticks cannot be added.
fn row(way: Pipeline, rounds: &[Vec<Span>], options: &Options, candidate: &Candidate) -> Row {
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

const NAME: &str = "overlap";
const WARM_UP_TICKS: usize = 4;
