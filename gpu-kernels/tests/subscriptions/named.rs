//! Single cases of regions, and mistakes that once were made.

use gpu_kernels::{Frame, Holder, Region, RegionChange, Target};
use script::builtin;
use shared::{ClientRow, CommandKind, EntityId, Slot, Tick};
use testkit::parity::Parity;

use crate::subscriptions::table::{
    OWN, Table, UNIT, enter, entity, fixed, following, leave, update,
};

#[test]
fn regions_that_only_touch_do_not_overlap() {
    let mut table = Table::new("", "entity_regions = true");
    table.birth([1000, 1000]);
    table.birth([999, 1000]);
    table.birth([2000, 1999]);
    table.birth([1999, 1999]);
    // Two publications elsewhere: up to the subscription, and one step into it.
    table.birth([9000, 9000]);
    table.birth([9000, 9000]);
    table.set_region(OWN, fixed([1000, 1000], [2000, 2000]));
    assert_eq!(table.deliveries(), [enter(0), enter(3)]);
    let low = |high| fixed([500, 500], [high, 1500]);
    table.set_region(Holder::Publication(entity(4)), low(1000));
    table.set_region(Holder::Publication(entity(5)), low(1001));
    assert_eq!(table.deliveries(), [enter(5)]);
    let high = |low| fixed([1500, low], [1501, 4000]);
    table.set_region(Holder::Publication(entity(4)), high(1999));
    table.set_region(Holder::Publication(entity(5)), high(2000));
    assert_eq!(table.deliveries(), [enter(4), leave(5)]);
}

#[test]
fn an_entity_in_sight_and_in_a_region_enters_once_and_leaves_when_out_of_both() {
    let mut table = Table::new("", "entity_regions = true");
    let center = 100 * UNIT;
    table.birth([center, center]);
    table.birth([center + 5 * UNIT, center]);
    table.watch(0, Some(Target::Entity(entity(0))));
    table.set_region(
        OWN,
        fixed([center, center - UNIT], [center + 15 * UNIT, center + UNIT]),
    );
    assert_eq!(table.deliveries(), [enter(0), enter(1)]);
    let walk = |table: &mut Table, units: i32| {
        table.command(entity(1), builtin::MOVE, &[units * UNIT, 0]);
        table.deliveries()
    };
    assert_eq!(walk(&mut table, 2), [update(1)]);
    assert_eq!(walk(&mut table, 2), [update(1)]);
    // From now on, it stays on its course.
    assert_eq!(walk(&mut table, 2), []);
    assert_eq!(walk(&mut table, 2), []);
    // At 13, out of sight and in the region; at 15, out of both.
    assert_eq!(walk(&mut table, 2), [leave(1)]);
    assert_eq!(walk(&mut table, -2), [enter(1)]);
    // Dropping a region leaves only what is in sight.
    table.drop_region(OWN);
    assert_eq!(table.deliveries(), [leave(1)]);
}

#[test]
fn a_region_that_follows_a_dead_entity_is_nowhere() {
    let mut table = Table::new("", "entity_regions = true");
    let center = 100 * UNIT;
    table.birth([center, center]);
    table.birth([center + UNIT, center]);
    table.set_region(OWN, following(entity(0), 2 * UNIT));
    assert_eq!(table.deliveries(), [enter(0), enter(1)]);
    table.command(entity(0), CommandKind::DESPAWN, &[]);
    assert_eq!(table.deliveries(), [leave(0), leave(1)]);
    // Nor does it follow the next entity in the same slot.
    table.frame.release.push(Slot(0));
    table.birth([center, center]);
    assert_eq!(table.deliveries(), []);
}

#[test]
fn an_entity_is_seen_at_its_position_and_where_it_is_published() {
    let mut table = Table::new("", "entity_regions = true");
    let (here, there) = (100 * UNIT, 900 * UNIT);
    table.birth([here, here]);
    let region = |center: i32| fixed([center - 9; 2], [center + 9; 2]);
    table.set_region(OWN, region(there));
    assert_eq!(table.deliveries(), []);
    table.set_region(Holder::Publication(entity(0)), region(there + 10));
    assert_eq!(table.deliveries(), [enter(0)]);
    table.set_region(OWN, region(here));
    table.command(entity(0), builtin::MOVE, &[1, 0]);
    assert_eq!(table.deliveries(), [update(0)]);
    table.set_region(OWN, region(there));
    table.drop_region(Holder::Publication(entity(0)));
    assert_eq!(table.deliveries(), [leave(0)]);
}

