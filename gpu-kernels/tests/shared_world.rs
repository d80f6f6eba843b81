//! What the whole world shares, on every backend and in the oracle.

use gpu_kernels::{Backend, CpuBackend, Frame};
use shared::world::logic::Text;
use shared::{EntityId, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const SCRIPT: &str = "
#[command(clients)]
fn cheer(me: Entity) {
    world.cheers += 1;
    me.heard += world.cheers;
}
#[command(clients, atomic)]
fn claim(me: Entity) {
    require(world.champion == none);
    world.champion = me;
    me.heard = 100;
}
#[command(clients)]
fn end_it(me: Entity) {
    despawn(world);
    spawn(\"player\", world);
    for other in near(me, 100.0) {
        other.heard += 1000;
    }
}
";

const ATTRIBUTES: &str = "attributes = [
    { name = 'round', type = 'i32', default = 5, max = 1000, audience = 'state' },
    { name = 'cheers', type = 'i32', audience = 'state' },
    { name = 'champion', type = 'entity', audience = 'hidden' },
]";

fn world() -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\naoi = 90\ncapacity = 6\nvisible_max = 6\n{ATTRIBUTES}\n\
         [limits]\nclients = 3\ntimed_commands = 50\natomic_per_tick = 10\n\
         [[kind]]\nname = 'player'\nattributes = [\
         {{ name = 'heard', type = 'i32', merge = 'sum', audience = 'state' }}]\n"
    );
    let config = world_file::parse(&text, "shared").unwrap();
    with_texts(&config, vec![Text::new("shared.rs", SCRIPT)])
}

fn started(config: &WorldConfig) -> Parity {
    let mut parity = Parity::new(config);
    let mut frame = Frame::new(Tick(0));
    for _ in 0..3 {
        frame.spawn_at(0, u32::MAX, &[4096, 4096]);
    }
    parity.tick(&frame);
    parity
}

fn players() -> [EntityId; 3] {
    [0, 1, 2].map(|slot| EntityId::new(slot, 1))
}

fn give(parity: &mut Parity, commands: &[(EntityId, &str)]) {
    let mut frame = Frame::new(parity.oracle.tick);
    for (sequence, (entity, name)) in (0..).zip(commands) {
        let schema = &parity.oracle.config.schema;
        let kind = schema.command_named(name).unwrap().kind;
        frame.push(*entity, sequence, kind, &[]);
    }
    parity.tick(&frame);
}

fn value(parity: &Parity, entity: EntityId, attribute: &str) -> i32 {
    let column = parity.oracle.config.schema.column(attribute).unwrap();
    parity.oracle.slots[entity.slot.index()].row[column]
}

#[test]
fn updates_of_many_entities_merge_in_the_world_and_all_read_them() {
    let mut parity = started(&world());
    let shared = parity.oracle.config.schema.world_entity().unwrap();
    let [a, b, c] = players();
    assert_eq!(value(&parity, shared, "round"), 5);
    give(&mut parity, &[(a, "cheer"), (b, "cheer"), (c, "cheer")]);
    assert_eq!(value(&parity, shared, "cheers"), 3);
    assert_eq!(value(&parity, a, "heard"), 0);
    give(&mut parity, &[(a, "cheer")]);
    assert_eq!(value(&parity, a, "heard"), 3);
}

#[test]
fn of_atomic_commands_that_claim_what_is_shared_one_gets_it() {
    let mut parity = started(&world());
    let shared = parity.oracle.config.schema.world_entity().unwrap();
    let [a, b, c] = players();
    give(&mut parity, &[(b, "claim"), (a, "claim"), (c, "claim")]);
    assert_eq!(value(&parity, shared, "champion"), b.reference().0);
    assert_eq!([a, b, c].map(|p| value(&parity, p, "heard")), [0, 100, 0]);
}

#[test]
fn the_world_is_nowhere_and_can_not_end() {
    let mut parity = started(&world());
    let shared = parity.oracle.config.schema.world_entity().unwrap();
    let [a, b, c] = players();
    give(&mut parity, &[(a, "end_it")]);
    give(&mut parity, &[]);
    give(&mut parity, &[]);
    assert!(parity.oracle.is_alive(shared));
    // It is not near anybody, and has no slot of those that are born.
    assert_eq!(value(&parity, shared, "heard"), 0);
    assert_eq!([a, b, c].map(|p| value(&parity, p, "heard")), [1000; 3]);
    assert_eq!(parity.oracle.alive().len(), 4);
}

#[test]
fn a_snapshot_has_what_is_shared_and_one_without_is_refused() {
    let config = world();
    let mut parity = started(&config);
    let [a, ..] = players();
    give(&mut parity, &[(a, "cheer"), (a, "claim")]);
    let snapshot = parity.oracle.snapshot();
    let mut backend = CpuBackend::new(&config, 1, None).unwrap();
    backend.restore(&snapshot).unwrap();
    assert_eq!(backend.state_hash().unwrap(), parity.oracle.hash());
    let mut without = snapshot;
    let last = without.states.len() - 1;
    without.states[last] = gpu_kernels::SlotState::Free;
    without.kinds[last] = 0;
    let columns = config.schema.attributes.len();
    without.rows[last * columns..].fill(0);
    let refused = backend.restore(&without).unwrap_err().to_string();
    assert!(refused.contains("what the world shares"), "{refused}");
}

#[test]
fn rules_of_the_world_are_its_clock() {
    let text = format!(
        "[world]\ncapacity = 4\n{ATTRIBUTES}\n[limits]\nclients = 1\natomic_per_tick = 10\n\
         timed_commands = 50\n[[every]]\nkind = 'world'\nticks = 2\ncommand = 'roam'\n"
    );
    let config = world_file::parse(&text, "clock").unwrap();
    let mut parity = Parity::new(&config);
    parity.tick(&Frame::new(Tick(0)));
    let given = [1, 2].map(|tick| parity.tick(&Frame::new(Tick(tick))).counts.commands);
    // One of two ticks has the command, and nothing moves the world.
    assert_eq!(given, [0, 1]);
    let shared = config.schema.world_entity().unwrap();
    assert_eq!(parity.oracle.position(shared.slot.0), [0; 3]);
}
