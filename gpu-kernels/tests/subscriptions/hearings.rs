//! Which clients hear a notification.

use gpu_kernels::{Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target};
use script::builtin;
use shared::{ClientRow, CommandKind, InterestMode, Slot, Tick};
use testkit::dice::Dice;
use testkit::parity::Parity;

use crate::subscriptions::table::{OWN, Table, UNIT, entity, fixed, following};

const SHOUTS: &str = "[commands]\nshout.radius_max = 100\n";

/// The place of most events, along each axis.
const HERE: i32 = 100 * UNIT;

#[test]
fn a_shout_that_reaches_observers_and_regions_is_heard_once() {
    let mut table = Table::new("", &format!("observers_per_client = 2\n{SHOUTS}"));
    let there = 500 * UNIT;
    for at in [HERE, there, 900 * UNIT] {
        table.birth([at, at]);
    }
    table.watch(0, Some(Target::Point([HERE, HERE, 0])));
    table.set_region(OWN, fixed([there - 9; 2], [there + 9; 2]));
    let all = |table: &mut Table| {
        for slot in 0..3 {
            table.shout(slot, 2 * UNIT, slot as i32);
        }
        table.heard()
    };
    table.tick();
    // One reaches only the observer, the other only the region.
    assert_eq!(all(&mut table), [0, 1]);
    // Two observers and two regions, wholly and partly inside.
    table.watch(1, Some(Target::Point([HERE + UNIT, HERE, 0])));
    table.set_region(OWN, fixed([HERE; 2], [HERE + 1; 2]));
    let second = Holder::Client {
        client: ClientRow(0),
        index: 1,
    };
    table.set_region(second, fixed([HERE - 9 * UNIT; 2], [HERE + 9 * UNIT; 2]));
    assert_eq!(all(&mut table), [0]);
}

#[test]
fn a_client_without_observers_hears_only_in_its_regions() {
    let mut table = Table::new("", SHOUTS);
    table.birth([HERE, HERE]);
    let shouted = |table: &mut Table| {
        table.shout(0, UNIT, 7);
        table.heard_by_all()
    };
    table.tick();
    assert_eq!(shouted(&mut table), [NOTHING, NOTHING]);
    table.set_region(OWN, fixed([HERE; 2], [HERE + UNIT; 2]));
    assert_eq!(shouted(&mut table), [vec![7], vec![]]);
    let second = Holder::Client {
        client: ClientRow(1),
        index: 1,
    };
    table.set_region(second, fixed([HERE; 2], [HERE + UNIT; 2]));
    assert_eq!(shouted(&mut table), [[7], [7]]);
    table.drop_region(OWN);
    assert_eq!(shouted(&mut table), [vec![], vec![7]]);
}

#[test]
fn a_shout_that_only_touches_a_region_is_not_heard() {
    let radius = 3 * UNIT;
    // A region on each side, up to the area or one step into it.
    let mut table = Table::new("", SHOUTS);
    table.birth([HERE, HERE]);
    table.tick();
    for (step, heard) in [(0, vec![]), (1, vec![7])] {
        for axis in 0..2 {
            let (mut low, mut high) = ([HERE; 2], [HERE + 1; 2]);
            low[axis] = HERE + radius + 1 - step;
            high[axis] = low[axis] + UNIT;
            table.set_region(OWN, fixed(low, high));
            table.shout(0, radius, 7);
            assert_eq!(table.heard(), heard, "above, by {step}");
            high[axis] = HERE - radius + step;
            low[axis] = high[axis] - UNIT;
            table.set_region(OWN, fixed(low, high));
            table.shout(0, radius, 7);
            assert_eq!(table.heard(), heard, "below, by {step}");
        }
    }
}

#[test]
fn a_shout_that_just_reaches_into_sight_is_heard() {
    let mut table = Table::new("", SHOUTS);
    let radius = 3 * UNIT;
    // The nearest point of the area is along an axis, or a corner. Boxes around the area and
    // around the sight would overlap by far more.
    let along = HERE + 10 * UNIT + radius;
    let corner = HERE + 28_963 + radius;
    table.birth([along, HERE]);
    table.birth([HERE, 2 * HERE - along]);
    table.birth([corner, corner]);
    table.watch(0, Some(Target::Point([HERE, HERE, 0])));
    table.tick();
    for (less, heard) in [(0, vec![0, 1, 2]), (1, vec![])] {
        for slot in 0..3 {
            table.shout(slot, radius - less, slot as i32);
        }
        assert_eq!(table.heard(), heard);
    }
}

