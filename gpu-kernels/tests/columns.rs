//! Worlds with more than 64 columns: all backends and the oracle agree on each of them.

use gpu_kernels::Frame;
use shared::world::attribute::joined;
use shared::world::columns::ATTRIBUTES_MAX;
use shared::world::logic::Text;
use shared::{EntityId, Slot, Tick, WorldConfig};
use testkit::parity::Parity;
use testkit::scripts::{with_texts, without_limits};

const HEAD: &str = "
[world]
size = [100, 100]
capacity = 40
[limits]
clients = 10
atomic_per_tick = 1000
timed_commands = 100
subscriptions_per_client = 2
";

const SCRIPT: &str = "
#[command(clients)]
fn raise(me: Entity, to: Entity, by: i32) {
    to.a60 += by;
    to.wealth += by as i64 * 1_000_000_000;
    to.b0 += by;
    to.b61 += 2 * by;
    to.c0 += 3 * by;
    to.d[by] += 7;
    to.e9 += by;
    to.end += by;
    if has(to.e9) { me.a60 += to.e9 + to.end; }
}

#[command(clients, atomic)]
fn settle(me: Entity, to: Entity, by: i32) {
    require(me.wealth >= by as i64);
    me.wealth -= by as i64;
    to.e9 += by;
    to.d[3] = me.a60;
    to.end -= 1;
}

#[command(clients)]
fn bear(me: Entity, by: i32) {
    spawn(Fifth {
        e0: by,
        e9: by + 1,
        purse: 5_000_000_000 + by as i64,
        end: by + 2,
        temper: me.temper,
    }, me);
    spawn(Second { b0: by + 3, b61: by + 4 }, me);
    spawn(Third { temper: me.temper, c1: by + 5, c0: by + 6 }, me);
    spawn(Player { a59: by + 7, a60: by + 8 }, me);
}
";

/// Kinds with 256 columns together, some of which have as many as a kind can.
fn world() -> WorldConfig {
    let numbers = |prefix: &str, count: usize| {
        let all = (0..count).map(|n| {
            let audience = ["state", "private", "hidden"][n % 3];
            format!("{{ name = \"{prefix}{n}\", type = \"i32\", audience = \"{audience}\" }}, ")
        });
        all.collect::<String>()
    };
    let one = |name: &str, ty: &str| {
        format!("{{ name = \"{name}\", type = {ty}, audience = \"state\" }}, ")
    };
    let temper = |symbols: &str| {
        format!(
            "{{ name = \"temper\", type = \"symbol\", symbols = [{symbols}], default = \"calm\", \
             audience = \"state\" }}, "
        )
    };
    let kinds = [
        ("player", numbers("a", 61)),
        (
            "rich",
            one("wealth", "\"i64\"") + &numbers("a", 61)[numbers("a", 60).len()..],
        ),
        ("second", numbers("b", 62)),
        ("third", numbers("c", 61) + &temper("\"calm\", \"wild\"")),
        ("fourth", one("d", "{ array = \"i32\", length = 48 }")),
        (
            "fifth",
            numbers("e", 16)
                + &one("purse", "\"i64\"")
                + &one("end", "\"i32\"")
                + &temper("\"calm\""),
        ),
        (
            "moody",
            temper("\"calm\", \"wild\"") + &one("wealth", "\"i64\""),
        ),
    ];
    let kinds = kinds.map(|(name, attributes)| {
        format!("[[kind]]\nname = \"{name}\"\nattributes = [{attributes}]\n")
    });
    let config = world_file::parse(&format!("{HEAD}{}", kinds.concat()), "columns").unwrap();
    let config = with_texts(&config, vec![Text::new("test.rs", SCRIPT)]);
    without_limits(&config)
}

struct Played {
    config: WorldConfig,
    parity: Parity,
    tick: Tick,
}

