//! Zones: who crosses their borders, against a loop in Rust, and against a world without zones.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::{Backend, Frame, TickOutput};
use program::note;
use script::builtin;
use script::logic::with_logic;
use shared::world::logic::Text;
use shared::world::mix::mix;
use shared::{EntityId, Tick, WorldConfig};

use super::backends::{BackendOptions, Candidate};
use super::checks::ensure_same;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

mod plain;

use plain::Plain;

/// Zones and their hooks. Fails where a crossing is missed, or two backends disagree.
pub struct Zones;

/// Entities that cross the borders of zones, against the same world without zones
///
/// Discs lie all over the world, and some of them are carried by entities. A part of the
/// entities moves in each tick. Hooks count for each entity how often it came in and went out; a
/// loop in Rust finds the same. The bench fails if it finds another number in any tick or
/// for any entity, or if two backends disagree on a state.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Entities, carriers of zones included
    #[arg(long, default_value = "100000", value_name = "N", value_parser = value_parser!(u32).range(100..=1 << 20))]
    entities: u32,
    /// Zones
    #[arg(long, default_value = "1000", value_name = "N", value_parser = value_parser!(u32).range(1..=4000))]
    zones: u32,
    /// Zones that an entity carries, of all zones
    #[arg(long, default_value = "100", value_name = "N", value_parser = value_parser!(u32).range(0..=4000))]
    carried: u32,
    /// Zones with hooks, of those that stay where they are; those that are carried have some
    #[arg(long, default_value = "100", value_name = "N", value_parser = value_parser!(u32).range(0..=120))]
    watched: u32,
    /// Entities that move in a tick, of a hundred
    #[arg(
        long,
        default_value = "1,100",
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = value_parser!(u32).range(0..=100)
    )]
    moving: Vec<u32>,
    /// Timed ticks
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Zones {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        ensure!(
            options.carried <= options.zones && options.carried <= options.entities / 2,
            "expected at most {} carried zones",
            options.zones.min(options.entities / 2)
        );
        for &moving in &options.moving {
            let rows = measure(moving, options).with_context(|| format!("{moving} % move"))?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        write(report, out)
    }
}

/// A row for the loop, and for each backend one without zones and one with them.
fn measure(moving: u32, options: &Options) -> anyhow::Result<Vec<Row>> {
    let worlds = [false, true].map(|has_zones| config(has_zones, options));
    let [without, with] = worlds;
    let worlds = [without?, with?];
    let mut rows: Vec<Row> = vec![];
    let mut expected: [Option<Vec<u64>>; 2] = [None, None];
    for candidate in options.backends.candidates() {
        for (config, expected) in worlds.iter().zip(&mut expected) {
            let zones = if config.schema.zones.is_empty() {
                0
            } else {
                options.zones
            };
            let played = play(moving, config, &candidate, options)?;
            let expected = expected.get_or_insert_with(|| played.hashes.clone());
            ensure_same(&candidate, &played.hashes, expected)?;
            if rows.len() == 1 {
                let looped = &played.looped[WARM_UP_TICKS..];
                let row = Row::of(NAME, LOOP, "a loop in Rust, one thread", looped);
                rows.insert(0, describe(row, 1, options.zones, played.crossings));
            }
            let samples = &played.samples[WARM_UP_TICKS..];
            let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
            row.checksum = format!("{:016x}", expected.last().copied().unwrap_or_default());
            rows.push(describe(row, candidate.threads, zones, played.crossings));
        }
    }
    for row in &mut rows {
        row.put("moving", moving);
        row.put("entities", options.entities);
        row.put("carried", options.carried);
        row.put("watched", options.watched);
        let (zones, index) = (row.cell("zones"), row.stage("index").unwrap_or_default());
        let (name, total) = (&row.backend, row.total_ms);
        note!("zones, {moving} % move, {name}, {zones} zones: {total:.3} ms, index {index:.3} ms");
    }
    Ok(rows)
}

fn describe(mut row: Row, threads: usize, zones: u32, crossings: u64) -> Row {
    row.put("threads", threads);
    row.put("zones", zones);
    row.put("crossings", crossings);
    row.work = crossings;
    row
}

