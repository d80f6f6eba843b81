//! Notifications: when they happen, their source and their area; on every backend and in
//! the oracle.

use gpu_kernels::{Area, Frame, Notification};
use script::builtin;
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, NotificationKind, Tick, WorldConfig};
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::{with_texts, without_limits};

const UNIT: i32 = 4096;

#[test]
fn a_shout_has_an_area_around_the_shouter_and_a_number() {
    let config = world("", "[commands]\nshout.radius_max = 10");
    let mut parity = Parity::new(&config);
    let shouter = born(&mut parity, &[[5, 7]])[0];
    let mut frame = Frame::new(Tick(1));
    for (radius, number) in [(3 * UNIT, 77), (i32::MAX, -1), (i32::MIN, i32::MAX)] {
        frame.push(shouter, 0, builtin::SHOUT, &[radius, number]);
    }
    // In the tick in which the shouter moves, the area is around its old position.
    frame.push(shouter, 1, builtin::MOVE, &[UNIT, UNIT]);
    let notifications = parity.tick(&frame).notifications;
    let expected = [(3 * UNIT, 77), (10 * UNIT, -1), (0, i32::MAX)].map(|(radius, number)| {
        let area = around([5 * UNIT, 7 * UNIT], radius);
        Notification::new(builtin::SHOUT_NOTIFICATION, shouter, Some(area), &[number])
    });
    assert_eq!(notifications, expected);
    assert_eq!(notifications[0].words(), [77]);
    assert_eq!(
        notifications[1].area(),
        Some(around([5 * UNIT, 7 * UNIT], 10 * UNIT))
    );
    // Only in that tick.
    assert_eq!(parity.tick(&Frame::new(Tick(2))).notifications, []);
}

#[test]
fn nobody_shouts_in_a_world_without_shouts() {
    let config = world("", "");
    assert_eq!(config.limits.notifications_per_tick, 0);
    assert!(config.schema.command(builtin::SHOUT).is_none());
    let mut parity = Parity::new(&config);
    let shouter = born(&mut parity, &[[5, 7]])[0];
    let mut frame = Frame::new(Tick(1));
    frame.push(shouter, 0, builtin::SHOUT, &[1, 2]);
    let output = parity.tick(&frame);
    assert_eq!(
        (output.counts.malformed, output.counts.notifications),
        (1, 0)
    );
}

#[test]
fn a_blast_is_heard_wider_than_it_hurts_and_only_where_it_happens() {
    let config = world(
        "",
        "[commands]\nblast = { reach = 30, radius = 2, sound = 40 }",
    );
    let mut parity = Parity::new(&config);
    let soldier = born(&mut parity, &[[50, 50]])[0];
    let mut frame = Frame::new(Tick(1));
    let far = [50 * UNIT, 81 * UNIT];
    frame.push(soldier, 0, builtin::BLAST, &far);
    let center = [50 * UNIT, 80 * UNIT];
    frame.push(soldier, 1, builtin::BLAST, &center);
    let notifications = parity.tick(&frame).notifications;
    let area = around(center, 40 * UNIT);
    let blast = Notification::new(builtin::BLAST_NOTIFICATION, soldier, Some(area), &center);
    assert_eq!(notifications, [blast]);
}

#[test]
fn the_last_notifications_beyond_the_limit_are_dropped_and_counted() {
    let config = world(
        "notifications_per_tick = 3",
        "[commands]\nshout.radius_max = 10",
    );
    let mut parity = Parity::new(&config);
    let shouters = born(&mut parity, &[[5, 5]; 5]);
    let mut frame = Frame::new(Tick(1));
    for (number, &shouter) in shouters.iter().enumerate() {
        frame.push(shouter, 0, builtin::SHOUT, &[0, number as i32]);
    }
    let output = parity.tick(&frame);
    let numbers: Vec<_> = output.notifications.iter().map(|n| n.words()[0]).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(output.counts.notifications, 3);
    assert_eq!(output.counts.notifications_dropped, 2);
}

#[test]
fn a_command_whose_updates_are_dropped_still_notifies() {
    let config = world(
        "updates_per_tick = 1",
        "[commands]\nblast = { reach = 90, radius = 90, sound = 1 }",
    );
    let mut parity = Parity::new(&config);
    let soldier = born(&mut parity, &[[5, 5]; 4])[0];
    let mut frame = Frame::new(Tick(1));
    frame.push(soldier, 0, builtin::BLAST, &[0, 0]);
    let output = parity.tick(&frame);
    assert_eq!(
        (output.counts.updates, output.counts.updates_dropped),
        (0, 3)
    );
    assert_eq!(output.counts.notifications, 1);
}

