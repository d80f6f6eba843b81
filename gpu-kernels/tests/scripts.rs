//! Random scripts, in whole worlds, on every backend: machine code, the interpreter, and the
//! GPU where there is one.
//!
//! `SCRIPT_SEED=7` runs the world of one seed; `SCRIPT_SEEDS=10000` runs as many worlds as
//! have the first 10,000 scripts.

#[path = "../script/tests/common/random.rs"]
mod random;

use std::env;
use std::ops::Range;
use std::thread;

use gpu_kernels::CpuBackend;
use gpu_kernels::logic::Engine;
use shared::WorldConfig;
use shared::world::logic::Text;
use testkit::backends::{self, Starter};
use testkit::scripts::with_texts;
use testkit::trial;

use random::{COLLECTIONS, Dice, random_script};

#[test]
fn worlds_of_random_scripts_are_alike_on_every_backend() {
    let worlds = worlds();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let all = thread::scope(|scope| {
        let run = |first: usize| {
            let backends = backends();
            let mine = worlds.clone().skip(first).step_by(threads);
            mine.map(|seed| played(seed, &backends)).collect()
        };
        let threads: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || run(first)))
            .collect();
        let parts = threads.into_iter().map(|thread| thread.join().unwrap());
        parts
            .flat_map(|part: Vec<Sums>| part)
            .fold(Sums::default(), Sums::plus)
    });
    println!("{all:?}");
    // The scripts do something.
    assert!(
        all.changes * 10 > all.runs && all.over_budget > 0,
        "{all:?}"
    );
}

/// Plays the world of a seed on all backends.
fn played(seed: u64, backends: &[Starter]) -> Sums {
    let (config, texts) = world(seed);
    let tried = trial::run(&config, backends, seed, |tried| tried.ticks == TICKS);
    let tried = tried.unwrap_or_else(|error| {
        for text in &texts {
            eprintln!("==== {}\n{}", text.file, text.text);
        }
        panic!("SCRIPT_SEED={seed}, {error}");
    });
    Sums {
        worlds: 1,
        scripts: SCRIPTS_PER_WORLD,
        commands: config.schema.commands.len() as u64 - 2,
        runs: tried.commands,
        changes: tried.changes,
        over_budget: tried.over_budget.values().sum(),
    }
}

/// A world with many scripts, of which each has several commands: so a GPU compiles many at
/// a time.
fn world(seed: u64) -> (WorldConfig, Vec<Text>) {
    let file = match seed % 3 {
        0 => format!("{HEAD}{FLAT}"),
        1 => DEEP.to_owned(),
        _ => format!("{HEAD}{COLLECTIONS}"),
    };
    let config = world_file::parse(&file, "world").unwrap();
    let scripts = (0..SCRIPTS_PER_WORLD).flat_map(|number| {
        let mut dice = Dice::new(seed * SCRIPTS_PER_WORLD + number);
        random_script(&mut dice, &config.schema, &format!("S{number}x"))
    });
    let texts: Vec<Text> = scripts.collect();
    (with_texts(&config, texts.clone()), texts)
}

fn worlds() -> Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    match number("SCRIPT_SEED") {
        Some(seed) => seed..seed + 1,
        None => {
            0..number("SCRIPT_SEEDS")
                .unwrap_or(200)
                .div_ceil(SCRIPTS_PER_WORLD)
        }
    }
}

/// Each kind once: the first one is what the others are compared with.
fn backends() -> Vec<Starter> {
    let cpu = |label: &str, engine| {
        Starter::new(label, move |config| {
            Ok(Box::new(CpuBackend::with_engine(config, 1, None, engine)?))
        })
    };
    let mut backends = vec![
        cpu("cpu with the interpreter", Engine::Interpreter),
        cpu("cpu", Engine::Fastest),
    ];
    backends.extend(backends::cuda());
    backends
}

/// The amount that was compared.
#[derive(Debug, Default)]
struct Sums {
    worlds: u64,
    scripts: u64,
    commands: u64,
    runs: u64,
    changes: u64,
    over_budget: u64,
}

impl Sums {
    fn plus(self, other: Sums) -> Sums {
        Sums {
            worlds: self.worlds + other.worlds,
            scripts: self.scripts + other.scripts,
            commands: self.commands + other.commands,
            runs: self.runs + other.runs,
            changes: self.changes + other.changes,
            over_budget: self.over_budget + other.over_budget,
        }
    }
}

/// A world has 62 notifications of its own at most, and a script 3.
const SCRIPTS_PER_WORLD: u64 = 20;
/// Each tick has several commands of each script.
const TICKS: u32 = 8;

/// The flat world, whose kinds are of [`FLAT`] or [`COLLECTIONS`].
const HEAD: &str = r#"
[world]
size = [100, 100]
aoi = 10
capacity = 200
[limits]
clients = 1
rewind_ticks = 4
timed_commands = 1000
notifications_per_tick = 10000
[logic]
builtin = []
"#;

/// Attributes of all types and merge rules.
const FLAT: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "hp", type = "i32", default = 100, min = 0, max = 100, audience = "state" },
    { name = "speed", type = "fixed", default = 1.5, merge = "last", audience = "state" },
    { name = "target", type = "entity", merge = "first", audience = "state" },
    { name = "team", type = "symbol", symbols = ["red", "blue"], audience = "state" },
    { name = "alert", type = "bool", audience = "movement" },
    { name = "best", type = "i32", merge = "max", audience = "state" },
]

[[kind]]
name = "item"
attributes = [
    { name = "owner", type = "entity", merge = "first", audience = "state" },
    { name = "ripe", type = "bool", default = true, audience = "state" },
    { name = "least", type = "fixed", merge = "min", audience = "state" },
]

[[layer]]
name = "blocked"
cell = 16
drawing = """
.......
..#.##.
..#....
.###.#.
...#.#.
.#.#.#.
.#.....
"""

[[field]]
name = "item"
kind = "item"
refresh_ticks = 2

[[field]]
name = "corner"
places = [[99, 1], [1, 99]]
refresh_ticks = 3

[[ranking]]
kind = "player"
by = "hp"

[[ranking]]
kind = "item"
by = "least"
first = "least"
length = 100
"#;

/// A deep world.
const DEEP: &str = r#"
[world]
size = [60, 70, 50]
aoi = 20
capacity = 100
[limits]
clients = 1
rewind_ticks = 4
timed_commands = 500
notifications_per_tick = 10000
[logic]
builtin = []
steps = 300
visits = 500

[[kind]]
name = "ship"
attributes = [
    { name = "fuel", type = "fixed", default = 10, audience = "private" },
    { name = "load", type = "i32", merge = "min", audience = "hidden" },
    { name = "dock", type = "entity", merge = "last", audience = "state" },
    { name = "lit", type = "bool", merge = "first", audience = "state" },
]

[[ranking]]
name = "fuelled"
kind = "ship"
by = "fuel"
"#;
