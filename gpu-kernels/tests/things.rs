//! Things: entities without a place, which belong to a holder. On every backend what the oracle sees.

use gpu_kernels::{Frame, SlotState};
use shared::world::logic::Text;
use shared::{EntityId, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{command, with_texts, without_limits};

const WORLD: &str = r#"
[world]
size = [60, 60]
aoi = 20
capacity = 120
[limits]
clients = 8
timed_commands = 1000
atomic_per_tick = 50
[logic]
builtin = []

[[kind]]
name = "player"
population = 8
attributes = [{ name = "seen", type = "i32", merge = "last", audience = "state" }]

[[kind]]
name = "chest"
population = 4

[[kind]]
name = "bag"
place = "none"
population = 6

[[kind]]
name = "coin"
place = "none"
population = 10
attributes = [{ name = "worth", type = "i32", default = { from = 1, to = 9 }, audience = "state" }]

[[kind]]
name = "soul"
place = "none"
on_holder_end = "despawn"
population = 5
attributes = [{ name = "worth", type = "i32", audience = "state" }]
"#;

const SCRIPT: &str = r#"
#[command(clients)]
fn take(me: Entity, thing: Entity) { thing.holder = me; }

#[command(clients)]
fn put(me: Entity, thing: Entity, into: Entity) {
    for it in held_by(me) { if it == thing { it.holder = into; } }
}

#[command(clients)]
fn look(me: Entity) {
    let mut seen = count_held(me) + 100 * count_held(me, "coin");
    for it in held_by(me, "bag") {
        for inner in held_by(it) { seen += 1000 * inner.worth; }
    }
    me.seen = seen;
}

#[command(clients)]
fn mint(me: Entity, worth: i32) { spawn(Coin { holder: me, worth: worth }); }

#[command(clients)]
fn bind(me: Entity, to: Entity) { spawn(Soul { holder: to, worth: 7 }); }

#[command(clients)]
fn smash(me: Entity, it: Entity) { despawn(it); }

#[command(clients, atomic)]
fn buy(me: Entity, from: Entity, coin: Entity) {
    require(coin.holder == me);
    coin.holder = from;
}
"#;

fn world() -> WorldConfig {
    let config = world_file::parse(WORLD, "world").unwrap_or_else(|error| panic!("{error}"));
    let config = with_texts(&config, vec![Text::new("hold.rs", SCRIPT.to_owned())]);
    without_limits(&config)
}

/// A world whose population is born.
fn begun() -> (WorldConfig, Parity) {
    let config = world();
    let mut parity = Parity::new(&config);
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    parity.tick(&frame);
    (config, parity)
}

pub fn value(config: &WorldConfig, parity: &Parity, entity: EntityId, attribute: &str) -> i32 {
    let column = config.schema.column(attribute).unwrap();
    parity.oracle.slots[entity.slot.index()].row[column]
}

/// Runs a tick in which entities give commands.
fn give(config: &WorldConfig, parity: &mut Parity, commands: &[(EntityId, &str, &[i32])]) {
    let mut frame = Frame::new(parity.oracle.tick);
    for (sequence, &(entity, name, words)) in (0..).zip(commands) {
        frame.push(entity, sequence, command(config, name), words);
    }
    frame.order(config.seed);
    parity.tick(&frame);
}

#[test]
fn a_holder_is_seen_to_hold_things_from_the_next_tick_on() {
    let (config, mut parity) = begun();
    let me = parity.oracle.living_of("player")[0];
    let coins = parity.oracle.living_of("coin");
    let bag = parity.oracle.living_of("bag")[0];
    let [first, second, third] = [0, 1, 2].map(|n| coins[n].reference().0);
    let worth = value(&config, &parity, coins[2], "worth");
    let seen = |parity: &Parity| value(&config, parity, me, "seen");
    let took = [first, second, third].map(|coin| (me, "take", [coin]));
    let took: Vec<(EntityId, &str, &[i32])> = took
        .iter()
        .map(|(me, name, words)| (*me, *name, &words[..]))
        .collect();
    give(&config, &mut parity, &took);
    give(
        &config,
        &mut parity,
        &[(me, "take", &[bag.reference().0]), (me, "look", &[])],
    );
    assert_eq!(seen(&parity), 303, "not yet the bag");
    give(
        &config,
        &mut parity,
        &[(me, "put", &[third, bag.reference().0]), (me, "look", &[])],
    );
    assert_eq!(seen(&parity), 304, "the coin is still in hand");
    give(&config, &mut parity, &[(me, "look", &[])]);
    assert_eq!(seen(&parity), 203 + 1000 * worth);
}

#[test]
fn things_are_born_with_a_holder_and_without_a_place() {
    let (config, mut parity) = begun();
    let me = parity.oracle.living_of("player")[0];
    for coin in parity.oracle.living_of("coin") {
        assert_eq!(parity.oracle.position(coin.slot.0), [0; 3]);
        assert_eq!(value(&config, &parity, coin, "holder"), -1);
    }
    let before = parity.oracle.living_of("coin").len();
    give(&config, &mut parity, &[(me, "mint", &[42])]);
    give(&config, &mut parity, &[]);
    let coins = parity.oracle.living_of("coin");
    assert_eq!(coins.len(), before + 1);
    let minted = |coin: &&EntityId| value(&config, &parity, **coin, "worth") == 42;
    let coin = *coins.iter().find(minted).unwrap();
    assert_eq!(value(&config, &parity, coin, "holder"), me.reference().0);
    give(&config, &mut parity, &[(me, "look", &[])]);
    assert_eq!(value(&config, &parity, me, "seen"), 101);
}

#[test]
fn things_belong_to_the_world_or_end_once_their_holder_has_ended() {
    let (config, mut parity) = begun();
    let [me, other] = [0, 1].map(|n| parity.oracle.living_of("player")[n]);
    let chest = parity.oracle.living_of("chest")[0];
    let (coin, soul) = (
        parity.oracle.living_of("coin")[0],
        parity.oracle.living_of("soul")[0],
    );
    let into = [coin, soul].map(|thing| [thing.reference().0, chest.reference().0]);
    for thing in [coin, soul] {
        give(
            &config,
            &mut parity,
            &[(me, "take", &[thing.reference().0])],
        );
    }
    give(
        &config,
        &mut parity,
        &[(me, "put", &into[0]), (me, "put", &into[1])],
    );
    assert_eq!(value(&config, &parity, coin, "holder"), chest.reference().0);
    // The command of this tick despawns in the next one.
    give(
        &config,
        &mut parity,
        &[(other, "smash", &[chest.reference().0])],
    );
    give(&config, &mut parity, &[]);
    assert!(!parity.oracle.is_alive(chest));
    assert!(parity.oracle.is_alive(soul));
    give(&config, &mut parity, &[]);
    assert_eq!(value(&config, &parity, coin, "holder"), -1);
    assert_eq!(
        parity.oracle.slots[soul.slot.index()].state,
        SlotState::Resting
    );
    let souls = parity.oracle.living_of("soul");
    assert_eq!(souls.len(), 4, "those without a holder live on");
}

#[test]
fn no_circle_of_holders_comes_to_be() {
    let (config, mut parity) = begun();
    let me = parity.oracle.living_of("player")[0];
    let [a, b] = [0, 1].map(|n| parity.oracle.living_of("bag")[n]);
    let coin = parity.oracle.living_of("coin")[0];
    // A bag in a bag, a bag in a coin, and a bag in itself: kinds hold only those behind theirs.
    for (thing, into) in [(a, b), (a, coin), (a, a)] {
        give(
            &config,
            &mut parity,
            &[(me, "take", &[thing.reference().0])],
        );
        let words = [thing.reference().0, into.reference().0];
        give(&config, &mut parity, &[(me, "put", &words)]);
        assert_eq!(value(&config, &parity, thing, "holder"), into.reference().0);
        give(&config, &mut parity, &[(into, "look", &[])]);
        assert_eq!(value(&config, &parity, thing, "holder"), -1);
    }
    give(&config, &mut parity, &[(me, "take", &[coin.reference().0])]);
    let words = [coin.reference().0, a.reference().0];
    give(&config, &mut parity, &[(me, "put", &words)]);
    give(&config, &mut parity, &[]);
    assert_eq!(value(&config, &parity, coin, "holder"), a.reference().0);
}

#[test]
fn of_two_who_buy_with_one_coin_one_does() {
    let (config, mut parity) = begun();
    let players = parity.oracle.living_of("player");
    let coin = parity.oracle.living_of("coin")[0].reference().0;
    give(&config, &mut parity, &[(players[0], "take", &[coin])]);
    let [a, b] = [1, 2].map(|n| [players[n].reference().0, coin]);
    let bought = [(players[0], "buy", &a[..]), (players[0], "buy", &b[..])];
    give(&config, &mut parity, &bought);
    let coin = parity.oracle.living_of("coin")[0];
    let holder = value(&config, &parity, coin, "holder");
    assert!([a[0], b[0]].contains(&holder));
}

#[test]
fn every_backend_has_the_same_holders_as_the_oracle_in_any_tick() {
    let (config, mut parity) = begun();
    let mut dice = Dice::new(11);
    let [mut changes, mut deaths] = [0u64; 2];
    let names = ["take", "put", "look", "mint", "bind", "smash", "buy"];
    for tick in 1..120 {
        let mut frame = Frame::new(Tick(tick));
        let living = parity.oracle.living();
        for sequence in 0..dice.below(25) as u32 {
            let name = dice.pick(&names);
            if name == "smash" && !dice.once_in(4) {
                continue;
            }
            let words = &config.schema.command_named(name).unwrap().words;
            let words: Vec<i32> = words
                .iter()
                .map(|word| match word.name.as_str() {
                    "worth" => dice.below(50) as i32,
                    _ => dice.pick(&living).reference().0,
                })
                .collect();
            let by = dice.pick(&living);
            frame.push(by, sequence, command(&config, name), &words);
        }
        frame.release = released(&parity);
        frame.order(config.seed);
        let out = parity.tick(&frame);
        changes += out.counts.changes;
        deaths += out.deaths.len() as u64;
        if tick % 20 == 9 {
            parity.restart(tick % 40 == 9);
        }
    }
    assert!(changes > 300 && deaths > 10, "{changes} {deaths}");
}

/// The slots of the dead, which can be reused at once: no client knows them.
pub fn released(parity: &Parity) -> Vec<shared::Slot> {
    let slots = (0..).zip(&parity.oracle.slots);
    let resting = slots.filter(|(_, slot)| slot.state == SlotState::Resting);
    resting.map(|(slot, _)| shared::Slot(slot)).collect()
}