const MARKET: &str = "[[kind]]\nname = \"person\"\n[[kind]]\nname = \"thing\"\nattributes = \
    [{ name = \"owner\", type = \"entity\", merge = \"first\", audience = \"state\", \
    tells_owner = true }]\n";

#[test]
fn a_pick_is_notified_for_the_entity_that_gets_the_item() {
    let mut parity = Parity::new(&world("notifications_per_tick = 9", MARKET));
    let mut frame = Frame::new(Tick(0));
    for (kind, x) in [(0, 5), (0, 6), (1, 7), (1, 8)] {
        frame.spawn_at(kind, 0, &[x * UNIT, 5 * UNIT]);
    }
    let births = parity.tick(&frame).births;
    let ids: Vec<_> = births.iter().map(|b| b.entity.unwrap()).collect();
    let reference = |i: usize| ids[i].reference().0;
    let pick = |who: usize, what: usize| {
        let area = around([(5 + what as i32) * UNIT, 5 * UNIT], 0);
        let kind = NotificationKind::PICKED;
        Notification::new(kind, ids[who], Some(area), &[reference(what)])
    };
    frame.reset(Tick(1));
    frame.push(ids[1], 0, builtin::PICK, &[reference(3)]);
    frame.push(ids[1], 1, builtin::PICK, &[reference(2)]);
    frame.push(ids[0], 2, builtin::PICK, &[reference(2)]);
    // Ordered by the items' slots.
    assert_eq!(parity.tick(&frame).notifications, [pick(1, 2), pick(1, 3)]);
    // Putting an item down and reaching for an owned item do not notify.
    frame.reset(Tick(2));
    frame.push(ids[1], 0, builtin::PICK, &[reference(2)]);
    frame.push(ids[0], 1, builtin::PICK, &[reference(3)]);
    assert_eq!(parity.tick(&frame).notifications, []);
    // An entity that dies in the tick still takes the item.
    frame.reset(Tick(3));
    frame.push(ids[0], 0, builtin::PICK, &[reference(2)]);
    frame.push(ids[0], 1, CommandKind::DESPAWN, &[]);
    assert_eq!(parity.tick(&frame).notifications, [pick(0, 2)]);
}

#[test]
fn picks_are_not_notified_where_owners_are_private_or_hidden_or_not_asked_for() {
    let not_told = MARKET.replace("tells_owner = true", "tells_owner = false");
    let [private, hidden] = ["private", "hidden"].map(|to| MARKET.replace("state", to));
    for kinds in [private, hidden, not_told] {
        let config = world("notifications_per_tick = 9", &kinds);
        assert_eq!(config.schema.notifications, []);
        let mut parity = Parity::new(&config);
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(0, 0, &[5, 5]);
        frame.spawn_at(1, 0, &[5, 5]);
        parity.tick(&frame);
        frame.reset(Tick(1));
        let item = EntityId::new(1, 1).reference().0;
        frame.push(EntityId::new(0, 1), 0, builtin::PICK, &[item]);
        let output = parity.tick(&frame);
        assert_eq!((output.counts.changes, output.counts.notifications), (1, 0));
    }
}

#[test]
fn falls_are_notified_where_they_happen_after_the_commands_notifications() {
    let mut parity = Parity::new(&world(
        "notifications_per_tick = 3",
        "[commands]\nstrike.damage = 10\nshout.radius_max = 1\n\
         [[kind]]\nname = \"player\"\nattributes = [{ name = \"hp\", type = \"i32\", min = 0, \
         default = 100, audience = \"hidden\" }]\n\
         [[kind]]\nname = \"wolf\"\nrespawn_ticks = 3\nattributes = [{ name = \"hp\", \
         type = \"i32\", min = 0, default = 10, falls_at = 0, audience = \"hidden\" }]\n",
    ));
    let mut frame = Frame::new(Tick(0));
    for kind in [0, 1, 1, 1] {
        frame.spawn_at(kind, 0, &[5 * UNIT, 5 * UNIT]);
    }
    let births = parity.tick(&frame).births;
    let ids: Vec<_> = births.iter().map(|b| b.entity.unwrap()).collect();
    frame.reset(Tick(1));
    for &wolf in &ids[1..] {
        let words = [wolf.reference().0];
        frame.push(ids[0], 0, builtin::STRIKE, &words);
    }
    // The fall is where the tick has moved the wolf to.
    frame.push(ids[2], 1, builtin::MOVE, &[UNIT, 0]);
    // A despawned entity does not fall.
    frame.push(ids[3], 1, CommandKind::DESPAWN, &[]);
    frame.push(ids[0], 2, builtin::SHOUT, &[0, 1]);
    let output = parity.tick(&frame);
    assert_eq!(output.deaths.len(), 3);
    let fall = |entity, x| {
        let area = around([x * UNIT, 5 * UNIT], 0);
        Notification::new(NotificationKind::FALL, entity, Some(area), &[1])
    };
    assert_eq!(
        output.notifications[0].kind,
        builtin::SHOUT_NOTIFICATION.id()
    );
    assert_eq!(
        output.notifications[1..],
        [fall(ids[1], 5), fall(ids[2], 6)]
    );
}

