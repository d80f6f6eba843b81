use std::time::Instant;

use anyhow::ensure;
use gpu_kernels::logic::{Engine, Scripts};
use program::note;
use script::arith::Random;
use script::interpreter::{Effects, Interpreter, Invocation, Outgoing};
use script::native::{Call, Host, Thread, View};
use shared::world::mix::mix;
use shared::{EntityId, Slot};

use super::baseline::{Catalog, Emit};
use super::world::{Frozen, GivenCommand};
use super::{COMMANDS, Options};
use crate::report::{Row, Sample};

/// (slot × columns + column, the value's bits).
type Pair = (u32, u32);

/// A way to run commands: stores their updates one after another, as each part of the tick's
/// logic stage does. Returns the number of updates.
type Way = fn(&Frozen, &Scripts, &[GivenCommand], &mut [Pair]) -> anyhow::Result<usize>;

/// For each mix of commands: a row for each way.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Row>> {
    let world = Frozen::new(options.clients, options.random.seed)?;
    let scripts = Scripts::new(&world.config, Engine::Fastest)?;
    let mut rows = vec![];
    for mix in MIXES {
        let kind = (mix != FIGHT).then(|| world.number_of(mix));
        let commands = world.commands(kind);
        let mut expected: Option<Vec<Pair>> = None;
        for (name, approach, way) in WAYS {
            let (samples, updates) = sample(options.runs, &commands, |out| {
                way(&world, &scripts, &commands, out)
            })?;
            let expected = expected.get_or_insert_with(|| updates.clone());
            ensure!(*expected == updates, "{mix}: {name} emits other updates");
            let mut row = Row::of(COMMANDS, name, approach, &samples);
            row.put("mix", mix);
            row.put("commands", commands.len());
            row.put("updates", updates.len());
            row.work = commands.len() as u64;
            row.checksum = format!("{:016x}", checksum(&updates));
            let ns = row.total_ms * 1e6 / commands.len() as f64;
            row.put("ns_per_command", ns);
            note!("logic, {mix}, {name}: {ns:.1} ns a command");
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Runs the commands; returns the time of each run, and the updates.
fn sample(
    runs: usize,
    commands: &[GivenCommand],
    mut run: impl FnMut(&mut [Pair]) -> anyhow::Result<usize>,
) -> anyhow::Result<(Vec<Sample>, Vec<Pair>)> {
    let mut out = vec![(0, 0); commands.len() * UPDATES_MAX];
    let mut len = 0;
    let mut samples = vec![];
    for i in 0..WARM_UP_RUNS + runs {
        let begin = Instant::now();
        len = run(&mut out)?;
        let total = begin.elapsed();
        if i >= WARM_UP_RUNS {
            samples.push(Sample::of_stage("logic", total));
        }
    }
    out.truncate(len);
    Ok((samples, out))
}

fn by_hand(
    world: &Frozen,
    _: &Scripts,
    commands: &[GivenCommand],
    out: &mut [Pair],
) -> anyhow::Result<usize> {
    let catalog = Catalog::new(world);
    let mut emit = StoreUpdates {
        columns: world.columns,
        out,
        next: 0,
    };
    for given in commands {
        catalog.run(world, given, &mut emit);
    }
    Ok(emit.next)
}

fn by_machine(
    world: &Frozen,
    scripts: &Scripts,
    commands: &[GivenCommand],
    out: &mut [Pair],
) -> anyhow::Result<usize> {
    let native = scripts.native();
    let native = native.ok_or_else(|| anyhow::anyhow!("no machine code on this machine"))?;
    let view = View::new(
        world.tick,
        world.columns,
        &world.rows,
        &world.states,
        &world.generations,
        &world.kinds,
    )
    .with_census(&world.census)
    .with_standings(&world.standings);
    let mut thread = Thread::new(native, &view, Silent(world));
    let mut next = 0;
    for given in commands {
        let run = Call {
            actor: given.entity.slot,
            words: given.words(),
            random: random_key(world, scripts, given),
        };
        next += within_budget(thread.run(given.kind.id(), &run, &mut out[next..]))?;
    }
    Ok(next)
}

fn by_interpreter(
    world: &Frozen,
    scripts: &Scripts,
    commands: &[GivenCommand],
    out: &mut [Pair],
) -> anyhow::Result<usize> {
    let mut interpreter = Interpreter::default();
    let mut run = |given: &GivenCommand, effects: &mut dyn FnMut(Slot, u16, i32)| {
        let Some(command) = scripts.command(given.kind.id()) else {
            return Ok(());
        };
        let invocation = Invocation {
            tick: world.tick,
            entity: given.entity,
            words: given.words(),
            random: Random::from_key(random_key(world, scripts, given)),
        };
        let mut effects = Updates(effects);
        let (code, space) = (&command.code, &scripts.space);
        within_budget(interpreter.run(code, space, world, &invocation, &mut effects))
    };
    let mut next = 0;
    for given in commands {
        run(given, &mut |slot, column, value| {
            let key = slot.index() * world.columns + usize::from(column);
            out[next] = (key as u32, value as u32);
            next += 1;
        })?;
    }
    Ok(next)
}

fn random_key(world: &Frozen, scripts: &Scripts, given: &GivenCommand) -> u64 {
    scripts.random_key(world.tick, given.entity, given.kind.id(), given.sequence)
}

fn within_budget<T>(run: Result<T, script::interpreter::NoEffect>) -> anyhow::Result<T> {
    run.map_err(|_| anyhow::anyhow!("a command used up its budget"))
}

fn checksum(updates: &[Pair]) -> u64 {
    updates.iter().fold(0, |sum, &(key, value)| {
        mix(sum, u64::from(key) << 32 | u64::from(value))
    })
}

struct StoreUpdates<'a> {
    columns: usize,
    out: &'a mut [Pair],
    next: usize,
}

impl Emit for StoreUpdates<'_> {
    fn update(&mut self, slot: Slot, column: usize, value: i32) {
        let key = slot.index() * self.columns + column;
        self.out[self.next] = (key as u32, value as u32);
        self.next += 1;
    }
}

/// A host of commands without timed commands and notifications.
struct Silent<'a>(&'a Frozen);

impl Host for Silent<'_> {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.0.within(center, radius, |slot| slots.push(slot.0));
    }
}

impl Outgoing for Silent<'_> {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

struct Updates<'a>(&'a mut dyn FnMut(Slot, u16, i32));

impl Effects for Updates<'_> {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        (self.0)(slot, column, value);
    }
}

impl Outgoing for Updates<'_> {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {}
    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {}
}

pub const BASELINE: &str = "baseline";
pub const MACHINE_CODE: &str = "machine code";
pub const INTERPRETER: &str = "interpreter";

const WAYS: [(&str, &str, Way); 3] = [
    (BASELINE, "functions in Rust", by_hand),
    (MACHINE_CODE, "scripts as machine code", by_machine),
    (
        INTERPRETER,
        "scripts, instruction by instruction",
        by_interpreter,
    ),
];

/// All commands of a fight.
const FIGHT: &str = "fight";
/// Each kind by itself; then those that ask by `count`, `the`, `all`, `rank` and `top`.
const MIXES: [&str; 12] = [
    FIGHT, "move", "strike", "heal", "blast", "pick", "roam", "tally", "hail", "rally", "place",
    "crown",
];

const WARM_UP_RUNS: usize = 3;
/// Room for the updates of a command, on average.
const UPDATES_MAX: usize = 16;
