//! Arrays and maps: what scripts read and write of them, and which mistakes are found.

use crate::common::{Done, TestWorld};
use script::logic::with_logic;
use script::{Command, Forecast, Logic, lint};
use shared::WorldConfig;
use shared::world::logic::{LogicConfig, Text};
use world_file::parse;

const WORLD: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "hp", type = "i32", audience = "state" },
    { name = "slot", type = { array = "i32", length = 4 }, default = [10, 20, 30, 40], max = 99, audience = "state" },
    { name = "bag", type = { map = "i32", keys = ["wood", "stone", "ore"] }, default = { wood = 5, ore = 7 }, min = 0, audience = "state" },
    { name = "friend", type = { array = "entity", length = 2 }, audience = "state" },
    { name = "worn", type = { array = "symbol", length = 2 }, symbols = ["ore", "silk"], default = "silk", audience = "state" },
    { name = "best", type = { array = "i32", length = 2 }, merge = "max", default = 8, audience = "state" },
    { name = "item", type = "symbol", symbols = ["nail", "ore", "wood"], default = "ore", audience = "state" },
]
[[kind]]
name = "rock"
attributes = [{ name = "hp", type = "i32", audience = "state" }]
"#;

fn compiled(text: &str) -> Result<(WorldConfig, Logic), String> {
    let config = parse(WORLD, "collections").unwrap();
    let logic = LogicConfig {
        texts: vec![Text::new("test.rs", text)],
        ..LogicConfig::default()
    };
    match Logic::compile_with(&config.schema, &config.symbols, &logic) {
        Ok(compiled) => Ok((config, compiled)),
        Err(problems) => {
            let diagnostics: Vec<_> = problems.iter().filter_map(|p| p.diagnostic()).collect();
            Err(script::diagnostic::draw(&diagnostics, &logic.texts, false))
        }
    }
}

