//! Content subscriptions in the tick: which clients get which notices, which never do, and
//! what happens while subscriptions come and go.

mod costs;
mod direct;
mod game;
mod meanwhile;
mod mirror;
mod private;
mod quotas;
mod random;
mod secrets;

use gpu_kernels::Frame;
use gpu_kernels::listen::{Listeners, Notice};
use script::builtin;
use shared::{CommandKind, EntityId, Tick, WorldConfig};
use testkit::dice::Dice;

use direct::Value;
use game::{ByClient, Game};

const UNIT: i32 = 4096;

const GUILD: &str = "[[kind]]\nname = \"player\"\nattributes = [\n\
    { name = \"hp\", type = \"i32\", min = 0, max = 100, default = 50, audience = \"private\" },\n\
    { name = \"rank\", type = \"i32\", default = 3, audience = \"state\" },\n\
    { name = \"luck\", type = \"i32\", default = 7, audience = \"hidden\" },\n]\n\
    [[every]]\nkind = \"player\"\nticks = 1\ncommand = \"roam\"\nwords = []\n";

/// Two players, of client 0 and client 1; client 2 has no entity.
fn guild() -> Game {
    let mut game = Game::new(&world("subscriptions_per_client = 3", GUILD));
    let mut frame = Frame::new(Tick(0));
    for token in 0..2 {
        frame.spawn_at(0, token, &[50 * UNIT, 50 * UNIT]);
    }
    game.tick(&frame);
    for slot in 0..2 {
        game.set_entity(slot, EntityId::new(slot, 1));
    }
    game
}

/// Player 0 strikes player 1, whose hit points are private.
fn strike(game: &mut Game, tick: u64) -> ByClient {
    let mut frame = Frame::new(Tick(tick));
    let words = [EntityId::new(1, 1).reference().0];
    frame.push(EntityId::new(0, 1), 0, builtin::STRIKE, &words);
    game.tick(&frame).1
}

#[test]
fn a_client_gets_one_notice_with_all_matching_subscriptions() {
    let mut game = guild();
    let is = |name: &str, text: &str| (name.to_owned(), "==", Value::Text(text.to_owned()));
    assert!(game.subscribe(
        2,
        9,
        vec![vec![is("attribute", "x")], vec![is("event", "change")]]
    ));
    assert!(game.subscribe(2, 4, vec![vec![is("kind", "player")]]));
    assert!(game.subscribe(2, 5, vec![vec![is("attribute", "y")]]));
    let (output, notices) = game.tick(&Frame::new(Tick(1)));
    assert_eq!(notices[&2].len(), output.counts.changes as usize);
    for (notice, ids) in &notices[&2] {
        match notice {
            Notice::Change {
                column: 0, command, ..
            } => {
                assert_eq!((&ids[..], *command), (&[4, 9][..], Some(builtin::ROAM)));
            }
            _ => assert_eq!(ids, &[4, 5, 9]),
        }
    }
}

#[test]
fn notices_describe_the_dead_as_they_were_and_none_is_about_a_despawn() {
    let wolves = "[commands]\nstrike.damage = 60\n[[kind]]\nname = \"player\"\n\
        [[kind]]\nname = \"wolf\"\nrespawn_ticks = 5\nattributes = [{ name = \"hp\", \
        type = \"i32\", min = 0, default = 50, falls_at = 0, audience = \"state\" }]\n";
    let mut game = Game::new(&world("subscriptions_per_client = 3", wolves));
    let mut frame = Frame::new(Tick(0));
    frame.spawn_at(0, 0, &[50 * UNIT, 50 * UNIT]);
    frame.spawn_at(1, 1, &[51 * UNIT, 50 * UNIT]);
    frame.spawn_at(1, 2, &[52 * UNIT, 50 * UNIT]);
    game.tick(&frame);
    let fall = ("event".to_owned(), "==", Value::Text("fall".to_owned()));
    let place = ("x".to_owned(), "==", Value::Number(51.0));
    let kind = ("fall.kind".to_owned(), "==", Value::Number(1.0));
    assert!(game.subscribe(0, 0, vec![vec![fall, place, kind]]));
    assert!(game.subscribe(
        1,
        0,
        vec![vec![("hp".to_owned(), "<=", Value::Number(0.0))]]
    ));
    assert!(game.subscribe(2, 0, vec![vec![]]));
    let mut frame = Frame::new(Tick(1));
    let words = [EntityId::new(1, 1).reference().0];
    frame.push(EntityId::new(0, 1), 0, builtin::STRIKE, &words);
    // No notice says that this one is gone.
    frame.push(EntityId::new(2, 1), 0, CommandKind::DESPAWN, &[]);
    let (output, notices) = game.tick(&frame);
    assert_eq!(output.deaths.len(), 2);
    let change = Notice::Change {
        entity: EntityId::new(1, 1),
        kind: 1,
        column: 2,
        old: 50,
        new: 0,
        command: Some(builtin::STRIKE),
        by: EntityId::new(0, 1),
    };
    let ids = vec![0];
    assert_eq!(notices[&0], [(Notice::Notification(0), ids.clone())]);
    let both = [(Notice::Notification(0), ids.clone()), (change, ids)];
    assert_eq!(notices[&1], both);
    assert_eq!(notices[&2], both);
}

