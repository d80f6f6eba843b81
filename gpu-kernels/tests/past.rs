//! Where entities were after the latest ticks; on every backend and in the oracle.

use gpu_kernels::Frame;
use script::builtin;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Slot, Tick};
use testkit::parity::Parity;
use testkit::scripts::with_texts;

const UNIT: i32 = 4096;
const SHOOTER: EntityId = EntityId::new(0, 1);
const TARGET: EntityId = EntityId::new(1, 1);

/// Of 4 ticks it is kept where entities were.
const WORLD: &str = "
    [world]
    size = [200, 200]
    aoi = 20
    capacity = 4
    [limits]
    clients = 1
    rewind_ticks = 4
    client_commands_per_tick = 16
    [commands]
    move = { speed_max = 100, per_tick = 0 }
    [[kind]]
    name = 'player'
    attributes = [{ name = 'hits', type = 'i32', audience = 'state' }]
";

const SHOOT: &str = "
    #[command(clients)]
    fn shoot(me: Entity, target: Entity, reach: Fixed, tick: i32) {
        if was_within(target, reach, tick) {
            me.hits += 1;
        }
    }
";

#[test]
fn a_shot_hits_by_the_tick_that_was_seen() {
    let mut parity = started();
    // After tick n the target is 40 + n units away.
    go_to_tick(&mut parity, 7);
    let mut found = vec![];
    for tick in [i32::MIN, -1, 0, 2, 3, 4, 5, 6, 7, 1000, i32::MAX] {
        found.push((tick, hits_at(&mut parity, tick, 44)));
        // Nothing moved, and the oldest tick is forgotten: as if the test began anew.
        parity = started();
        go_to_tick(&mut parity, 7);
    }
    // Ticks 3 to 6 are kept; others are taken for the nearest of them.
    let hit: Vec<i32> = found.iter().filter(|f| f.1).map(|f| f.0).collect();
    assert_eq!(hit, [-1, 0, 2, 3, 4], "{found:?}");
}

#[test]
fn nobody_was_anywhere_before_the_birth() {
    let mut parity = started();
    go_to_tick(&mut parity, 4);
    // The target dies where it stands, and somebody is born in its slot, far away.
    let mut frame = Frame::new(Tick(4));
    frame.push(TARGET, 0, CommandKind::DESPAWN, &[]);
    parity.tick(&frame);
    let mut frame = Frame::new(Tick(5));
    frame.release.push(Slot(1));
    frame.spawn_at(0, 9, &[190 * UNIT, 10 * UNIT]);
    parity.tick(&frame);
    let newborn = EntityId::new(1, 2);
    assert!(parity.oracle.is_alive(newborn));
    for tick in [2, 3, 4] {
        assert!(!shot(&mut parity, newborn, tick, 100), "tick {tick}");
        assert!(!shot(&mut parity, TARGET, tick, 100), "tick {tick}");
    }
    // Since its birth it is there.
    let now = parity.oracle.tick.0 as i32;
    assert!(shot(&mut parity, newborn, now - 1, 190));
}

#[test]
fn a_restored_world_remembers() {
    for in_another in [false, true] {
        let mut parity = started();
        go_to_tick(&mut parity, 7);
        parity.restart(in_another);
        assert!(hits_at(&mut parity, 3, 44) && !hits_at(&mut parity, 5, 44));
        let mut parity = started();
        go_to_tick(&mut parity, 7);
        parity.restore_from_oracle();
        assert!(hits_at(&mut parity, 4, 44) && !hits_at(&mut parity, 6, 44));
    }
}

#[test]
fn a_snapshot_of_impossible_places_is_refused() {
    let mut parity = started();
    go_to_tick(&mut parity, 3);
    let snapshot = parity.oracle.snapshot();
    let config = &parity.oracle.config;
    assert_eq!(snapshot.check(config), Ok(()));
    for (place, stored) in [(0, -1), (0, 200 * UNIT + 1), (4, 1), (5, 1)] {
        let mut changed = snapshot.clone();
        changed.past[place] = stored;
        assert!(changed.check(config).is_err(), "{place}: {stored}");
    }
    let mut changed = snapshot.clone();
    changed.past.pop();
    assert!(changed.check(config).is_err());
}

/// A shooter, and a target 40 units away.
fn started() -> Parity {
    let config = world_file::parse(WORLD, "world").unwrap();
    let config = with_texts(&config, vec![Text::new("shoot.rs", SHOOT.to_owned())]);
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    for (token, x) in [(0, 10), (1, 50)] {
        frame.spawn_at(0, token, &[x * UNIT, 10 * UNIT]);
    }
    parity.tick(&frame);
    parity
}

/// Runs the ticks before this one, in which the target goes on by a unit each.
fn go_to_tick(parity: &mut Parity, tick: u64) {
    for tick in parity.oracle.tick.0..tick {
        let mut frame = Frame::new(Tick(tick));
        frame.push(TARGET, tick as u32, builtin::MOVE, &[UNIT, 0]);
        parity.tick(&frame);
    }
}

fn hits_at(parity: &mut Parity, tick: i32, reach: i32) -> bool {
    shot(parity, TARGET, tick, reach)
}

/// Whether a shot in the next tick hits.
fn shot(parity: &mut Parity, target: EntityId, tick: i32, reach: i32) -> bool {
    let schema = &parity.oracle.config.schema;
    let shoot = schema.command_named("shoot").expect("it is there").kind;
    let column = schema.column("hits").expect("it is there") as u16;
    let mut frame = Frame::new(parity.oracle.tick);
    let words = [target.reference().0, reach * UNIT, tick];
    frame.push(SHOOTER, 1000, shoot, &words);
    let output = parity.tick(&frame);
    output.changes.contains_key(&(SHOOTER.slot.0, column))
}
