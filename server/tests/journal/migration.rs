//! A migration that breaks off anywhere leaves the world before it or the one after it.

use ::migration::store;
use durability::checkpoint::{self, Head};
use durability::disk::Disk;
use durability::epoch::Epoch;

use crate::journal::{Begun, History, World};
use simulator::disk::Faults;

/// The result of a migration.
const CHANGE: u64 = 1 << 63 | 77;

/// A world that has stopped, and the head of its checkpoint.
fn settled(seed: u64) -> (History, World, Head) {
    let mut history = History::new(seed);
    history.run(false);
    history.disk.set_faults(Faults::default());
    let Begun::Running(journal, world) = history.begin() else {
        panic!("seed {seed}: no world");
    };
    let head = Head {
        tick: world.tick,
        epoch: Epoch(99),
        tick_version: 1,
        previous: journal.previous(),
    };
    drop(journal);
    (history, world, head)
}

/// Stops after `changes` changes of the disk. Gives whether the migration has ended, and
/// whether the world afterwards is the new one.
fn migrate(seed: u64, changes: u64) -> (bool, bool) {
    let (mut history, world, head) = settled(seed);
    let archive = crate::journal::SimulatedDisk::new(seed + 1);
    store::archive(&history.disk, &archive).unwrap();
    history.disk.set_faults(Faults {
        changes_left: Some(changes),
        ..Faults::default()
    });
    let body = (world.state ^ CHANGE).to_le_bytes();
    let has_ended = store::commit(&history.disk, &head, &body).is_ok();
    history.disk.set_faults(Faults::default());
    history.disk.crash();
    let Begun::Running(journal, found) = history.begin() else {
        panic!("seed {seed}, {changes} changes: no world");
    };
    assert_eq!(found.tick, world.tick, "seed {seed}, {changes} changes");
    let is_new = found.state == world.state ^ CHANGE;
    assert!(
        is_new || found.state == world.state,
        "seed {seed}, {changes} changes"
    );
    assert!(is_new || !has_ended, "seed {seed}, {changes} changes");
    runs_on(&mut history, *journal, found);
    assert_archived(&archive, &world);
    (has_ended, is_new)
}

/// It can be lived in, whichever it is.
fn runs_on(
    history: &mut History,
    journal: crate::journal::Journal<crate::journal::SimulatedDisk>,
    world: World,
) {
    history.states.resize(world.tick as usize + 1, 0);
    history.states[world.tick as usize] = world.state;
    history.synced = world.tick;
    history.live(journal, world);
    history.disk.set_faults(Faults::default());
    history.disk.crash();
    history.run(false);
}

/// The copy ends in the same state.
fn assert_archived(archive: &crate::journal::SimulatedDisk, world: &World) {
    let mut copy = History::new(1);
    copy.disk = archive.clone();
    let Begun::Running(_, found) = copy.begin() else {
        panic!("the copy is no world");
    };
    assert_eq!(found, *world);
}

#[test]
fn a_migration_that_stops_anywhere_leaves_one_of_both_worlds() {
    let (mut old, mut new) = (0, 0);
    for seed in 0..300 {
        for changes in 0.. {
            let (has_ended, is_new) = migrate(seed, changes);
            old += u64::from(!is_new);
            new += u64::from(is_new);
            if has_ended {
                break;
            }
        }
    }
    assert!(old > 1000 && new > 1000, "{old} old and {new} new worlds");
}

#[test]
fn nothing_of_the_world_before_is_left_beside_the_new_one() {
    let (history, world, head) = settled(3);
    store::commit(&history.disk, &head, &[0; 8]).unwrap();
    let mut names = history.disk.names().unwrap();
    names.retain(|name| name != "spare");
    // The new world is not before the tick that this has.
    assert_eq!(names, [&*checkpoint::name_of(world.tick), "synced"]);
}
