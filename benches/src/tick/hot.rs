//! The hot entity: every update of a tick to one attribute of one entity, against the
//! same number spread evenly.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Frame, TickOutput};
use program::note;
use script::builtin;
use shared::{EntityId, Tick, WorldConfig};

use super::backends::{BASELINE, BackendOptions, Candidate};
use super::checks::{ensure_nothing_dropped, ensure_same};
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// Merging under contention. Fails where an update is lost or two backends disagree on
/// the state.
pub struct Hot;

/// All updates to one attribute of one entity, against an even spread
///
/// Every entity heals one: all the same entity, or each its neighbour. There are no
/// observers, so that logic and merge are measured. The sums are checked.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Updates per tick, each by an entity of its own
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 23))]
    updates: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Timed ticks of the baseline
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    baseline_runs: usize,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Hot {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for spread in [Spread::One, Spread::Even] {
            let rows = measure(spread, options).with_context(|| spread.name())?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        write(report, out)
    }
}

/// Which entities are healed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    One,
    Even,
}

impl Spread {
    const fn name(self) -> &'static str {
        match self {
            Spread::One => "one target",
            Spread::Even => "an even spread",
        }
    }

    /// The entity that the `i`-th of `n` heals.
    const fn target(self, i: usize, n: usize) -> usize {
        match self {
            Spread::One => 0,
            Spread::Even => (i + 1) % n,
        }
    }
}

/// A row for the baseline and one for each backend.
fn measure(spread: Spread, options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options.updates, options.backends.run.seed())?;
    let mut rows = vec![];
    let mut expected: Vec<u64> = vec![];
    let runs = options.runs as usize;
    let common = WARM_UP_TICKS + runs.min(options.baseline_runs);
    for candidate in options.backends.candidates() {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs.min(runs),
            false => runs,
        };
        let (samples, hashes) = sample(spread, &config, &candidate, WARM_UP_TICKS + runs)?;
        ensure_same(&candidate, &hashes, &expected)?;
        let samples = &samples[WARM_UP_TICKS..];
        let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
        row.put("spread", spread.name());
        row.put("updates", options.updates);
        row.put("threads", candidate.threads);
        row.work = u64::from(options.updates);
        row.checksum = format!("{:016x}", hashes[common - 1]);
        note!("{}, {}: {:.3} ms", spread.name(), row.backend, row.total_ms);
        rows.push(row);
        if expected.is_empty() {
            expected = hashes;
        }
    }
    Ok(rows)
}

/// Runs ticks; returns the time of each and the hash of the state after it.
fn sample(
    spread: Spread,
    config: &WorldConfig,
    candidate: &Candidate,
    ticks: usize,
) -> anyhow::Result<(Vec<Sample>, Vec<u64>)> {
    let mut backend = candidate.start(config)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    let births = backend.tick(&frame)?;
    let entities: Vec<EntityId> = births.births.iter().filter_map(|b| b.entity).collect();
    let (mut samples, mut hashes) = (vec![], vec![]);
    for tick in 1..=ticks as u32 {
        frame.reset(Tick(tick.into()));
        for (i, entity) in entities.iter().enumerate() {
            let target = entities[spread.target(i, entities.len())];
            frame.push(*entity, tick, builtin::HEAL, &[target.reference().0]);
        }
        frame.order(config.seed);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        samples.push(Sample::of(&output, begin.elapsed()));
        check(spread, entities.len(), tick, &output)?;
        hashes.push(output.hash.combined());
    }
    Ok((samples, hashes))
}

/// Fails if an update of any tick so far is lost.
fn check(spread: Spread, n: usize, tick: u32, output: &TickOutput) -> anyhow::Result<()> {
    ensure_nothing_dropped(output)?;
    let (healed, each) = match spread {
        Spread::One => (1, n as i32),
        Spread::Even => (n, 1),
    };
    let sum = each * tick as i32;
    let mut changes = output.changes.iter();
    ensure!(
        output.changes.slots.len() == healed && changes.all(|(_, _, values)| values == [sum]),
        "expected {sum} points at each of {healed} after tick {tick}"
    );
    Ok(())
}

/// A world in which every entity reaches every other and starts with 0 points.
fn config(entities: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let text = format!(
        r#"
        [world]
        name = "hot"
        size = [1000, 1000]
        aoi = 10
        capacity = {entities}
        seed = {seed}
        visible_max = 1

        [limits]
        clients = 1
        commands_per_tick = {entities}
        updates_per_tick = {entities}
        deliveries_per_tick = 1

        [commands]
        heal = {{ reach = 2000, amount = 1 }}

        [[kind]]
        name = "player"
        population = {entities}
        attributes = [
            {{ name = "hp", type = "i32", default = 0, min = 0, max = 2147483647, audience = "state" }},
        ]
        "#
    );
    Ok(world_file::parse(&text, "the hot entity's world")?)
}

fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "The hot entity")?;
    writeln!(
        out,
        "Times of a tick in milliseconds, medians. baseline: {}. {}\n",
        BASELINE.approach,
        report.origin()
    )?;
    head(
        out,
        &[
            "updates",
            "backend",
            "threads",
            "one target",
            "an even spread",
            "one / even",
            "merge: one target",
            "merge: an even spread",
            "one / even",
        ],
    )?;
    let rows = |spread: Spread| {
        let rows = report.rows.iter();
        rows.filter(move |row| row.text("spread") == Some(spread.name()))
    };
    for one in rows(Spread::One) {
        let even = rows(Spread::Even)
            .find(|row| row.backend == one.backend && row.has_same(one, &["updates", "threads"]));
        let mut cells = vec![
            one.cell("updates"),
            one.backend.clone(),
            one.cell("threads"),
        ];
        for time in [
            |row: &Row| Some(row.total_ms),
            |row: &Row| row.stage("merge"),
        ] {
            let times = (time(one), even.and_then(time));
            let ratio = times.0.zip(times.1).map(|(one, even)| one / even);
            cells.extend([times.0, times.1, ratio].map(number));
        }
        line(out, &cells)?;
    }
    Ok(())
}

const NAME: &str = "hot";
const WARM_UP_TICKS: usize = 3;
