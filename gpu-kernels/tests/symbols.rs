//! Attributes have their own symbols and no others, whatever clients send and scripts compute;
//! on every backend and in the oracle.

use gpu_kernels::{Frame, RefusedCommand};
use shared::world::logic::Text;
use shared::{CommandKind, EntityId, Refusal, Tick, WorldConfig};
use testkit::oracle::OracleOutput;
use testkit::parity::Parity;
use testkit::scripts::{with_texts, without_limits};

/// In the world's sorted list, symbols of other attributes are between those of ranks, and
/// guards have other ranks than players. Statues have none.
const WORLD: &str = r#"
[world]
size = [100, 100]
capacity = 8
[limits]
clients = 4
timed_commands = 8
notifications_per_tick = 100

[[kind]]
name = "player"
attributes = [
    { name = "rank", type = "symbol", symbols = ["novice", "expert", "master"], audience = "state" },
    { name = "team", type = "symbol", symbols = ["red", "blue"], audience = "state" },
    { name = "metal", type = "symbol", symbols = ["gold", "iron", "master"], audience = "state" },
    { name = "hp", type = "i32", audience = "state" },
]
[[kind]]
name = "guard"
attributes = [
    { name = "rank", type = "symbol", symbols = ["captain", "master"], audience = "state" },
    { name = "hp", type = "i32", audience = "state" },
]
[[kind]]
name = "statue"
attributes = [{ name = "hp", type = "i32", audience = "state" }]
"#;

const TEXT: &str = r#"
#[command(clients)]
fn any(me: Entity, what: Symbol) {
    me.rank = what;
}
#[command(clients)]
fn own(me: Entity, what: Symbol<rank>) {
    me.hp += 1;
    me.rank = what;
}
#[command(clients)]
fn promote(me: Entity, other: Entity, what: Symbol<rank>) {
    other.rank = what;
}
#[command(clients)]
fn copy(me: Entity, other: Entity) {
    me.rank = other.rank;
}
#[command(clients)]
fn gild(me: Entity) {
    me.metal = me.rank;
}
#[command(clients)]
fn know(me: Entity, other: Entity) {
    me.hp += match other.rank {
        "captain" => 1,
        "expert" => 2,
        "master" => 4,
        "novice" => 8,
        _ => 16,
    };
}
#[command(clients)]
fn show(me: Entity, other: Entity) {
    tell(Shown { rank: other.rank }, around(me, 10.0));
}
#[command(clients)]
fn later(me: Entity, other: Entity) {
    after(1, own_later(me, other.rank));
}
#[command]
fn own_later(me: Entity, what: Symbol<rank>) {
    me.hp += 1;
    me.rank = what;
}
"#;

const ME: EntityId = EntityId::new(0, 1);
const GUARD: EntityId = EntityId::new(1, 1);
const STATUE: EntityId = EntityId::new(2, 1);

struct World {
    parity: Parity,
    tick: u64,
}

impl World {
    fn new() -> World {
        let config = world_file::parse(WORLD, "symbols").unwrap();
        let symbols = [
            "blue", "captain", "expert", "gold", "iron", "master", "novice", "red",
        ];
        assert_eq!(config.schema.symbols, symbols);
        let config = with_texts(&config, vec![Text::new("symbols.rs", TEXT)]);
        let mut world = World {
            parity: Parity::new(&without_limits(&config)),
            tick: 0,
        };
        world.tick(|frame, _| (0..3).for_each(|kind| frame.spawn_at(kind, 0, &[4096, 4096])));
        world
    }

    fn tick(&mut self, fill: impl FnOnce(&mut Frame, &WorldConfig)) -> OracleOutput {
        let mut frame = Frame::new(Tick(self.tick));
        self.tick += 1;
        fill(&mut frame, &self.parity.oracle.config);
        self.parity.tick(&frame)
    }

    /// What a command of the player leaves: its output, and what ranks there are afterwards.
    fn give(&mut self, command: &str, words: &[i32]) -> OracleOutput {
        self.tick(|frame, config| {
            let kind: CommandKind = config.schema.command_named(command).unwrap().kind;
            frame.push(ME, 0, kind, words);
        })
    }

    /// An attribute of an entity, by its name if it is a symbol.
    fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let column = self.parity.oracle.config.schema.column(attribute).unwrap();
        self.parity.oracle.slots[entity.slot.index()].row[column]
    }

    fn symbol(&self, name: &str) -> i32 {
        let symbols = &self.parity.oracle.config.schema.symbols;
        symbols.iter().position(|own| own == name).unwrap() as i32
    }
}