#[test]
fn a_client_beyond_its_limit_hears_the_first() {
    let limits = format!("client_hearings_per_tick = 3\n{SHOUTS}");
    let mut table = Table::new("", &limits);
    table.birth([HERE, HERE]);
    table.watch(0, Some(Target::Entity(entity(0))));
    let far = Holder::Client {
        client: ClientRow(1),
        index: 0,
    };
    table.set_region(far, fixed([HERE + 9 * UNIT; 2], [HERE + 10 * UNIT; 2]));
    table.tick();
    let shout_all = |table: &mut Table| {
        for (radius, number) in [(0, 9), (0, 8), (UNIT, 7), (0, 6), (9 * UNIT, 5)] {
            table.shout(0, radius, number);
        }
    };
    shout_all(&mut table);
    // The last shout is beyond the first client's limit, and the only one that reaches the
    // second client.
    assert_eq!(table.heard_by_all(), [vec![9, 8, 7], vec![5]]);
    shout_all(&mut table);
    let counts = table.tick().counts;
    assert_eq!((counts.hearings, counts.hearings_dropped), (4, 2));
    assert_eq!((counts.notifications, counts.notifications_dropped), (5, 0));
    let counts = table.tick().counts;
    assert_eq!((counts.hearings, counts.hearings_dropped), (0, 0));
}

#[test]
fn nobody_hears_through_the_dead() {
    let mut table = Table::new("", &format!("entity_regions = true\n{SHOUTS}"));
    let there = 500 * UNIT;
    table.birth([HERE, HERE]);
    for at in [HERE, there, HERE + 40 * UNIT] {
        table.birth([at, at]);
    }
    // By sight, by a subscription of the followed entity, and by the client's own region.
    table.watch(0, Some(Target::Entity(entity(0))));
    table.set_region(OWN, following(entity(0), 40 * UNIT));
    table.tick();
    let region = fixed([there - 9; 2], [there + 9; 2]);
    table.set_region(Holder::Subscription(entity(0)), region);
    let all = |table: &mut Table| {
        for slot in 1..4 {
            table.shout(slot, UNIT, slot as i32);
        }
    };
    all(&mut table);
    assert_eq!(table.heard(), [1, 2, 3]);
    // The world after the tick counts.
    all(&mut table);
    table.command(entity(0), CommandKind::DESPAWN, &[]);
    assert_eq!(table.heard(), [0; 0]);
    // Nor through the next entity in the same slot.
    table.frame.release.push(Slot(0));
    table.birth([HERE, HERE]);
    all(&mut table);
    assert_eq!(table.heard(), [0; 0]);
}

#[test]
fn observers_hear_from_their_new_position_and_shouts_stay_where_they_were() {
    let mut table = Table::new("", SHOUTS);
    table.birth([HERE, HERE]);
    table.birth([HERE + 10 * UNIT, HERE]);
    table.watch(0, Some(Target::Entity(entity(0))));
    table.tick();
    // The shouter moves along, but its shout stays.
    table.shout(1, 0, 1);
    table.command(entity(0), builtin::MOVE, &[-1, 0]);
    table.command(entity(1), builtin::MOVE, &[-1, 0]);
    assert_eq!(table.heard(), [0; 0]);
    // A shouter that dies in the tick is heard.
    table.shout(1, 0, 2);
    table.command(entity(1), CommandKind::DESPAWN, &[]);
    assert_eq!(table.heard(), [2]);
}

#[test]
fn clients_hear_in_worlds_without_regions() {
    let mut table = Table::without_regions("", SHOUTS);
    table.birth([HERE, HERE]);
    table.birth([0, 0]);
    table.watch(0, Some(Target::Entity(entity(0))));
    table.tick();
    table.shout(0, 0, 0);
    table.shout(1, 9 * UNIT, 1);
    assert_eq!(table.heard_by_all(), [vec![0], vec![]]);
    // Nothing happens.
    let output = table.tick();
    assert!(output.notifications.is_empty() && output.hearings.is_empty());
    table.watch(0, None);
    table.shout(0, 0, 0);
    assert_eq!(table.heard_by_all(), [NOTHING, NOTHING]);
}

#[test]
fn in_bucket_worlds_a_shout_that_reaches_into_a_seen_bucket_is_heard() {
    let mut table = Table::with_whole_buckets(SHOUTS);
    // Its own bucket goes from 100 to 110, so it perceives from 90 to 120.
    table.watch(0, Some(Target::Point([HERE + UNIT, HERE + UNIT, 0])));
    table.birth([HERE + 25 * UNIT, HERE + 25 * UNIT]);
    table.birth([HERE - 15 * UNIT, HERE]);
    table.tick();
    for (radius, heard) in [(5 * UNIT, [0; 0].as_slice()), (5 * UNIT + 1, &[0, 1])] {
        table.shout(0, radius, 0);
        // Its area is half-open: up to one step more than it reaches down.
        table.shout(1, radius - 1, 1);
        assert_eq!(table.heard(), heard);
    }
    // At the world's corner, and in its last buckets.
    table.watch(0, Some(Target::Point([0, 0, 0])));
    table.shout(1, 66 * UNIT, 1);
    assert_eq!(table.heard(), [0; 0]);
    table.shout(0, 100 * UNIT, 1);
    table.shout(1, 85 * UNIT, 2);
    assert_eq!(table.heard(), [2]);
    table.watch(0, Some(Target::Point([1000 * UNIT - 1; 3])));
    table.birth([1000 * UNIT - 1; 2]);
    table.tick();
    table.shout(2, 0, 3);
    assert_eq!(table.heard(), [3]);
}

