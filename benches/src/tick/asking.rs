//! Questions of scripts that look at much of the world: what a tick costs with one, against the same
//! tick without.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Backend, Frame};
use program::note;
use shared::world::field::FIELDS_MAX;
use shared::world::mix::Random;
use shared::{CommandKind, EntityId, Tick, WorldConfig};

use super::backends::{BASELINE, BackendOptions, Candidate};
use super::checks::{ensure_nothing_dropped, ensure_same};
use super::fight;
use super::worlds::with_commands;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// Rankings, ways around walls, flow fields, and what entities hold. Fails where two backends disagree on the state.
pub struct Asking;

/// What a script's questions cost: the place in a ranking, the first of it, ways around walls
///
/// In each tick some of the entities give a command that asks, or one that does the same without
/// asking. All entities are in the ranking, and have another number in each tick if they ask. The
/// world has walls, and no observers. In a world of its own, entities hold as many things.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Entities, all of which are ranked
    #[arg(long, default_value = "1048576", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 22))]
    entities: u32,
    /// How many of them ask in a tick
    #[arg(long, default_value = "20000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 22))]
    asking: u32,
    /// How many of a hundred blocks of cells are walls
    #[arg(long, default_value = "10", value_name = "PERCENT", value_parser = value_parser!(u32).range(1..=50))]
    walls: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// Timed ticks of the baseline
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    baseline_runs: usize,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Asking {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        let plain = world(options, fight::CELLS_MAX, "")?;
        for (question, _, reach) in QUESTIONS {
            let other = match question {
                "toward" => Some(world(options, fight::CELLS_MAX, STILL)?),
                "refreshed" => Some(world(options, fight::CELLS_MAX, REFRESHED)?),
                "fields" => Some(world(options, FEW_CELLS_MAX, &fields(options.entities))?),
                "spend" | "held" | "pay" => Some(coins(options)?),
                _ => None,
            };
            let world = other.as_ref().unwrap_or(&plain);
            let rows = measure(question, reach, world, options).with_context(|| question)?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        write(report, out)
    }
}

/// A row for the baseline and one for each backend.
fn measure(
    question: &str,
    reach: i32,
    world: &WorldConfig,
    options: &Options,
) -> anyhow::Result<Vec<Row>> {
    let command = world.schema.command_named(question).context("no command")?;
    let mut rows = vec![];
    let mut expected: Vec<u64> = vec![];
    let common = WARM_UP_TICKS + options.runs.min(options.baseline_runs);
    for candidate in options.backends.candidates() {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs.min(options.runs),
            false => options.runs,
        };
        let ticks = WARM_UP_TICKS + runs;
        let (samples, hashes) = sample((command.kind, reach), world, &candidate, options, ticks)?;
        ensure_same(&candidate, &hashes, &expected)?;
        let samples = &samples[WARM_UP_TICKS..];
        let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
        row.put("question", question);
        row.put("entities", options.entities);
        row.put("asking", options.asking);
        row.put("threads", candidate.threads);
        row.work = u64::from(options.asking);
        row.checksum = format!("{:016x}", hashes[common - 1]);
        let logic = row.stage("logic").unwrap_or_default();
        note!("{question}, {}: {logic:.3} ms of logic", row.backend);
        rows.push(row);
        if expected.is_empty() {
            expected = hashes;
        }
    }
    Ok(rows)
}

/// Runs ticks; returns the time of each and the hash of the state after it.
fn sample(
    (command, reach): (CommandKind, i32),
    world: &WorldConfig,
    candidate: &Candidate,
    options: &Options,
    ticks: usize,
) -> anyhow::Result<(Vec<Sample>, Vec<u64>)> {
    let mut backend = candidate.start(world)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(world);
    let births = backend.tick(&frame)?;
    let born = births.births.iter().filter_map(|birth| birth.entity);
    let entities: Vec<EntityId> = born.take(options.asking as usize).collect();
    ensure!(
        entities.len() == options.asking as usize,
        "--asking is more than --entities"
    );
    let walls = world.schema.layers.blocked();
    let reach = walls.map_or(0, |walls| reach << walls.grid.edge_bits);
    if let Some(column) = world.schema.holder_column() {
        hand_out(&mut *backend, world, column)?;
    }
    let (mut samples, mut hashes) = (vec![], vec![]);
    for tick in (1..=ticks as u64).map(Tick) {
        frame.reset(tick);
        let rows = places(&mut *backend, world)?;
        for &entity in &entities {
            let mut random = Random::new(world.seed, tick, entity);
            let goal = rows[entity.slot.index()].map(|at| at + random.around_zero(reach));
            frame.push(entity, tick.low(), command, &goal);
        }
        frame.order(world.seed);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        samples.push(Sample::of(&output, begin.elapsed()));
        ensure_nothing_dropped(&output)?;
        hashes.push(output.hash.combined());
    }
    Ok((samples, hashes))
}

