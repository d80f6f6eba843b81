//! Regions in snapshots and in the state hash.

use gpu_kernels::{Holder, Region, RestoreError, Snapshot};
use shared::{EntityId, WorldConfig};

use crate::subscriptions::table::{OWN, Table, entity, fixed, following};
use testkit::snapshots::{Change, assert_hash_sees, assert_refused, out_of_range, wrong_size};

/// A state in which one entity has regions that follow it, another has a fixed one, and
/// clients have one of each.
fn state_with_regions() -> (WorldConfig, Snapshot) {
    let mut table = Table::new("", "entity_regions = true");
    for place in [100, 200, 300] {
        table.birth([place, place]);
    }
    table.tick();
    let second = Holder::Client {
        client: shared::ClientRow(1),
        index: 1,
    };
    table.set_region(OWN, fixed([50, 60], [150, 170]));
    table.set_region(second, following(entity(2), 30));
    table.set_region(Holder::Publication(entity(0)), following(entity(0), 40));
    table.set_region(Holder::Subscription(entity(0)), following(entity(0), 40));
    table.set_region(Holder::Publication(entity(1)), fixed([7, 8], [9, 10]));
    table.tick();
    (
        table.parity.oracle.config.clone(),
        table.parity.oracle.snapshot(),
    )
}

const SECOND: usize = 3;

fn own(snapshot: &mut Snapshot) -> &mut Region {
    snapshot.regions[0].as_mut().unwrap()
}

fn second(snapshot: &mut Snapshot) -> &mut Region {
    snapshot.regions[SECOND].as_mut().unwrap()
}

fn published(snapshot: &mut Snapshot) -> &mut Region {
    snapshot.publications[0].as_mut().unwrap()
}

#[test]
fn the_hash_sees_every_part_of_a_region() {
    let (config, base) = state_with_regions();
    let changes: [Change; 17] = [
        |s| own(s).low[0] -= 1,
        |s| own(s).low[1] -= 1,
        |s| own(s).high[0] += 1,
        |s| own(s).high[1] += 1,
        |s| own(s).follows = Some(EntityId::new(0, 0)),
        |s| own(s).follows = Some(EntityId::new(0, 1)),
        |s| second(s).follows = Some(EntityId::new(2, 2)),
        |s| second(s).follows = Some(EntityId::new(1, 1)),
        |s| second(s).follows = None,
        |s| s.regions[0] = None,
        |s| s.regions.swap(0, 1),
        |s| s.regions.swap(0, 2),
        |s| s.publications[0] = None,
        |s| published(s).follows = None,
        |s| published(s).high[0] += 1,
        // The same region as a subscription of the same entity.
        |s| s.subscriptions[1] = s.publications[1].take(),
        |s| s.publications[2] = s.publications[1].take(),
    ];
    // Regions are in the observers' part of the hash.
    let changes = changes.map(|change| ("observers", change));
    assert_hash_sees(&config, &base, &changes);
}

#[test]
fn regions_that_no_tick_could_have_left_are_refused() {
    let cases: [(Change, RestoreError); 9] = [
        (|s| s.regions.truncate(1), wrong_size("regions", 4, 1)),
        (|s| s.publications.clear(), wrong_size("publications", 8, 0)),
        (
            |s| s.subscriptions.push(None),
            wrong_size("subscriptions", 8, 9),
        ),
        (|s| own(s).low[0] = 150, out_of_range("regions", 150)),
        (
            |s| own(s).low[0] = -400_000,
            out_of_range("regions", -400_000),
        ),
        // An axis that the world lacks must be 0..1.
        (|s| own(s).high[2] = 2, out_of_range("regions", 50)),
        (
            |s| s.publications[5] = s.publications[1],
            out_of_range("slots with regions", 5),
        ),
        (
            |s| published(s).follows = Some(EntityId::new(1, 1)),
            out_of_range("slots with regions", 0),
        ),
        (
            |s| published(s).follows = Some(EntityId::new(0, 2)),
            out_of_range("slots with regions", 0),
        ),
    ];
    let (config, base) = state_with_regions();
    assert_refused(&config, &base, &cases);
}