impl Played {
    /// An entity of each kind, in the slot of its number.
    fn new() -> Played {
        let config = world();
        let mut played = Played {
            parity: Parity::new(&config),
            config,
            tick: Tick(0),
        };
        let mut frame = played.frame();
        for kind in 0..played.config.schema.kinds.len() as u16 {
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

    fn column(&self, attribute: &str) -> usize {
        self.config.schema.column(attribute).unwrap()
    }

    fn command(&self, frame: &mut Frame, name: &str, by: u32, words: &[i32]) {
        let kind = self.config.schema.command_named(name).unwrap().kind;
        frame.push(living(by), frame.commands.len() as u32, kind, words);
    }

    fn row(&self, slot: usize) -> Vec<i32> {
        let columns = self.config.schema.attributes.len();
        let rows = self.parity.oracle.snapshot().rows;
        rows[slot * columns..][..columns].to_vec()
    }

    fn value(&self, slot: usize, attribute: &str) -> i32 {
        self.row(slot)[self.column(attribute)]
    }

    fn wide(&self, slot: usize, attribute: &str) -> i64 {
        let column = self.column(attribute);
        let row = self.row(slot);
        joined([row[column], row[column + 1]])
    }
}

fn living(slot: u32) -> EntityId {
    EntityId {
        slot: Slot(slot),
        generation: 1,
    }
}

const PLAYER: u32 = 0;
const RICH: u32 = 1;
const SECOND: u32 = 2;
const THIRD: u32 = 3;
const FOURTH: u32 = 4;
const FIFTH: u32 = 5;
const MOODY: u32 = 6;
const KINDS: u32 = 7;

#[test]
fn attributes_are_where_the_borders_are() {
    let played = Played::new();
    let of = |name: &str| played.column(name);
    assert_eq!(played.config.schema.attributes.len(), ATTRIBUTES_MAX);
    assert_eq!((of("a60"), of("wealth"), of("b0")), (62, 63, 65));
    assert_eq!((of("b61"), of("c0"), of("temper")), (126, 127, 188));
    assert_eq!(
        (of("d[0]"), of("e0"), of("purse"), of("end")),
        (189, 237, 253, 255)
    );
    let own = played
        .config
        .schema
        .kinds
        .iter()
        .map(|kind| kind.attributes.len());
    assert_eq!(own.max(), Some(64));
}

#[test]
fn every_kind_changes_in_its_own_columns() {
    let mut played = Played::new();
    for by in [5, 3, 60, -1] {
        let mut frame = played.frame();
        for to in 0..KINDS {
            let words = [living(to).reference().0, by];
            played.command(&mut frame, "raise", RICH, &words);
            played.command(&mut frame, "raise", PLAYER, &words);
        }
        played.parity.tick(&frame);
    }
    // Twice in each tick.
    let sum = 2 * (5 + 3 + 60 - 1);
    assert_eq!(
        played.wide(RICH as usize, "wealth"),
        i64::from(sum) * 1_000_000_000
    );
    let changed = [
        (SECOND, "b0", sum),
        (SECOND, "b61", 2 * sum),
        (THIRD, "c0", 3 * sum),
        (FOURTH, "d[5]", 14),
        (FOURTH, "d[3]", 14),
        (FOURTH, "d[4]", 0),
        (FIFTH, "e9", sum),
        (FIFTH, "end", sum),
    ];
    for (slot, attribute, expected) in changed {
        assert_eq!(
            played.value(slot as usize, attribute),
            expected,
            "{attribute}"
        );
    }
    // What it saw of the fifth, tick by tick: 0, 10, 16, 136, each twice.
    let seen = 2 * (10 + 16 + 136);
    assert_eq!(played.value(PLAYER as usize, "a60"), sum + seen);
    // No kind has a value of another.
    for (slot, kind) in played.config.schema.kinds.iter().enumerate() {
        let mut own = kind.attributes.iter().map(|own| usize::from(own.column));
        for (column, value) in played.row(slot).into_iter().enumerate() {
            assert!(
                value == 0 || own.any(|own| own == column),
                "{} {column}",
                kind.name
            );
        }
    }
}

#[test]
fn atomic_commands_change_columns_of_several_kinds() {
    let mut played = Played::new();
    let mut frame = played.frame();
    let words = |to: u32, by: i32| [living(to).reference().0, by];
    played.command(&mut frame, "raise", RICH, &words(RICH, 2));
    played.parity.tick(&frame);
    let mut frame = played.frame();
    for to in [FIFTH, FIFTH, FOURTH, MOODY] {
        played.command(&mut frame, "settle", RICH, &words(to, 100));
        // It has nothing.
        played.command(&mut frame, "settle", MOODY, &words(to, 100));
    }
    let output = played.parity.tick(&frame);
    assert_eq!(output.counts.atomic_refused, 4);
    assert_eq!(played.wide(RICH as usize, "wealth"), 2_000_000_000 - 400);
    assert_eq!(played.value(FIFTH as usize, "e9"), 200);
    assert_eq!(played.value(FIFTH as usize, "end"), -2);
    assert_eq!(played.value(FOURTH as usize, "d[3]"), 2);
}

#[test]
fn newborns_are_given_values_of_any_column() {
    let mut played = Played::new();
    let symbol = |played: &Played, name: &str| {
        let mut symbols = played.config.schema.symbols.iter();
        symbols.position(|own| own == name).unwrap() as i32
    };
    let (calm, wild) = (symbol(&played, "calm"), symbol(&played, "wild"));
    let mut frame = played.frame();
    let temper = played.column("temper") as u16;
    let columns = played.config.schema.attributes.len();
    let mut row = played.row(MOODY as usize);
    row[usize::from(temper)] = wild;
    // Another one, which is wild.
    frame.spawn_as(MOODY as u16, 0, &row[..columns]);
    played.parity.tick(&frame);
    played.parity.restart(true);
    let mothers = [(MOODY, calm), (KINDS, wild)];
    let mut frame = played.frame();
    for (n, (mother, _)) in mothers.iter().enumerate() {
        played.command(&mut frame, "bear", *mother, &[1000 * n as i32]);
    }
    played.parity.tick(&frame);
    let frame = played.frame();
    let births = played.parity.tick(&frame).births;
    let born: Vec<usize> = births
        .iter()
        .map(|birth| birth.entity.unwrap().slot.index())
        .collect();
    assert_eq!(born.len(), 8);
    let by = |slot: usize| {
        let kind = played.parity.oracle.slots[slot].kind;
        let value = |name| played.value(slot, name);
        let of_mother = |base: i32| mothers[(base / 1000) as usize].1;
        match u32::from(kind) {
            FIFTH => {
                let base = value("e0");
                assert_eq!(value("e9"), base + 1);
                assert_eq!(played.wide(slot, "purse"), 5_000_000_000 + i64::from(base));
                assert_eq!(value("end"), base + 2);
                assert_eq!(value("temper"), calm, "it can't be wild");
                base
            }
            SECOND => {
                assert_eq!(value("b61"), value("b0") + 1);
                value("b0") - 3
            }
            THIRD => {
                let base = value("c1") - 5;
                assert_eq!(value("c0"), base + 6);
                assert_eq!(value("temper"), of_mother(base));
                base
            }
            _ => {
                assert_eq!(value("a60"), value("a59") + 1);
                value("a59") - 7
            }
        }
    };
    let mut bases: Vec<i32> = born.iter().map(|&slot| by(slot)).collect();
    bases.sort_unstable();
    assert_eq!(bases, [0, 0, 0, 0, 1000, 1000, 1000, 1000]);
}