#[test]
fn eight_numbers_come_as_they_were_sent_by_ordinary_and_by_atomic_commands() {
    let script = "
        #[command(clients)]
        fn now(me: Entity, n: i32) {
            tell(Long { a: n, b: me, c: n > 1, d: 0.5, at: me.position, f: n * 2, g: 7 }, around(me, 2.0));
            tell(Short { g: n });
        }
        #[command(clients, atomic)]
        fn later(me: Entity, n: i32) {
            tell(Short { g: n });
            tell(Long { a: n, b: none, c: n > 1, d: 0.5, at: point(1.0, 2.0), f: n * 2, g: 8 });
        }";
    let config = world(
        "notifications_per_tick = 9\natomic_per_tick = 3\ntimed_commands = 3",
        "[[kind]]\nname = 'player'",
    );
    let config = with_texts(&config, vec![Text::new("tell.rs", script)]);
    let number = |name: &str| config.schema.command_named(name).unwrap().kind;
    let mut parity = Parity::new(&config);
    let me = born(&mut parity, &[[5, 7]])[0];
    let mut frame = Frame::new(Tick(1));
    frame.push(me, 0, number("now"), &[3]);
    frame.push(me, 1, number("later"), &[1]);
    let notified = parity.tick(&frame).notifications;
    let notified: Vec<&[i32]> = notified.iter().map(Notification::words).collect();
    let own = me.reference().0;
    let half = UNIT / 2;
    let expected: [&[i32]; 4] = [
        &[3, own, 1, half, 5 * UNIT, 7 * UNIT, 6, 7],
        &[3],
        &[1],
        &[1, -1, 0, half, UNIT, 2 * UNIT, 2, 8],
    ];
    assert_eq!(notified, expected);
}

/// More commands than fit a block, and than fit one group of blocks.
#[test]
fn a_hundred_thousand_shouts_agree() {
    let config = world(
        "notifications_per_tick = 90000\ncommands_per_tick = 100000",
        "[commands]\nshout.radius_max = 10",
    );
    let mut parity = Parity::new(&config);
    let shouters = born(&mut parity, &[[5, 5], [6, 6]]);
    let mut frame = Frame::new(Tick(1));
    for number in 0..100_000 {
        let kind = match number % 3 {
            0 => builtin::MOVE,
            _ => builtin::SHOUT,
        };
        frame.push(shouters[number as usize % 2], 0, kind, &[number, number]);
    }
    let output = parity.tick(&frame);
    assert_eq!(output.counts.notifications, 66_666);
    frame.reset(Tick(2));
    for number in 0..100_000 {
        frame.push(shouters[0], 0, builtin::SHOUT, &[number, number]);
    }
    let output = parity.tick(&frame);
    assert_eq!(output.counts.notifications_dropped, 10_000);
}

/// Births of the first kind at these places, in units.
fn born(parity: &mut Parity, places: &[[i32; 2]]) -> Vec<EntityId> {
    let mut frame = Frame::new(Tick(0));
    for place in places {
        frame.spawn_at(0, 0, &place.map(|p| p * UNIT));
    }
    let output: OracleOutput = parity.tick(&frame);
    output.births.iter().map(|b| b.entity.unwrap()).collect()
}

fn around([x, y]: [i32; 2], distance: i32) -> Area {
    Area {
        low: [x - distance, y - distance, 0],
        high: [x + distance + 1, y + distance + 1, 1],
    }
}

/// A world of 100 × 100 units.
fn world(limits: &str, rest: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\nvisible_max = 8\n[limits]\n{limits}\n{rest}\n"
    );
    // Some give many commands in a tick.
    without_limits(&world_file::parse(&text, "test").expect("the world file is valid"))
}