#[test]
fn distance_to_the_observers_decides_which_entities_of_regions_are_seen() {
    let mut table = Table::new("visible_max = 3", "observers_per_client = 2");
    let center = 100 * UNIT;
    for units in [50, 3, 20, 30, 0] {
        table.birth([center + units * UNIT, center]);
    }
    table.set_region(
        OWN,
        fixed([center, center - UNIT], [center + 60 * UNIT, center + UNIT]),
    );
    // Without an observer, the lowest slots come first.
    assert_eq!(table.deliveries(), [enter(0), enter(1), enter(2)]);
    table.watch(1, Some(Target::Point([center, center, 0])));
    assert_eq!(table.deliveries(), [leave(0), enter(4)]);
    // Distance to any observer counts, even to one that cannot see so far.
    table.watch(0, Some(Target::Point([center + 52 * UNIT, center, 0])));
    assert_eq!(table.deliveries(), [enter(0), leave(2)]);
}

#[test]
fn a_followed_entity_brings_its_subscription() {
    let mut table = Table::new("", "entity_regions = true");
    let (here, there) = (100 * UNIT, 900 * UNIT);
    table.birth([here, here]);
    table.birth([there, there]);
    assert_eq!(table.deliveries(), []);
    let region = fixed([there - UNIT; 2], [there + UNIT; 2]);
    table.set_region(Holder::Subscription(entity(0)), region);
    assert_eq!(table.deliveries(), []);
    table.watch(0, Some(Target::Entity(entity(0))));
    assert_eq!(table.deliveries(), [enter(0), enter(1)]);
    // An observer at the same spot follows nobody.
    table.watch(0, Some(Target::Point([here, here, 0])));
    assert_eq!(table.deliveries(), [leave(1)]);
    table.watch(0, Some(Target::Entity(entity(0))));
    table.drop_region(Holder::Subscription(entity(0)));
    assert_eq!(table.deliveries(), []);
}

#[test]
fn newborns_have_the_regions_of_their_kind_and_none_of_the_dead_before_them() {
    let kinds = "[[kind]]\nname = \"tower\"\npublishes = [40.0, 6.5]\n\
                 [[kind]]\nname = \"owl\"\nsubscribes = [80.0, 80.0]\n";
    let mut table = Table::new("", &format!("region_edge_max = 80\n{kinds}"));
    let center = 500 * UNIT;
    table.birth([center, center]);
    table.frame.spawn_at(1, 0, &[center + 60 * UNIT, center]);
    table.watch(0, Some(Target::Entity(entity(1))));
    // The owl reaches to 20, and the tower to just under that.
    assert_eq!(table.deliveries(), [enter(1)]);
    table.command(entity(0), builtin::MOVE, &[1, 0]);
    assert_eq!(table.deliveries(), [enter(0)]);
    // The region moves with the tower.
    table.command(entity(0), builtin::MOVE, &[0, UNIT]);
    assert_eq!(table.deliveries(), [update(0)]);
    table.command(entity(0), CommandKind::DESPAWN, &[]);
    assert_eq!(table.deliveries(), [leave(0)]);
    table.frame.release.push(Slot(0));
    table.frame.spawn_at(1, 0, &[center, center]);
    assert_eq!(table.deliveries(), []);
    let snapshot = table.parity.oracle.snapshot();
    assert_eq!(snapshot.publications[0], None);
    assert!(snapshot.subscriptions[0].is_some());
}

#[test]
fn a_client_that_was_forgotten_gets_its_enters_again() {
    let mut table = Table::new("", "");
    table.birth([50, 50]);
    table.set_region(OWN, fixed([0, 0], [100, 100]));
    assert_eq!(table.deliveries(), [enter(0)]);
    assert_eq!(table.deliveries(), []);
    table.frame.forget.push(ClientRow(0));
    assert_eq!(table.deliveries(), [enter(0)]);
}

#[test]
fn impossible_regions_are_ignored_and_counted() {
    let mut table = Table::new("", "entity_regions = true");
    table.birth([50, 50]);
    table.birth([60, 60]);
    table.tick();
    let good = fixed([0, 0], [100, 100]);
    let mut ignored = |holder: Holder, region: Region| {
        table.set_region(holder, region);
        table.tick().counts.ignored == 1
    };
    let client = |client: u32, index| Holder::Client {
        client: ClientRow(client),
        index,
    };
    assert!(ignored(client(2, 0), good));
    assert!(ignored(client(0, 2), good));
    assert!(ignored(client(u32::MAX, u32::MAX), good));
    assert!(ignored(Holder::Publication(EntityId::new(0, 2)), good));
    assert!(ignored(Holder::Subscription(entity(8)), good));
    assert!(ignored(Holder::Subscription(EntityId::NONE), good));
    assert!(ignored(OWN, fixed([0, 5], [100, 5])));
    assert!(ignored(OWN, fixed([0, 5], [100, 4])));
    // Eight AOIs, and one step more.
    assert!(!ignored(OWN, fixed([0, 0], [80 * UNIT, 1])));
    assert!(ignored(OWN, fixed([-1, 0], [80 * UNIT, 1])));
    assert!(ignored(OWN, fixed([i32::MIN, 0], [i32::MAX, 1])));
    assert!(ignored(OWN, fixed([1 << 30, 0], [(1 << 30) + 1, 1])));
    assert!(!ignored(
        OWN,
        fixed([(1 << 30) - 1, -(1 << 30)], [1 << 30, 9 - (1 << 30)])
    ));
    // A publication of one entity that follows another.
    let other = following(entity(1), 9);
    assert!(ignored(Holder::Publication(entity(0)), other));
    assert!(!ignored(Holder::Publication(entity(1)), other));
    assert!(!ignored(OWN, other));
}

