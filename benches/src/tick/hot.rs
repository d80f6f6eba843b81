//! The hot entity: every update of a tick to one attribute of one entity, against the
//! same number spread evenly.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Frame, TickOutput};
use shared::{CommandKind, EntityId, Tick, WorldConfig};

use crate::report::markdown::{NOTHING, grouped, head, line, number, title};
use crate::report::{Report, Row, Sample};
use crate::tick::backends::{BASELINE, Candidate, EngineOptions, at_least_one};
use crate::tick::fight::ensure_nothing_dropped;

/// All updates to one attribute of one entity, against an even spread
///
/// Everyone heals somebody: everyone the same one, or each its neighbour. Nobody
/// watches, so that logic and merge are what is measured. The sums are checked.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many updates a tick, each by an entity of its own
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 23))]
    pub updates: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Timed ticks of the baseline
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    pub baseline_runs: usize,
    #[command(flatten)]
    pub engines: EngineOptions,
}

/// Measures, writes the table to `out` and returns the report. Fails where an update is
/// lost, or two backends disagree.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for spread in [Spread::One, Spread::Even] {
        let rows = measure(spread, options).with_context(|| spread.name().to_owned())?;
        report.rows.extend(rows);
    }
    options.engines.run.keep(&report)?;
    show(&report, out)?;
    Ok(report)
}

/// Who is healed.
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

    /// Whom the `i`-th of `n` heals.
    const fn target(self, i: usize, n: usize) -> usize {
        match self {
            Spread::One => 0,
            Spread::Even => (i + 1) % n,
        }
    }
}

/// A row for the baseline and one for each backend.
fn measure(spread: Spread, options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options.updates, options.engines.run.seed)?;
    let mut rows = vec![];
    let mut expected: Vec<u64> = vec![];
    let runs = options.runs as usize;
    let common = WARM_UP_TICKS + runs.min(options.baseline_runs);
    for candidate in options.engines.candidates() {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs.min(runs),
            false => runs,
        };
        let (samples, hashes) = sample(spread, &config, &candidate, WARM_UP_TICKS + runs)?;
        for (i, (found, expected)) in hashes.iter().zip(&expected).enumerate() {
            ensure!(
                found == expected,
                "after tick {}, {} has the state {found:x} where {} has {expected:x}",
                i + 1,
                candidate.name,
                BASELINE.name,
            );
        }
        let samples = &samples[WARM_UP_TICKS..];
        let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
        row.put("spread", spread.name());
        row.put("updates", options.updates);
        row.put("threads", candidate.threads);
        row.work = u64::from(options.updates);
        row.checksum = format!("{:016x}", hashes[common - 1]);
        eprintln!("{}, {}: {:.3} ms", spread.name(), row.backend, row.total_ms);
        rows.push(row);
        if expected.is_empty() {
            expected = hashes;
        }
    }
    Ok(rows)
}

/// Runs so many ticks; each one's time, and the hash of the state after it.
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
        frame.reset(Tick(tick));
        for (i, entity) in entities.iter().enumerate() {
            let target = entities[spread.target(i, entities.len())];
            frame.push(*entity, tick, CommandKind::Heal, &[target.reference().0]);
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

/// Whether every update of all ticks so far has arrived.
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

/// A world in which everyone can reach everyone, and nobody has any points.
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
    Ok(WorldConfig::parse(&text, "the hot entity's world")?)
}

/// Writes the table of a report.
pub fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "The hot entity")?;
    writeln!(
        out,
        "Times of a tick in milliseconds, medians. baseline: {}. On {}, {}.\n",
        BASELINE.approach,
        report.place(),
        report.date
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
    let rows = || report.rows.iter().filter(|row| row.scenario == NAME);
    let is = |row: &Row, spread: Spread| {
        row.params.get("spread").and_then(|s| s.as_str()) == Some(spread.name())
    };
    for one in rows().filter(|row| is(row, Spread::One)) {
        let even = rows().find(|row| {
            let same = ["updates", "threads"];
            is(row, Spread::Even)
                && row.backend == one.backend
                && same.iter().all(|name| row.whole(name) == one.whole(name))
        });
        let whole = |name| one.whole(name).map_or(NOTHING.to_owned(), grouped);
        let mut cells = vec![whole("updates"), one.backend.clone(), whole("threads")];
        for time in [|row: &Row| Some(row.total_ms), merge] {
            let times = (time(one), even.and_then(time));
            let ratio = times.0.zip(times.1).map(|(one, even)| one / even);
            cells.extend([times.0, times.1, ratio].map(number));
        }
        line(out, &cells)?;
    }
    Ok(())
}

fn merge(row: &Row) -> Option<f64> {
    row.stages_ms.get("merge").copied()
}

/// What rows of this bench are called.
pub const NAME: &str = "hot";
const WARM_UP_TICKS: usize = 3;