/// Gives each player as many coins, and a friend: the next player.
fn hand_out(backend: &mut dyn Backend, world: &WorldConfig, column: usize) -> anyhow::Result<()> {
    let mut state = backend.snapshot()?;
    let friend = world.schema.column("friend").context("no friends")?;
    let players = state.kinds.iter().filter(|&&kind| kind == 0).count();
    let entity = |slot: usize| {
        EntityId::new(slot as u32, state.generations[slot])
            .reference()
            .0
    };
    let references: Vec<i32> = (0..players).map(entity).collect();
    for (slot, row) in state
        .rows
        .chunks_exact_mut(world.schema.attributes.len())
        .enumerate()
    {
        match slot < players {
            true => row[friend] = references[(slot + 1) % players],
            // Those of a player are far apart.
            false => row[column] = references[slot % players],
        }
    }
    Ok(backend.restore(&state)?)
}

/// Where each entity is, by slot.
fn places(backend: &mut dyn Backend, world: &WorldConfig) -> anyhow::Result<Vec<[i32; 2]>> {
    let rows = backend.snapshot()?.rows;
    let rows = rows.chunks_exact(world.schema.attributes.len());
    Ok(rows.map(|row| [row[0], row[1]]).collect())
}

/// The world of the fight with its walls, a ranking, maybe a field, and a command for each question that
/// it can answer.
fn world(options: &Options, cells_max: u32, field: &str) -> anyhow::Result<WorldConfig> {
    let seed = options.backends.run.seed();
    let config = fight::walled_with(
        options.entities,
        seed,
        (options.walls, cells_max),
        &format!("{RANKING}\n{field}"),
    )?;
    let asked = QUESTIONS.iter().filter(|(_, question, _)| {
        let is_of_field = !field.is_empty() || !question.contains("toward");
        is_of_field && !question.contains("worth")
    });
    with_questions(&config, asked)
}

/// A world in which players hold coins, with a command for each question about them.
fn coins(options: &Options) -> anyhow::Result<WorldConfig> {
    let (coins, seed) = (options.entities, options.backends.run.seed());
    let players = (coins / COINS_EACH).max(options.asking);
    let text = format!(
        r#"
        [world]
        size = [1000, 1000]
        aoi = 10
        capacity = {capacity}
        seed = {seed}
        [limits]
        clients = {players}
        commands_per_tick = {capacity}
        updates_per_tick = {updates}
        [logic]
        builtin = []
        [[kind]]
        name = "player"
        population = {players}
        attributes = [
            {{ name = "hp", type = "i32", default = 1000000, audience = "state" }},
            {{ name = "friend", type = "entity", audience = "state" }},
        ]
        [[kind]]
        name = "coin"
        place = "none"
        population = {coins}
        attributes = [{{ name = "worth", type = "i32", default = 3, audience = "state" }}]
        "#,
        capacity = players + coins,
        updates = 4 * u64::from(players) + 65_536,
    );
    let config = world_file::parse(&text, "the world of coins")?;
    let asked = QUESTIONS.iter();
    with_questions(
        &config,
        asked.filter(|(_, question, _)| question.contains("worth")),
    )
}

fn with_questions<'a>(
    config: &WorldConfig,
    asked: impl Iterator<Item = &'a (&'static str, &'static str, i32)>,
) -> anyhow::Result<WorldConfig> {
    let scripts = asked.map(|(name, question, _)| {
        let text =
            format!("#[command(clients)]\nfn {name}(me: Entity, at: Point) {{ {question} }}\n");
        (*name, text)
    });
    let scripts: Vec<_> = scripts.collect();
    with_commands(
        config,
        scripts.iter().map(|(name, text)| (*name, &text[..])),
    )
}

/// As many fields as a world may have, all of them found anew every 16 ticks. (On a CPU only if their
/// goals or doors are others, which they are not.)
fn fields(entities: u32) -> String {
    let side = fight::side(entities);
    let field = |number: usize| {
        let name = match number {
            0 => "goal".to_owned(),
            number => format!("goal_{number}"),
        };
        // Far from each other.
        let [x, y] = [0.6180, 0.7549].map(|ratio| side * (ratio * (number + 1) as f64).fract());
        format!(
            "[[zone]]\nname = \"{name}\"\ncenter = [{x:.0}, {y:.0}]\nradius = 20\n\
             [[field]]\nname = \"{name}\"\nzone = \"{name}\"\nrefresh_ticks = 16\n"
        )
    };
    (0..FIELDS_MAX).map(field).collect()
}

fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "Questions of scripts")?;
    writeln!(
        out,
        "Times of a tick in milliseconds, medians. baseline: {}. {}\n",
        BASELINE.approach,
        report.origin()
    )?;
    head(
        out,
        &[
            "question",
            "entities",
            "asking",
            "backend",
            "threads",
            "a tick",
            "logic",
            "more than without",
            "logic, ns each",
        ],
    )?;
    for row in &report.rows {
        let question = row.text("question").unwrap_or_default();
        let without = WITHOUT.iter().find(|(with, _)| *with == question);
        let without = without.and_then(|(_, without)| {
            let mut rows = report.rows.iter();
            rows.find(|other| {
                other.text("question") == Some(without)
                    && other.backend == row.backend
                    && other.has_same(row, &["entities", "asking", "threads"])
            })
        });
        let more = without.map(|without| row.total_ms - without.total_ms);
        let of_logic = without.and_then(|without| {
            let both = row.stage("logic").zip(without.stage("logic"));
            both.map(|(with, without)| with - without)
        });
        let asking = row.whole("asking").unwrap_or(1) as f64;
        line(
            out,
            &[
                question.to_owned(),
                row.cell("entities"),
                row.cell("asking"),
                row.backend.clone(),
                row.cell("threads"),
                number(Some(row.total_ms)),
                number(row.stage("logic")),
                number(more),
                number(of_logic.map(|ms| ms * 1e6 / asking)),
            ],
        )?;
    }
    Ok(())
}

const NAME: &str = "asking";
/// A field that stays as it is, and one that is found anew in each tick.
const STILL: &str = "[[zone]]\nname = \"goal\"\ncenter = [20, 20]\nradius = 20\n\
                     [[field]]\nname = \"goal\"\nzone = \"goal\"\nrefresh_ticks = 10";
const REFRESHED: &str = "[[field]]\nname = \"goal\"\nkind = \"player\"\nrefresh_ticks = 1";
/// Cells of walls along an axis in a world with as many fields as there can be.
const FEW_CELLS_MAX: u32 = 1024;
const RANKING: &str = "[[ranking]]\nname = \"hp\"\nkind = \"player\"\nby = \"hp\"";
/// What commands do that ask, and that don't, and how many cells away their goals are at most, along
/// an axis.
const QUESTIONS: [(&str, &str, i32); 13] = [
    ("hit", "me.hp -= 1;", 0),
    ("place", "me.hp -= 1 + rank(me, \"hp\") % 2;", 0),
    (
        "first",
        "let mut sum = 0; for it in top(\"hp\", 10) { sum += it.hp % 2; } me.hp -= 1 + sum;",
        0,
    ),
    (
        "look",
        "let mut hit = 1; if sees(me, at) { hit = 2; } me.hp -= hit;",
        30,
    ),
    ("step", "me.position += slide(me, point(0.25, 0.25));", 0),
    ("way", "me.position += approach(me, at, 0.5, 15);", 6),
    ("wide_way", "me.position += approach(me, at, 0.5, 31);", 14),
    ("toward", "me.position += toward(me, \"goal\", 0.5);", 0),
    ("refreshed", "me.position += toward(me, \"goal\", 0.5);", 0),
    ("fields", "me.position += toward(me, \"goal\", 0.5);", 0),
    ("spend", "me.hp -= 1 + me.friend.worth;", 0),
    (
        "held",
        "let mut sum = 0; for it in held_by(me, \"coin\") { sum += it.worth; } me.hp -= 1 + sum;",
        0,
    ),
    (
        "pay",
        "for it in held_by(me, \"coin\") { if it.worth > 0 { it.holder = me.friend; break; } }",
        0,
    ),
];
/// Questions, each with what does the same without asking.
const WITHOUT: [(&str, &str); 10] = [
    ("place", "hit"),
    ("first", "hit"),
    ("look", "hit"),
    ("way", "step"),
    ("wide_way", "step"),
    ("toward", "step"),
    ("refreshed", "step"),
    ("fields", "step"),
    ("held", "spend"),
    ("pay", "spend"),
];
/// Coins of a player.
const COINS_EACH: u32 = 20;
const WARM_UP_TICKS: usize = 3;