#[test]
fn the_last_change_of_a_holder_counts_and_changes_beyond_the_limit_are_ignored() {
    let mut table = Table::new("", "entity_regions = true");
    table.birth([50, 50]);
    let (near, far) = (fixed([0, 0], [100, 100]), fixed([500, 500], [600, 600]));
    table.set_region(OWN, near);
    table.set_region(OWN, far);
    assert_eq!(table.deliveries(), []);
    let dead = Holder::Publication(EntityId::new(0, 3));
    for _ in 0..5 {
        table.set_region(dead, near);
        table.set_region(Holder::Publication(entity(0)), near);
        table.set_region(Holder::Publication(entity(0)), far);
    }
    let output = table.tick();
    assert_eq!(output.counts.ignored, 5);
    assert_eq!(output.deliveries[&0], [enter(0).in_tier(3)]);
    // Two regions of each of two clients, and two of each of eight slots.
    for _ in 0..20 {
        table.drop_region(OWN);
    }
    table.set_region(OWN, far);
    table.set_region(OWN, near);
    let output = table.tick();
    assert_eq!(output.counts.ignored, 2);
    assert_eq!(output.deliveries[&0], [leave(0)]);
}

#[test]
fn clients_that_remember_nothing_get_each_update_once_in_order() {
    let mut table = Table::new("visible_max = 0", "entity_regions = true");
    let unit = UNIT;
    // In sight and in both regions; in both regions; published in the second.
    table.birth([105 * unit, 100 * unit]);
    table.birth([118 * unit, 100 * unit]);
    table.birth([112 * unit, 100 * unit]);
    table.birth([900 * unit, 900 * unit]);
    table.birth([900 * unit, 900 * unit]);
    table.birth([900 * unit, 900 * unit]);
    table.watch(0, Some(Target::Point([100 * unit, 100 * unit, 0])));
    table.set_region(
        OWN,
        fixed([104 * unit, 99 * unit], [119 * unit, 101 * unit]),
    );
    let second = Holder::Client {
        client: ClientRow(0),
        index: 1,
    };
    table.set_region(
        second,
        fixed([104 * unit, 99 * unit], [160 * unit, 101 * unit]),
    );
    // By observer, then region; there by bucket, and within a bucket by slot.
    assert_eq!(table.deliveries(), [update(0), update(1), update(2)]);
    let publish = |low: i32, edge: i32| {
        let low = [low * unit, 100 * unit];
        fixed(low, low.map(|low| low + edge))
    };
    table.set_region(Holder::Publication(entity(3)), publish(130, 20 * unit));
    table.set_region(Holder::Publication(entity(4)), publish(150, 10 * unit));
    table.set_region(Holder::Publication(entity(5)), publish(135, 10 * unit + 1));
    for slot in 0..6 {
        table.command(entity(slot), builtin::MOVE, &[0, 1]);
    }
    // Then publications by size, place and slot.
    let expected = [0, 1, 2, 4, 3, 5].map(update);
    assert_eq!(table.deliveries(), expected);
    assert_eq!(table.deliveries(), []);
}

#[test]
fn regions_as_large_as_a_world_of_countless_buckets_are_found() {
    let text = "[world]\nsize = [262143.0, 262143.0, 262143.0]\naoi = 1.0\ncapacity = 60\n\
                [limits]\nclients = 3\nregions_per_client = 1\nregion_edge_max = 262143\n\
                [[kind]]\nname = \"a\"\npopulation = 40\n\
                publishes = [262143.0, 1.0, 262143.0]\n";
    let mut parity = Parity::new(&world_file::parse(text, "test").unwrap());
    let mut frame = Frame::new(Tick(0));
    frame.populate(&parity.oracle.config);
    let whole = Region {
        low: [0; 3],
        high: [262_143 * UNIT; 3],
        follows: None,
    };
    let row = Region {
        high: [262_143 * UNIT, 50_000 * UNIT, 1],
        ..whole
    };
    for (client, region) in [(0, whole), (1, row)] {
        frame.regions.push(RegionChange {
            holder: Holder::Client {
                client: ClientRow(client),
                index: 0,
            },
            region: Some(region),
        });
    }
    let output = parity.tick(&frame);
    assert_eq!(output.deliveries[&0].len(), 40);
    assert!(output.deliveries[&1].len() < 40);
}
