//! Attributes of 64 bits: how updates of their halves become one change, on every backend and in
//! the oracle.

use gpu_kernels::Frame;
use shared::world::attribute::joined;
use shared::world::logic::Text;
use shared::{EntityId, Slot, Tick, WorldConfig};
use testkit::dice::Dice;
use testkit::parity::Parity;
use testkit::scripts::{with_texts, without_limits};

const WORLD: &str = r#"
[world]
size = [100, 100]
capacity = 40
[limits]
clients = 10
atomic_per_tick = 1000

[[kind]]
name = "player"
attributes = [
    { name = "hp", type = "i32", audience = "state" },
    { name = "gold", type = "i64", default = 4_294_967_295, min = -5_000_000_000, max = 9_000_000_000_000, audience = "state" },
    { name = "all", type = "i64", default = 9_223_372_036_854_775_000, audience = "hidden" },
    { name = "least", type = "i64", merge = "min", default = 7, audience = "private" },
    { name = "most", type = "i64", merge = "max", default = -7, audience = "state" },
    { name = "first", type = "i64", merge = "first", audience = "state" },
    { name = "last", type = "i64", merge = "last", audience = "state" },
    { name = "mana", type = "i32", audience = "state" },
]

[[kind]]
name = "rock"
attributes = [{ name = "mana", type = "i32", audience = "state" }]
"#;

const SCRIPT: &str = "
/// `by` thousand million and `n` for every attribute.
#[command(clients)]
fn give(me: Entity, to: Entity, by: i32, n: i32) {
    let number = by as i64 * 1_000_000_000 + n as i64;
    to.gold += number;
    to.all += number;
    to.least.min(number);
    to.most.max(number);
    to.first = number;
    to.last = number;
    to.hp += 1;
    to.mana += n;
}

#[command(clients, atomic)]
fn settle(me: Entity, to: Entity, by: i32) {
    require(me.gold >= by as i64 * 1_000_000_000);
    me.gold -= by as i64 * 1_000_000_000;
    require_fits(to.gold += by as i64 * 1_000_000_000);
    to.most = me.gold;
}
";

/// A world with some players, which exist from the second tick on.
struct Played {
    config: WorldConfig,
    parity: Parity,
    tick: Tick,
    sequence: u32,
}

impl Played {
    fn new() -> Played {
        let config = world_file::parse(WORLD, "wide").unwrap();
        let config = with_texts(&config, vec![Text::new("test.rs", SCRIPT)]);
        let config = without_limits(&config);
        let mut played = Played {
            parity: Parity::new(&config),
            config,
            tick: Tick(0),
            sequence: 0,
        };
        let mut frame = played.frame();
        let rock = played.config.schema.kind("rock").unwrap() as u16;
        for kind in [0, 0, 0, rock] {
            frame.spawn_at(kind, 0, &[50 << 12, 50 << 12]);
        }
        played.parity.tick(&frame);
        played
    }

    fn frame(&mut self) -> Frame {
        let frame = Frame::new(self.tick);
        self.tick = Tick(self.tick.0 + 1);
        frame
    }

    fn command(&mut self, frame: &mut Frame, name: &str, by: u32, words: &[i32]) {
        let kind = self.config.schema.command_named(name).unwrap().kind;
        self.sequence += 1;
        frame.push(player(by), self.sequence, kind, words);
    }

    fn value(&mut self, slot: u32, attribute: &str) -> i64 {
        let column = self.config.schema.column(attribute).unwrap();
        let columns = self.config.schema.attributes.len();
        let rows = self.parity.oracle.snapshot().rows;
        let row = &rows[slot as usize * columns..][..columns];
        joined([row[column], row[column + 1]])
    }
}

fn player(slot: u32) -> EntityId {
    EntityId {
        slot: Slot(slot),
        generation: 1,
    }
}

/// The word that refers to a player.
fn word(slot: u32) -> i32 {
    player(slot).reference().0
}