#[test]
fn a_blast_is_heard_where_it_strikes() {
    let blast = "[commands]\nblast = { reach = 60, radius = 1, sound = 20 }\n\
                 [[kind]]\nname = \"a\"\nattributes = [{ name = \"hp\", type = \"i32\", \
                 audience = \"state\" }]\n";
    let mut table = Table::new("", blast);
    table.birth([HERE, HERE]);
    table.watch(0, Some(Target::Entity(entity(0))));
    table.tick();
    let at = |units: i32| [HERE, HERE + units * UNIT];
    // The sound goes 20 around 30 and so just reaches the sight of 10; then one step less.
    for (more, heard) in [(0, [HERE].as_slice()), (1, &[])] {
        let [x, y] = at(30);
        table.command(entity(0), builtin::BLAST, &[x, y + more]);
        assert_eq!(table.heard(), heard);
    }
}

/// Many clients and many shouters, near and far.
fn play_large(interest: InterestMode, regions_per_client: u32, hearings: u32) {
    let text = format!(
        "[world]\nsize = [300.0, 300.0]\naoi = 12\ncapacity = 2000\nvisible_max = 4\n[limits]\nclients = 300\nregions_per_client = {regions_per_client}\n\
         client_hearings_per_tick = {hearings}\n{SHOUTS}\
         [[kind]]\nname = \"crier\"\npopulation = 2000\n"
    );
    let mut config = world_file::parse(&text, "test").unwrap();
    config.interest = interest;
    let mut parity = Parity::new(&config);
    let mut dice = Dice::new(u64::from(hearings));
    let mut sums = (0, 0);
    for tick in 0..4 {
        let mut frame = Frame::new(Tick(tick.into()));
        if tick == 0 {
            frame.populate(&parity.oracle.config);
        }
        // Clients of higher rows come later, or never.
        for client in (0..1 + tick * 70).map(ClientRow) {
            if dice.once_in(2) {
                let target = Target::Entity(entity(dice.below(2000) as u32));
                let radius = dice.within(0..=12 * UNIT);
                let observer = Some(Observer { target, radius });
                frame.observers.push(ObserverChange {
                    client,
                    index: 0,
                    observer,
                });
            }
            if regions_per_client > 0 && dice.once_in(3) {
                let low = [0; 3].map(|_| dice.within(-10 * UNIT..=290 * UNIT));
                let edge = dice.pick(&[1, 9 * UNIT, 90 * UNIT]);
                let index = dice.below(regions_per_client as usize) as u32;
                frame.regions.push(RegionChange {
                    holder: Holder::Client { client, index },
                    region: Some(Region {
                        low,
                        high: low.map(|low| low + edge),
                        follows: None,
                    }),
                });
            }
        }
        if tick > 0 {
            for number in 0..1500 {
                let shouter = entity(dice.below(2000) as u32);
                let radius = dice.pick(&[0, 1, UNIT, 7 * UNIT, 7 * UNIT, 100 * UNIT]);
                frame.push(shouter, number, builtin::SHOUT, &[radius, 0]);
            }
        }
        let counts = parity.tick(&frame).counts;
        sums.0 += counts.hearings;
        sums.1 += counts.hearings_dropped;
    }
    assert!(sums.0 > 1500 && sums.1 > 1500, "{sums:?}");
}

#[test]
fn a_large_crowd_that_may_hear_little_agrees() {
    play_large(InterestMode::Exact, 2, 5);
}

#[test]
fn a_large_crowd_that_may_hear_much_agrees() {
    play_large(InterestMode::Exact, 2, 200);
}

#[test]
fn a_large_crowd_without_regions_agrees() {
    play_large(InterestMode::Exact, 0, 70);
}

#[test]
fn a_large_crowd_in_buckets_agrees() {
    play_large(InterestMode::Buckets, 0, 100);
}

/// More than fit one group of blocks, and the highest possible limit of a client.
#[test]
fn the_first_of_a_hundred_thousand_shouts_are_heard() {
    let limits = format!(
        "commands_per_tick = 100000\nregion_edge_max = 900\n\
         client_hearings_per_tick = 1024\n{SHOUTS}"
    );
    let mut table = Table::new("", &limits);
    table.birth([HERE, HERE]);
    table.birth([3 * HERE, 3 * HERE]);
    table.watch(0, Some(Target::Entity(entity(1))));
    let far = Holder::Client {
        client: ClientRow(1),
        index: 0,
    };
    table.set_region(far, fixed([HERE; 2], [9 * HERE; 2]));
    table.tick();
    // Every hundredth is by the other, out of the first client's sight.
    for number in 0..100_000 {
        table.shout(u32::from(number % 100 > 0), 0, number);
    }
    let output = table.tick();
    assert_eq!(output.hearings[&0].len(), 1024);
    assert_eq!(output.hearings[&1], (0..1024).collect::<Vec<_>>());
    assert_eq!(output.counts.notifications, 100_000);
    assert_eq!(output.counts.hearings_dropped, 199_000 - 2048);
}

const NOTHING: Vec<i32> = vec![];