/// What the ticks of a world took, and what was found in them.
struct Played {
    samples: Vec<Sample>,
    looped: Vec<Sample>,
    /// Of the state after each tick.
    hashes: Vec<u64>,
    /// Of all timed ticks.
    crossings: u64,
}

fn play(
    moving: u32,
    config: &WorldConfig,
    candidate: &Candidate,
    options: &Options,
) -> anyhow::Result<Played> {
    let mut backend = candidate.start(config)?;
    let has_zones = !config.schema.zones.is_empty();
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    let births = backend.tick(&frame)?;
    let (entities, places) = born(config, &births)?;
    let mut plain = Plain::new(config, places, options.watched);
    let waiting = births.counts.timed;
    drop(births);
    let mut played = Played {
        samples: vec![],
        looped: vec![],
        hashes: vec![],
        crossings: 0,
    };
    // Newborns come into the zones in which they are born.
    let entered = plain.enter_all();
    ensure!(
        !has_zones || waiting == entered,
        "{entered} entered, {waiting} hooks wait"
    );
    for tick in 1..=(WARM_UP_TICKS + options.runs) as u64 {
        let steps = steps(tick, moving, entities.len(), config.seed);
        frame.reset(Tick(tick));
        for &(entity, step) in &steps {
            frame.push(entities[entity], 0, builtin::MOVE, &step);
        }
        frame.order(config.seed);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        played.samples.push(Sample::of(&output, begin.elapsed()));
        played.hashes.push(output.hash.combined());
        if !has_zones {
            continue;
        }
        let (found, took) = looped(&mut plain, &steps);
        played.looped.push(Sample::of_stage("index", took));
        let waiting = output.counts.timed;
        ensure!(
            found == waiting,
            "tick {tick}: the loop found {found}, {waiting} hooks wait"
        );
        played.crossings += if tick > WARM_UP_TICKS as u64 {
            found
        } else {
            0
        };
    }
    if has_zones {
        check(&mut *backend, &mut frame, config, &plain)?;
    }
    Ok(played)
}

fn looped(plain: &mut Plain, steps: &[(usize, [i32; 2])]) -> (u64, Duration) {
    plain.walk(steps);
    let begin = Instant::now();
    let found = plain.cross();
    (found, begin.elapsed())
}

/// Runs the last hooks, and compares what all of them counted.
fn check(
    backend: &mut dyn Backend,
    frame: &mut Frame,
    config: &WorldConfig,
    plain: &Plain,
) -> anyhow::Result<()> {
    frame.reset(frame.tick.next());
    backend.tick(frame)?;
    let rows = backend.snapshot()?.rows;
    let columns = config.schema.attributes.len();
    for (name, expected) in [("enters", &plain.enters), ("exits", &plain.exits)] {
        let column = config.schema.column(name).context(name)?;
        let found = rows.chunks_exact(columns).map(|row| row[column]);
        ensure!(
            found.eq(expected.iter().copied()),
            "{name} differ from the loop's"
        );
    }
    Ok(())
}

/// The entities and their places, by slot.
fn born(
    config: &WorldConfig,
    output: &TickOutput,
) -> anyhow::Result<(Vec<EntityId>, Vec<[i32; 2]>)> {
    let columns = config.schema.attributes.len();
    let entities = output.births.iter().filter_map(|birth| birth.entity);
    let rows = output.birth_rows.chunks_exact(columns);
    let mut born: Vec<_> = entities.zip(rows.map(|row| [row[0], row[1]])).collect();
    born.sort_unstable_by_key(|(entity, _)| entity.slot);
    let has_all = (0..)
        .zip(&born)
        .all(|(slot, (entity, _))| entity.slot.0 == slot);
    ensure!(has_all, "expected entities in the first slots");
    Ok(born.into_iter().unzip())
}

/// The entities that move in a tick, and their steps.
fn steps(tick: u64, moving: u32, entities: usize, seed: u64) -> Vec<(usize, [i32; 2])> {
    let moves = |&entity: &usize| (entity as u64 + tick) % 100 < u64::from(moving);
    let step = |entity: usize| {
        let drawn = mix(mix(seed, tick), entity as u64);
        let along = |bits: u64| (bits % 8193) as i32 - 4096;
        (entity, [along(drawn & 0xffff_ffff), along(drawn >> 32)])
    };
    (0..entities).filter(moves).map(step).collect()
}