/// What a body does as a command of a player, with `n`, beside another player and a rock.
fn done_by(senders: &str, body: &str, n: i32) -> (WorldConfig, Done) {
    let text = format!(
        "#[command({senders})] fn test(me: Entity, other: Entity, rock: Entity, n: i32) {{ {body} }}"
    );
    let (config, logic) = compiled(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let mut world = TestWorld::of(config.schema.clone());
    let me = world.add("player", 10, 10);
    let other = world.add("player", 12, 10);
    let rock = world.add("rock", 14, 10);
    world.set(me, "friend[1]", other.reference().0);
    let words = [other.reference().0, rock.reference().0, n];
    let done = world.run(&logic.commands[0], me, &words).unwrap();
    #[cfg(feature = "native")]
    if !logic.commands[0].code.is_atomic() {
        let native = crate::common::native::compile(&logic, &world);
        let command = &logic.commands[0];
        let found = crate::common::native::run(&native, &world, command, me, &words).unwrap();
        assert_eq!(found, done, "{body} as machine code");
    }
    (config, done)
}

/// The updates of a body, as `slot.attribute: value`, and whether an index was none.
fn updates(body: &str, n: i32) -> (Vec<String>, bool) {
    let (config, done) = done_by("clients", body, n);
    let shown = done.updates.iter().map(|&(slot, column, value)| {
        let name = &config.schema.attributes[usize::from(column)].name;
        format!("{slot}.{name}: {value}")
    });
    (shown.collect(), done.missed)
}

fn value(expression: &str, n: i32) -> (i32, bool) {
    let (_, done) = done_by("clients", &format!("me.hp += {expression};"), n);
    (done.updates[0].2, done.missed)
}

#[test]
fn an_element_is_read_by_its_index_and_one_that_is_not_there_is_0() {
    for (expression, n, expected) in [
        ("me.slot[0]", 0, (10, false)),
        ("me.slot[n]", 3, (40, false)),
        ("me.slot[n]", 4, (0, true)),
        ("me.slot[n]", -1, (0, true)),
        ("me.slot[n]", i32::MIN, (0, true)),
        ("me.slot[n + 1] * 2", 1, (60, false)),
        ("other.slot[n]", 2, (30, false)),
        ("rock.slot[n]", 2, (0, false)),
        ("me.slot[me.slot[n] - 9]", 0, (20, false)),
        ("me.slot.len() + me.bag.len()", 0, (7, false)),
        ("me.friend[n].slot[0]", 1, (10, false)),
        // Where there is none, not the entity in the first slot.
        ("exists(me.friend[n]) as i32", 2, (0, true)),
        ("(me.friend[n] == none) as i32", 0, (1, false)),
        ("(me.worn[n] == \"silk\") as i32", 1, (1, false)),
        ("(me.worn[n] == me.item) as i32", 7, (0, true)),
        (
            "has(me.slot) as i32 * 2 + has(rock.bag) as i32",
            0,
            (2, false),
        ),
    ] {
        assert_eq!(value(expression, n), expected, "{expression} with {n}");
    }
}

#[test]
fn a_value_of_a_map_is_read_by_its_key() {
    for (expression, expected) in [
        ("me.bag[\"wood\"]", (5, false)),
        ("me.bag[me.item]", (7, false)),
        ("me.bag[me.worn[n]]", (0, true)),
        ("me.bag[rock.item]", (0, true)),
        (
            "if me.item == \"ore\" { me.bag[me.item] } else { 1 }",
            (7, false),
        ),
    ] {
        assert_eq!(value(expression, 0), expected, "{expression}");
    }
}

#[test]
fn changes_go_to_the_element_that_is_meant_and_to_no_other() {
    let one = |text: &str| vec![text.to_owned()];
    for (body, n, expected) in [
        ("me.slot[n] += 5;", 2, (one("0.slot[2]: 5"), false)),
        ("me.slot[n] -= 5;", 0, (one("0.slot[0]: -5"), false)),
        ("me.slot[n] += 5;", 4, (vec![], true)),
        ("me.slot[3] -= n;", 7, (one("0.slot[3]: -7"), false)),
        (
            "other.bag[\"stone\"] += n;",
            2,
            (one("1.bag.stone: 2"), false),
        ),
        ("me.bag[me.item] -= 1;", 0, (one("0.bag.ore: -1"), false)),
        ("me.bag[me.worn[0]] -= 1;", 0, (vec![], true)),
        ("rock.slot[n] += 5;", 1, (vec![], false)),
        ("me.best[n].max(9);", 1, (one("0.best[1]: 9"), false)),
        ("me.worn[n] = \"ore\";", 1, (one("0.worn[1]: 1"), false)),
    ] {
        assert_eq!(updates(body, n), expected, "{body} with {n}");
    }
    let body = "for i in 0..me.slot.len() { me.slot[i] += i; }";
    let all = [
        "0.slot[0]: 0",
        "0.slot[1]: 1",
        "0.slot[2]: 2",
        "0.slot[3]: 3",
    ];
    assert_eq!(updates(body, 0), (all.map(str::to_owned).to_vec(), false));
    let body = "let mut i = 0; while i < 9 && me.slot[i] != n { i += 1; } me.hp += i;";
    assert_eq!(updates(body, 30), (one("0.hp: 2"), false));
    assert_eq!(updates(body, 31), (one("0.hp: 9"), true));
}

#[test]
fn an_atomic_command_sees_what_it_wrote_and_is_clamped_to_the_bounds_of_the_element() {
    let writes = |body: &str, n: i32| {
        let (config, done) = done_by("clients, atomic", body, n);
        let writes = done.writes.iter().map(|&(slot, column, value)| {
            let name = &config.schema.attributes[usize::from(column)].name;
            format!("{slot}.{name}: {value}")
        });
        (writes.collect::<Vec<_>>(), done.missed)
    };
    let two = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
    let body = "me.slot[n] -= 3; other.slot[n] = me.slot[1] + me.slot[n];";
    let expected = two("0.slot[1]: 17", "1.slot[1]: 34");
    assert_eq!(writes(body, 1), (expected, false));
    let body = "me.bag[me.item] -= 9; me.slot[n] += 90;";
    assert_eq!(
        writes(body, 0),
        (two("0.bag.ore: 0", "0.slot[0]: 99"), false)
    );
    assert_eq!(
        writes("me.slot[n] = 1; me.best[n - 4].max(2);", 4),
        (vec!["0.best[0]: 8".to_owned()], true)
    );
}

#[test]
fn a_chain_through_an_array_of_entities_has_a_key_for_each_element() {
    let text = "#[command(clients, atomic)] fn give(me: Entity, n: i32) { me.friend[n].hp += 1; }";
    let (_, logic) = compiled(text).unwrap();
    let keys = logic.commands[0].atomic.as_ref().unwrap();
    assert_eq!(keys.paths().len(), 3, "{keys:?}");
}

#[test]
fn a_parameter_takes_the_keys_of_a_map() {
    let text = "#[command(clients)] fn drop(me: Entity, what: Symbol<bag>) { me.bag[what] -= 1; }";
    let (config, logic) = compiled(text).unwrap();
    let command = &logic.commands[0];
    let mut world = TestWorld::of(config.schema.clone());
    let me = world.add("player", 10, 10);
    let number = |name: &str| {
        let place = config.schema.symbols.iter().position(|own| own == name);
        place.unwrap() as i32
    };
    let ran = |word: i32| world.run(command, me, &[word]).unwrap().updates;
    let stone = config.schema.column("bag.stone").unwrap() as u16;
    assert_eq!(ran(number("stone")), [(0, stone, -1)]);
    assert_eq!(ran(number("nail")), [], "no key of the map");
    assert_eq!(ran(-1), []);
}

#[test]
fn mistakes_say_what_was_expected() {
    for (body, message, more) in [
        (
            "me.hp += me.slot[4];",
            "`slot` has 4 elements",
            "expected 0 to 3, found 4",
        ),
        (
            "me.slot[-1] += 1;",
            "`slot` has 4 elements",
            "expected 0 to 3, found -1",
        ),
        (
            "me.bag[\"wod\"] -= 1;",
            "`bag` has no key \"wod\"",
            "did you mean \"wood\"?",
        ),
        (
            "me.bag[\"q\"] -= 1;",
            "`bag` has no key \"q\"",
            "expected one of `ore`, `stone`, `wood`",
        ),
        (
            "me.bag[n] -= 1;",
            "`bag` is a map",
            "expected a key, as a symbol, found `i32`",
        ),
        (
            "me.slot[me.item] -= 1;",
            "the types differ",
            "expected `i32`",
        ),
        (
            "me.slot += 1;",
            "`slot` is an array",
            "expected one of its values, as `slot[0]`",
        ),
        (
            "me.hp += me.bag.wood;",
            "`bag` is a map",
            "as `bag[\"ore\"]`",
        ),
        (
            "me.hp[0] += 1;",
            "`hp` is one value",
            "expected it without an index",
        ),
        (
            "me.slto[0] += 1;",
            "no attribute `slto`",
            "did you mean `slot`?",
        ),
        (
            "me.slot[n] = 1;",
            "`slot[n]` merges by `sum`",
            "`me.slot[n] += …`",
        ),
        ("me.slot[n];", "this has no effect", ""),
        ("n[0] += 1;", "this has no index", "as in `me.slot[0]`"),
        (
            "me.hp += me.slot.len(1);",
            "`len` takes no argument",
            "found 1",
        ),
        (
            "let what: Symbol<slot> = me.item;",
            "`slot` is not of type symbol",
            "`bag`",
        ),
    ] {
        let text = format!("#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}");
        let drawn = compiled(&text).expect_err(body);
        assert!(
            drawn.contains(message) && drawn.contains(more),
            "{body}\n{drawn}"
        );
    }
}

#[test]
fn only_the_same_element_counts_as_read_after_it_was_written() {
    let warnings = |body: &str| {
        let text = format!("#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}");
        let (mut config, logic) = compiled(&text).unwrap();
        config.logic = LogicConfig {
            texts: vec![Text::new("test.rs", text)],
            numbers: logic.numbers,
            ..LogicConfig::default()
        };
        config.schema.commands = logic.commands.into_iter().map(|c| c.schema).collect();
        let warnings = lint::warnings(&config);
        let stale = warnings.iter().filter(|w| w.name == "stale_reads");
        stale.count()
    };
    assert_eq!(warnings("me.slot[n] += 1; me.hp += me.slot[n];"), 1);
    assert_eq!(warnings("me.slot[n] += 1; me.hp += me.slot[n + 1];"), 0);
    assert_eq!(warnings("me.slot[0] += 1; me.hp += me.slot[1];"), 0);
    assert_eq!(
        warnings("for i in 0..4 { me.hp += me.slot[i]; me.slot[i] += 1; }"),
        0
    );
}

/// Clients of before know no instruction with an index.
#[test]
fn clients_foresee_by_choices_what_a_command_does_by_an_index() {
    let text = "#[command(clients)] fn stow(me: Entity, n: i32, what: Symbol<bag>) {
        let mut i = n;
        while i < me.slot.len() && me.slot[i] < 25 { i += 1; }
        me.slot[i] += me.bag[what];
        me.best[n].max(9);
    }";
    let config = parse(WORLD, "collections").unwrap();
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("stow.rs", text));
    let config = with_logic(&config, &logic).unwrap();
    let logic = Logic::of(&config).unwrap();
    let of = |c: &&Command| c.schema.name == "stow";
    let command = logic.commands.iter().find(of).unwrap();
    assert!(command.code.is_indexed());
    let forecast = Forecast::of(&config, &logic);
    let bytes = forecast.to_bytes();
    let arrived = Forecast::from_bytes(&bytes, &config.schema.for_clients()).unwrap();
    let foreseen = arrived.command(command.schema.kind).unwrap();
    assert!(!foreseen.code.is_indexed());
    let foreseen = Command {
        code: foreseen.code.clone(),
        ..command.clone()
    };
    let mut world = TestWorld::of(config.schema.clone());
    let me = world.add("player", 10, 10);
    for n in [i32::MIN, -1, 0, 1, 2, 3, 4, 5, i32::MAX] {
        for what in -1..=config.schema.symbols.len() as i32 {
            let run = |command| world.run(command, me, &[n, what]).map(|done| done.updates);
            assert_eq!(run(&foreseen), run(command), "{n} {what}");
        }
    }
}
