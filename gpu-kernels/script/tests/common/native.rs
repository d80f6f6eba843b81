//! Commands as machine code over a small world in memory.

use script::arith::random_key;
use script::interpreter::{NoEffect, Outgoing, World};
use script::native::{Call, Host, Native, Shape, Thread, View};
use script::{Command, Logic};
use shared::EntityId;

use super::{Done, SEED, TestWorld};

const LIVE: u8 = 1;

/// The commands of a logic, for worlds like this one.
pub fn compile(logic: &Logic, world: &TestWorld) -> Native {
    let commands = logic.commands.iter();
    let commands = commands.map(|command| (command.schema.kind.id(), &command.code));
    let shape = Shape {
        space: world.space(),
        columns: world.schema.attributes.len(),
        rankings: world.schema.rankings.len(),
        kind_columns: world.schema.kind_columns(),
        bounds: (0..world.schema.kinds.len())
            .flat_map(|kind| world.schema.bounds(kind))
            .collect(),
        live: LIVE,
    };
    Native::compile(commands, shape).unwrap()
}

/// What [`TestWorld::run`] tells, from machine code.
pub fn run(
    native: &Native,
    world: &TestWorld,
    command: &Command,
    entity: EntityId,
    words: &[i32],
) -> Result<Done, NoEffect> {
    let columns = world.schema.attributes.len();
    let arrays = Arrays::of(world, columns);
    let view = View::new(
        world.tick,
        columns,
        &arrays.rows,
        &arrays.states,
        &arrays.generations,
        &arrays.kinds,
    );
    let census = world.census();
    let view = view.with_layers(world.schema.layers.words());
    let standings = world.standings();
    let view = view.with_census(&census).with_standings(&standings);
    let holdings = world.holdings();
    let view = view.with_holdings(&holdings);
    let kind = command.schema.kind.id();
    let call = Call {
        actor: entity.slot,
        words,
        random: random_key(SEED, world.tick, entity, kind, 0),
    };
    let done = Done::default();
    let mut thread = Thread::new(native, &view, Recorder { world, done });
    let count = thread.run(kind, &call, &mut [])?;
    let first = std::mem::take(&mut thread.host_mut().done);
    let missed = thread.missed();
    let mut out = vec![(u32::MAX, u32::MAX); count];
    assert_eq!(thread.run(kind, &call, &mut out), Ok(count));
    let again = &thread.host().done;
    assert_eq!(*again, first, "where updates go changes nothing");
    let columns = columns as u32;
    let update = |(key, value): (u32, u32)| (key / columns, (key % columns) as u16, value as i32);
    Ok(Done {
        updates: out.into_iter().map(update).collect(),
        missed,
        ..first
    })
}

/// A world's rows as columns of memory.
#[derive(Default)]
struct Arrays {
    rows: Vec<i32>,
    states: Vec<u8>,
    generations: Vec<u32>,
    kinds: Vec<u16>,
}

impl Arrays {
    fn of(world: &TestWorld, columns: usize) -> Arrays {
        let mut arrays = Arrays::default();
        for row in &world.rows {
            let dead = (0, 0, vec![0; columns]);
            let (kind, generation, row_values) = row.as_ref().unwrap_or(&dead);
            arrays.states.push(if row.is_some() { LIVE } else { 0 });
            arrays.generations.push(*generation);
            arrays.kinds.push(*kind);
            arrays.rows.extend_from_slice(row_values);
        }
        arrays
    }
}

struct Recorder<'a> {
    world: &'a TestWorld,
    done: Done,
}

impl Host for Recorder<'_> {
    fn near(&mut self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.world.near(center, radius, slots);
    }
}

impl Outgoing for Recorder<'_> {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        self.done.after(ticks, entity, kind, words);
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.done.notify(kind, source, area, words);
    }
}