fn refused(output: &OracleOutput) -> bool {
    let idle = RefusedCommand {
        entity: ME,
        sequence: 0,
        reason: Refusal::Idle,
        because: None,
    };
    output.refused == [idle]
}

/// Numbers that are no symbol of any attribute.
const NONE: [i32; 5] = [-1, 8, 99, i32::MIN, i32::MAX];

#[test]
fn a_client_cannot_set_a_symbol_of_another_attribute() {
    for command in ["any", "own"] {
        let mut world = World::new();
        let novice = world.symbol("novice");
        assert_eq!(world.value(ME, "rank"), novice);
        let foreign = ["blue", "captain", "gold", "iron", "red"].map(|name| world.symbol(name));
        for what in foreign.into_iter().chain(NONE) {
            let hp = world.value(ME, "hp");
            let output = world.give(command, &[what]);
            assert_eq!(world.value(ME, "rank"), novice, "{command} {what}");
            // A guard can be a captain, so the parameter can.
            let is_of_attribute = what == world.symbol("captain") && command == "own";
            assert_eq!(
                world.value(ME, "hp") - hp,
                i32::from(is_of_attribute),
                "{what}"
            );
            assert_eq!(refused(&output), !is_of_attribute, "{command} {what}");
        }
        for name in ["expert", "master", "novice"] {
            let what = world.symbol(name);
            let output = world.give(command, &[what]);
            assert!(output.refused.is_empty(), "{command} {name}");
            assert_eq!(world.value(ME, "rank"), what, "{command} {name}");
        }
    }
}

#[test]
fn the_kind_of_an_entity_says_which_symbols_it_can_have() {
    let mut world = World::new();
    for (name, player, guard) in [
        ("novice", "novice", "captain"),
        ("captain", "novice", "captain"),
        ("expert", "expert", "captain"),
        ("master", "master", "master"),
        ("captain", "master", "captain"),
        ("novice", "novice", "captain"),
    ] {
        let what = world.symbol(name);
        for other in [ME, GUARD, STATUE] {
            world.give("promote", &[other.reference().0, what]);
        }
        assert_eq!(world.value(ME, "rank"), world.symbol(player), "{name}");
        assert_eq!(world.value(GUARD, "rank"), world.symbol(guard), "{name}");
    }
}

#[test]
fn who_lacks_an_attribute_has_none_of_its_symbols() {
    let mut world = World::new();
    for (other, hp) in [(ME, 8), (GUARD, 1), (STATUE, 16), (EntityId::new(7, 1), 16)] {
        let before = world.value(ME, "hp");
        world.give("know", &[other.reference().0]);
        assert_eq!(world.value(ME, "hp") - before, hp);
    }
    let novice = world.symbol("novice");
    // A captain is no player's rank, a statue has none, nobody is in the last slot.
    for other in [GUARD, STATUE, EntityId::new(7, 1)] {
        assert!(refused(&world.give("copy", &[other.reference().0])));
        assert_eq!(world.value(ME, "rank"), novice);
    }
    let master = world.symbol("master");
    world.give("promote", &[GUARD.reference().0, master]);
    world.give("copy", &[GUARD.reference().0]);
    assert_eq!(world.value(ME, "rank"), master);
    world.give("gild", &[]);
    assert_eq!(world.value(ME, "metal"), master);
}

#[test]
fn clients_are_told_symbols_of_the_world_only() {
    let mut world = World::new();
    let output = world.give("show", &[GUARD.reference().0]);
    assert_eq!(output.notifications.len(), 1);
    for other in [STATUE, EntityId::new(7, 1)] {
        let output = world.give("show", &[other.reference().0]);
        assert!(output.notifications.is_empty());
    }
}

#[test]
fn a_command_that_was_scheduled_checks_its_symbols() {
    let mut world = World::new();
    world.give("later", &[STATUE.reference().0]);
    world.tick(|_, _| {});
    assert_eq!(world.value(ME, "hp"), 0);
    let master = world.symbol("master");
    world.give("promote", &[GUARD.reference().0, master]);
    world.give("later", &[GUARD.reference().0]);
    world.tick(|_, _| {});
    assert_eq!(
        (world.value(ME, "hp"), world.value(ME, "rank")),
        (1, master)
    );
}