#[test]
fn notices_describe_those_who_fall_in_the_tick_of_their_birth() {
    let wolves = "[[kind]]\nname = \"player\"\n\
        [[kind]]\nname = \"wolf\"\nrespawn_ticks = 5\nattributes = [{ name = \"hp\", \
        type = \"i32\", min = -9, default = 50, falls_at = 0, audience = \"state\" }, \
        { name = \"rage\", type = \"i32\", default = 3, audience = \"private\" }]\n";
    let mut game = Game::new(&world("subscriptions_per_client = 3", wolves));
    let is = |name: &str, value| (name.to_owned(), "==", value);
    let kind = |name: &str| is("kind", Value::Text(name.to_owned()));
    assert!(game.subscribe(
        0,
        0,
        vec![vec![kind("wolf"), is("hp", Value::Number(-4.0))]]
    ));
    assert!(game.subscribe(1, 0, vec![vec![is("rage", Value::Number(8.0))]]));
    assert!(game.subscribe(2, 0, vec![vec![kind("player")]]));
    assert!(game.subscribe(2, 1, vec![vec![is("x", Value::Number(52.0))]]));
    let mut frame = Frame::new(Tick(0));
    for (token, hp) in [(0, 7), (1, -4), (2, -5)] {
        let x = (50 + token as i32) * UNIT;
        frame.spawn_as(1, token, &[x, 50 * UNIT, hp, 8]);
    }
    let (output, notices) = game.tick(&frame);
    assert_eq!((output.births.len(), output.deaths.len()), (3, 2));
    // The first that has fallen is the second that was born; what is private, stays so.
    let first = (Notice::Notification(0), vec![0]);
    let second = (Notice::Notification(1), vec![1]);
    assert_eq!(
        notices,
        ByClient::from([(0, vec![first]), (2, vec![second])])
    );
}

/// Ranges are found by their cells: also ranges that end where a cell does, of one value, of
/// none, without one end, and beyond all values.
#[test]
fn a_subscription_to_a_range_matches_all_values_in_it() {
    let text = "[world]\nsize = [64, 40]\ncapacity = 300\n\
        [limits]\nsubscriptions_per_client = 4\nclients = 250\nclient_notices_per_tick = 2000\n\
        [[kind]]\nname = \"sheep\"\npopulation = 200\nattributes = [\
        { name = \"hp\", type = \"i32\", min = -40, max = 600, default = 599, \
        audience = \"private\" }]\n\
        [[kind]]\nname = \"goat\"\npopulation = 60\n\
        [[every]]\nkind = \"sheep\"\nticks = 1\ncommand = \"roam\"\n\
        [[every]]\nkind = \"goat\"\nticks = 1\ncommand = \"roam\"\n";
    let config = world_file::parse(text, "test").unwrap();
    let mut game = Game::new(&config);
    let mut dice = Dice::new(5);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    game.tick(&frame);
    for client in 0..250 {
        for id in 0..4 {
            let name = dice.pick(&["x", "y", "x", "y", "hp"]);
            // Ends of cells, and just beside them.
            let at = f64::from(dice.within(-2..=66)) + dice.pick(&[0.0, 0.25, -1.0 / 4096.0]);
            let width = dice.pick(&[0.0, 1.0 / 4096.0, 0.25, 1.0, 3.0, 16.0, -1.0]);
            let constraint =
                |name: &str, operator, n| (name.to_owned(), operator, Value::Number(n));
            let low = constraint(name, dice.pick(&[">", ">="]), at);
            let high = constraint(name, dice.pick(&["<", "<="]), at + width);
            let mut filter = match dice.below(5) {
                0 => vec![low],
                1 => vec![high],
                2 => vec![constraint(name, dice.pick(&["==", "!="]), at)],
                _ => vec![low, high],
            };
            if dice.once_in(3) {
                filter.push(constraint("y", ">", f64::from(dice.within(-5..=50))));
                filter.push(constraint("y", "<=", f64::from(dice.within(-5..=50))));
            }
            assert!(game.subscribe(client, id, vec![filter]));
        }
        game.set_entity(client, EntityId::new(client, 1));
    }
    let mut notices = 0;
    for tick in 1..12 {
        let (_, all) = game.tick(&Frame::new(Tick(tick)));
        notices += all.values().map(Vec::len).sum::<usize>();
    }
    assert!(notices > 100_000, "{notices}");
}

#[test]
fn nobody_listens_in_a_world_without_subscriptions() {
    let config = world("", GUILD);
    assert!(Listeners::new(&config, 1, None).unwrap().is_none());
}

/// A world of 100 × 100 units.
fn world(limits: &str, rest: &str) -> WorldConfig {
    let text = format!(
        "[world]\nsize = [100, 100]\ncapacity = 40\nvisible_max = 8\n[limits]\n{limits}\n{rest}\n"
    );
    world_file::parse(&text, "test").unwrap_or_else(|error| panic!("{error}"))
}
