//! Random scripts compile, and do the same on the interpreter and as machine code.
//!
//! `SCRIPT_SEED=7` runs one script, `SCRIPT_SEEDS=1000000` the first million.

use std::env;
use std::ops::Range;

use script::interpreter::NoEffect;
use script::{Command, Logic};
use shared::world::logic::{Constants, Text};
use shared::{AttributeType, EntityId, EntityRef, Schema};

use crate::common;
use crate::common::random::{COLLECTIONS, Dice, random_script};
use crate::common::{Done, TestWorld, compile_for};

#[test]
fn random_scripts_do_the_same_whatever_runs_them() {
    let scripts = seeds();
    let worlds = [
        common::WORLD,
        "",
        include_str!("../../../shared/tests/worlds/deep.toml"),
        include_str!("../../../shared/tests/worlds/rich.toml"),
        include_str!("../../../shared/tests/worlds/wide.toml"),
        COLLECTIONS,
    ];
    let schemas = worlds.map(|world| world_file::parse(world, "test").unwrap().schema);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let sums = std::thread::scope(|scope| {
        let run = |thread| {
            let seeds = (scripts.start + thread..scripts.end).step_by(threads as usize);
            let schema = |seed| &schemas[seed as usize % schemas.len()];
            seeds
                .map(|seed| check(seed, schema(seed)))
                .fold(Sums::default(), Sums::plus)
        };
        let threads: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || run(thread)))
            .collect();
        let sums = threads.into_iter().map(|thread| thread.join().unwrap());
        sums.fold(Sums::default(), Sums::plus)
    });
    println!("{sums:?}");
    if sums.runs < 10_000 {
        return;
    }
    // The scripts do something, and some of everything.
    assert!(sums.overruns * 10 < sums.runs && sums.overruns * 1000 > sums.runs);
    assert!(sums.updates > sums.runs && sums.afters * 10 > sums.runs);
    assert!(sums.notifications * 20 > sums.runs && sums.idle * 2 < sums.runs);
}

/// Compiling them bounds the test.
const SCRIPTS: u64 = 2_500;

fn seeds() -> Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match number("SCRIPT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SCRIPT_SEEDS").unwrap_or(SCRIPTS),
    }
}

/// Compiles and runs one random script.
fn check(seed: u64, schema: &Schema) -> Sums {
    let texts = random_script(&mut Dice::new(seed), schema, "");
    let _shown = Shown {
        seed,
        texts: &texts,
    };
    let logic = match compile_for(schema, &texts, &Constants::default()) {
        Ok(logic) => logic,
        Err(problems) => panic!("{}", problems[0]),
    };
    let mut sums = Sums {
        instructions: logic.commands.iter().map(|c| c.code.insts.len()).sum(),
        ..Sums::default()
    };
    let mut dice = Dice::new(!seed);
    #[cfg(feature = "native")]
    let native = common::native::compile(&logic, &TestWorld::of(schema.clone()));
    for _ in 0..2 {
        let world = random_world(&mut dice, schema);
        for command in &logic.commands {
            let words = random_words(&mut dice, &world, command);
            let entity = match command.schema.has_actor {
                true => living(&mut dice, &world),
                false => EntityId::NONE,
            };
            let first = world.run(command, entity, &words);
            assert_eq!(first, world.run(command, entity, &words));
            #[cfg(feature = "native")]
            {
                let found = common::native::run(&native, &world, command, entity, &words);
                assert_eq!(found, first, "{} as machine code", command.schema.name);
            }
            sums.add(&logic, &first);
        }
    }
    sums
}

#[derive(Debug, Default)]
struct Sums {
    instructions: usize,
    runs: usize,
    overruns: usize,
    idle: usize,
    updates: usize,
    afters: usize,
    notifications: usize,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums {
            instructions: self.instructions + other.instructions,
            runs: self.runs + other.runs,
            overruns: self.overruns + other.overruns,
            idle: self.idle + other.idle,
            updates: self.updates + other.updates,
            afters: self.afters + other.afters,
            notifications: self.notifications + other.notifications,
        }
    }

    fn add(&mut self, logic: &Logic, run: &Result<Done, NoEffect>) {
        self.runs += 1;
        match run {
            Ok(done) => {
                self.idle += usize::from(*done == Done::default());
                self.updates += done.updates.len();
                self.afters += done.afters.len();
                self.notifications += done.notifications.len();
                for (_, _, kind, words) in &done.afters {
                    let command = logic.command(shared::CommandKind(*kind));
                    assert!(command.is_none_or(|c| c.schema.words.len() == words.len()));
                }
            }
            Err(NoEffect::Refused | NoEffect::Moved) => {}
            Err(NoEffect::Overrun) => self.overruns += 1,
        }
    }
}

/// Prints a script whose test fails.
struct Shown<'a> {
    seed: u64,
    texts: &'a [Text],
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the failing seed is {}", self.seed);
            for text in self.texts {
                eprintln!("==== {}\n{}", text.file, text.text);
            }
        }
    }
}

/// Entities with any values, some of them dead.
fn random_world(dice: &mut Dice, schema: &Schema) -> TestWorld {
    let mut world = TestWorld::of(schema.clone());
    let count = 2 + dice.below(12);
    for slot in 0..count {
        if slot > 0 && dice.once_in(5) {
            world.rows.push(None);
            continue;
        }
        let kind = dice.below(schema.kinds.len());
        let mut row = schema.default_row(kind);
        for (axis, size) in schema.world.size.iter().enumerate() {
            row[axis] = dice.below(size.raw().min(60 << 12) as usize) as i32;
        }
        for attribute in &schema.kinds[kind].attributes {
            let column = usize::from(attribute.column);
            if column < schema.dimensions() || dice.once_in(3) {
                continue;
            }
            row[column] = match schema.attributes[column].ty {
                AttributeType::I32
                | AttributeType::Fixed
                | AttributeType::I64
                | AttributeType::High => number(dice),
                AttributeType::Bool => dice.below(2) as i32,
                AttributeType::Symbol => dice.below(schema.symbols.len()) as i32,
                AttributeType::Text => dice.below(1 << 20) as i32,
                AttributeType::Entity => reference(dice, count),
            };
        }
        world
            .rows
            .push(Some((kind as u16, 1 + dice.below(3) as u32, row)));
    }
    world
}

fn number(dice: &mut Dice) -> i32 {
    match dice.below(4) {
        0 => dice.any(),
        1 => dice.pick(&[i32::MAX, i32::MIN, 4096, -4096]),
        _ => dice.below(100) as i32 - 20,
    }
}

/// A reference to a slot of the world: perhaps to what lives there.
fn reference(dice: &mut Dice, slots: usize) -> i32 {
    match dice.once_in(4) {
        true => EntityRef::NONE.0,
        false => {
            let generation = 1 + dice.below(3) as u32;
            EntityId::new(dice.below(slots) as u32, generation)
                .reference()
                .0
        }
    }
}

fn living(dice: &mut Dice, world: &TestWorld) -> EntityId {
    loop {
        let slot = dice.below(world.rows.len());
        if let Some((_, generation, _)) = &world.rows[slot] {
            return EntityId::new(slot as u32, *generation);
        }
    }
}

fn random_words(dice: &mut Dice, world: &TestWorld, command: &Command) -> Vec<i32> {
    let words = command.schema.words.iter();
    let words = words.map(|word| match word.ty {
        AttributeType::Entity if !dice.once_in(4) => reference(dice, world.rows.len()),
        AttributeType::Fixed if dice.once_in(2) => dice.below(60 << 12) as i32,
        _ => number(dice),
    });
    words.collect()
}