fn config(has_zones: bool, options: &Options) -> anyhow::Result<WorldConfig> {
    let &Options {
        entities,
        zones,
        carried,
        ..
    } = options;
    let seed = options.backends.run.seed();
    let players = entities - carried;
    let attributes = r#"attributes = [
            { name = "enters", type = "i32", audience = "hidden" },
            { name = "exits", type = "i32", audience = "hidden" },
        ]"#;
    let mut text = format!(
        r#"
        [world]
        name = "zones"
        size = [{SIDE}, {SIDE}]
        aoi = 50
        capacity = {entities}
        seed = {seed}
        visible_max = 1

        [limits]
        clients = 1
        timed_commands = {entities}
        commands_per_tick = {commands}
        updates_per_tick = {updates}
        deliveries_per_tick = 1

        [logic]
        builtin = ["move"]

        [commands]
        move = {{ speed_max = 10 }}

        [[kind]]
        name = "player"
        population = {players}
        {attributes}

        [[kind]]
        name = "cart"
        population = {carried}
        {attributes}
        "#,
        commands = 2 * entities,
        updates = 4 * entities,
    );
    if has_zones {
        for zone in 0..zones - carried {
            let [x, y] = [1, 2].map(|axis| mix(mix(seed, axis), zone.into()) % u64::from(SIDE));
            text +=
                &format!("[[zone]]\nname = \"{zone}\"\ncenter = [{x}, {y}]\nradius = {RADIUS}\n");
        }
        if carried > 0 {
            text += &format!("[[zone]]\nname = \"own\"\ncarrier = \"cart\"\nradius = {RADIUS}\n");
        }
    }
    let config = world_file::parse(&text, "the world of zones")?;
    let mut logic = config.logic.clone();
    logic
        .texts
        .push(Text::new("count.rs", hooks(&config, options.watched)));
    with_logic(&config, &logic).map_err(|problems| anyhow::anyhow!("{}", problems[0]))
}

/// Two for each zone that is watched.
fn hooks(config: &WorldConfig, watched: u32) -> String {
    let mut text = String::new();
    for (number, zone) in (0..).zip(&config.schema.zones) {
        if zone.carrier.is_none() && number >= watched {
            continue;
        }
        let name = &zone.name;
        text += &format!(
            "#[on(enter, {name:?})] fn enter_{number}(me: Entity) {{ me.enters += 1; }}\n\
             #[on(exit, {name:?})] fn exit_{number}(me: Entity) {{ me.exits += 1; }}\n"
        );
    }
    text
}

fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "Borders of zones")?;
    writeln!(
        out,
        "Times in milliseconds, medians; what zones add: to the same world without zones, in the \
         same run. {}\n",
        report.origin()
    )?;
    let columns = [
        "moving %",
        "zones",
        "subject",
        "threads",
        "whole tick",
        "due",
        "logic",
        "lifecycle",
        "index",
        "zones add to index",
        "to the tick",
    ];
    head(out, &columns)?;
    for row in &report.rows {
        let is_same = |other: &&Row| {
            let is_none = other.whole("zones") == Some(0) && row.whole("zones") != Some(0);
            is_none && other.backend == row.backend && other.has_same(row, &["moving", "threads"])
        };
        let without = report.rows.iter().find(is_same);
        let added = |of: &dyn Fn(&Row) -> Option<f64>| Some(of(row)? - of(without?)?);
        let mut cells = vec![
            row.cell("moving"),
            row.cell("zones"),
            row.backend.clone(),
            row.cell("threads"),
            number(Some(row.total_ms)),
        ];
        let stages = ["due", "logic", "lifecycle", "index"];
        cells.extend(stages.map(|stage| number(row.stage(stage))));
        cells.push(number(added(&|row| row.stage("index"))));
        cells.push(number(added(&|row| Some(row.total_ms))));
        line(out, &cells)?;
    }
    Ok(())
}

const NAME: &str = "zones";
const LOOP: &str = "loop";
const WARM_UP_TICKS: usize = 4;
/// The world's edge and a zone's radius, in units.
const SIDE: u32 = 2000;
const RADIUS: u32 = 10;