#[test]
fn a_sum_carries_from_the_low_half_into_the_high_one_and_back() {
    let mut played = Played::new();
    let mut frame = played.frame();
    played.command(&mut frame, "give", 0, &[word(1), 0, 1]);
    let output = played.parity.tick(&frame);
    assert_eq!(played.value(1, "gold"), 4_294_967_296);
    // Both halves have changed.
    let gold = played.config.schema.column("gold").unwrap() as u16;
    let changes = &output.changes;
    assert_eq!((changes[&(1, gold)], changes[&(1, gold + 1)]), (0, 1));
    let mut frame = played.frame();
    played.command(&mut frame, "give", 0, &[word(1), -9, -2]);
    played.parity.tick(&frame);
    assert_eq!(played.value(1, "gold"), 4_294_967_296 - 9_000_000_002);
}

#[test]
fn the_sum_of_many_updates_is_exact_and_clamped_once() {
    let mut played = Played::new();
    let mut frame = played.frame();
    // Beyond the ends of 64 bits and back.
    for by in [1, -1] {
        for client in 0..3 {
            for _ in 0..20 {
                played.command(
                    &mut frame,
                    "give",
                    client,
                    &[word(0), by * i32::MAX, by * 3],
                );
            }
        }
    }
    played.parity.tick(&frame);
    assert_eq!(played.value(0, "gold"), 4_294_967_295);
    assert_eq!(played.value(0, "all"), 9_223_372_036_854_775_000);
    for (by, expected) in [(i32::MAX, i64::MAX), (i32::MIN, i64::MIN)] {
        for _ in 0..12 {
            let mut frame = played.frame();
            for client in 0..3 {
                played.command(&mut frame, "give", client, &[word(0), by, by]);
            }
            played.parity.tick(&frame);
        }
        assert_eq!(played.value(0, "all"), expected);
    }
    assert_eq!(played.value(0, "gold"), -5_000_000_000);
}

#[test]
fn the_least_and_the_greatest_are_found_by_whole_numbers() {
    let mut played = Played::new();
    let mut frame = played.frame();
    // By their low halves alone, others would be.
    for (client, by, n) in [(0, 8, 1), (1, -8, 2), (2, 7, -5), (0, -7, -9), (1, 0, 5)] {
        played.command(&mut frame, "give", client, &[word(2), by, n]);
    }
    played.parity.tick(&frame);
    assert_eq!(played.value(2, "least"), -7_999_999_998);
    assert_eq!(played.value(2, "most"), 8_000_000_001);
    let given = [
        8_000_000_001,
        -7_999_999_998,
        6_999_999_995,
        -7_000_000_009,
        5,
    ];
    let (first, last) = (played.value(2, "first"), played.value(2, "last"));
    assert!(given.contains(&first) && given.contains(&last) && first != last);
}

#[test]
fn atomic_commands_follow_each_other_over_both_halves() {
    let mut played = Played::new();
    let mut frame = played.frame();
    for _ in 0..6 {
        played.command(&mut frame, "settle", 0, &[word(1), 1]);
    }
    played.parity.tick(&frame);
    // The fifth would have to give more than there is.
    assert_eq!(played.value(0, "gold"), 294_967_295);
    assert_eq!(played.value(1, "gold"), 8_294_967_295);
    assert_eq!(played.value(1, "most"), 294_967_295);
}

#[test]
fn random_numbers_are_alike_on_every_backend() {
    let mut played = Played::new();
    let mut dice = Dice::new(5);
    for _ in 0..30 {
        let mut frame = played.frame();
        for _ in 0..dice.below(200) {
            let client = dice.below(3) as u32;
            // To a rock, too, which has no such attributes.
            let to = word(dice.below(4) as u32);
            let by = dice.pick(&[0, 1, -1, 9, i32::MAX, i32::MIN]);
            let n = dice.any();
            match dice.once_in(4) {
                true => played.command(&mut frame, "settle", client, &[to, by]),
                false => played.command(&mut frame, "give", client, &[to, by, n]),
            }
        }
        played.parity.tick(&frame);
    }
}
