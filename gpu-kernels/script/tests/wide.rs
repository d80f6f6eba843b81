//! Numbers of 64 bits: what scripts compute with them, and which mistakes are found.

use script::logic::with_logic;
use script::{Forecast, Logic};
use shared::world::attribute::joined;
use shared::world::logic::{LogicConfig, Text};
use shared::{AttributeType, WorldConfig};
use world_file::parse;

use crate::common::{Done, TestWorld};

const WORLD: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "hp", type = "i32", audience = "state" },
    { name = "gold", type = "i64", default = 5_000_000_000, min = -10, max = 9_000_000_000, audience = "private" },
    { name = "debt", type = "i64", audience = "state" },
    { name = "least", type = "i64", merge = "min", audience = "state" },
    { name = "last", type = "i64", merge = "last", audience = "state" },
]
[[kind]]
name = "rock"
attributes = [{ name = "hp", type = "i32", audience = "state" }]
"#;

fn compiled(text: &str) -> Result<(WorldConfig, Logic), String> {
    let config = parse(WORLD, "wide").unwrap();
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

/// What a body does as a command of a player, with `n`, beside a rock.
fn done_by(senders: &str, body: &str, n: i32) -> (WorldConfig, Result<Done, String>) {
    let text = format!(
        "const BIG: i64 = 6_000_000_000;\n\
         fn twice(n: i64) -> i64 {{ return n * 2; }}\n\
         #[command({senders})] fn test(me: Entity, rock: Entity, n: i32) {{ {body} }}"
    );
    let (config, logic) = compiled(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let mut world = TestWorld::of(config.schema.clone());
    let me = world.add("player", 10, 10);
    let rock = world.add("rock", 14, 10);
    let words = [rock.reference().0, n];
    let done = world.run(&logic.commands[0], me, &words);
    #[cfg(feature = "native")]
    if !logic.commands[0].code.is_atomic() {
        let native = crate::common::native::compile(&logic, &world);
        let command = &logic.commands[0];
        let found = crate::common::native::run(&native, &world, command, me, &words);
        assert_eq!(found, done, "{body} as machine code");
    }
    (config, done.map_err(|why| format!("{why:?}")))
}

/// The updates or writes of a body, as `slot.attribute: value`.
fn changes(senders: &str, body: &str, n: i32) -> Vec<String> {
    let (config, done) = done_by(senders, body, n);
    let done = match done {
        Ok(done) => done,
        Err(why) => return vec![why],
    };
    let all = match done.updates.is_empty() {
        true => done.writes,
        false => done.updates,
    };
    let mut shown = vec![];
    let mut all = all.into_iter();
    while let Some((slot, column, value)) = all.next() {
        let attribute = &config.schema.attributes[usize::from(column)];
        let value = match attribute.ty {
            AttributeType::I64 => {
                let high = all.next().unwrap();
                assert_eq!(
                    (high.0, high.1),
                    (slot, column + 1),
                    "the halves are together"
                );
                joined([value, high.2])
            }
            _ => value.into(),
        };
        shown.push(format!("{slot}.{}: {value}", attribute.name));
    }
    shown
}

fn value(expression: &str, n: i32) -> i64 {
    let shown = changes("clients", &format!("me.debt += {expression};"), n);
    let value = shown[0].strip_prefix("0.debt: ").unwrap();
    value.parse().unwrap()
}

#[test]
fn expressions_have_64_bits() {
    for (expression, n, expected) in [
        ("me.gold", 0, 5_000_000_000),
        ("me.gold + 1", 0, 5_000_000_001),
        ("me.gold + n as i64", -1, 4_999_999_999),
        ("1 - me.gold", 0, -4_999_999_999),
        (
            "me.gold * me.gold",
            0,
            5_000_000_000i64.wrapping_mul(5_000_000_000),
        ),
        ("me.gold / 7", 0, 714_285_714),
        ("-me.gold / 7", 0, -714_285_714),
        ("me.gold % 7", 0, 2),
        ("me.gold / (n as i64)", 0, 0),
        ("me.gold % (n as i64)", 0, 0),
        ("(-9223372036854775808 + (n as i64)) / -1", 0, i64::MIN),
        ("9223372036854775807 + (n as i64)", 1, i64::MIN),
        ("me.gold << 2", 0, 20_000_000_000),
        ("me.gold >> n", 3, 625_000_000),
        ("!me.gold", 0, -5_000_000_001),
        ("me.gold & 0xffff_ffff", 0, 705_032_704),
        ("(me.gold | 1) ^ 3", 0, 5_000_000_002),
        ("abs(-me.gold)", 0, 5_000_000_000),
        ("min(me.gold, BIG)", 0, 5_000_000_000),
        ("max(me.gold, BIG)", 0, 6_000_000_000),
        ("clamp(me.gold, 1, 4_000_000_000)", 0, 4_000_000_000),
        ("twice(me.gold)", 0, 10_000_000_000),
        ("if n > 0 { me.gold } else { 7 }", 0, 7),
        ("if n > 0 { 5 } else { me.gold }", 0, 5_000_000_000),
        ("2.75 as i64", 0, 2),
        ("(n > 0) as i64", 1, 1),
        ("me.gold as i32 as i64", 0, 705_032_704),
        ("12i64", 0, 12),
        ("-3_000_000_000", 0, -3_000_000_000),
        ("rock.gold + 3", 0, 3),
    ] {
        assert_eq!(value(expression, n), expected, "{expression} with {n}");
    }
}

#[test]
fn comparisons_look_at_all_bits() {
    for (condition, expected) in [
        ("me.gold == 5_000_000_000", 1),
        ("me.gold != 5_000_000_000", 0),
        // The low half alone would say so.
        ("me.gold == 705_032_704", 0),
        ("me.gold > 4_000_000_000", 1),
        ("me.gold < 705_032_705", 0),
        ("-me.gold < 0", 1),
        ("-me.gold <= -me.gold", 1),
        ("me.gold >= BIG", 0),
    ] {
        let shown = changes("clients", &format!("me.hp += ({condition}) as i32;"), 0);
        assert_eq!(shown, [format!("0.hp: {expected}")], "{condition}");
    }
}

#[test]
fn variables_hold_numbers_and_loops_add_to_them() {
    let body = "let mut sum: i64 = 0; let step = me.gold; \
                for i in 0..3 { sum += step; } sum -= 1; me.debt += sum;";
    assert_eq!(changes("clients", body, 0), ["0.debt: 14999999999"]);
}

#[test]
fn updates_are_of_both_halves_whatever_the_merge_rule() {
    for (body, expected) in [
        ("me.gold += 1;", "0.gold: 1"),
        ("me.gold -= 1;", "0.gold: -1"),
        ("me.gold -= BIG;", "0.gold: -6000000000"),
        ("me.least.min(BIG);", "0.least: 6000000000"),
        ("me.last = -BIG;", "0.last: -6000000000"),
    ] {
        assert_eq!(changes("clients", body, 0), [expected], "{body}");
    }
    // A rock has none.
    assert!(changes("clients", "rock.gold += 1;", 0).is_empty());
}

#[test]
fn atomic_commands_clamp_both_halves_at_once() {
    for (body, expected) in [
        ("me.gold += 1;", "0.gold: 5000000001"),
        ("me.gold += BIG;", "0.gold: 9000000000"),
        ("me.gold -= BIG;", "0.gold: -10"),
        (
            "me.gold = 9223372036854775807; me.gold += 1;",
            "0.gold: 9000000000",
        ),
        (
            "me.debt = 9223372036854775807; me.debt += 1;",
            "0.debt: 9223372036854775807",
        ),
        (
            "me.debt = -9223372036854775808; me.debt -= 1;",
            "0.debt: -9223372036854775808",
        ),
        ("me.least.min(-BIG);", "0.least: -6000000000"),
        ("me.gold.max(7);", "0.gold: 5000000000"),
        ("require_fits(me.gold += 1);", "0.gold: 5000000001"),
        ("require_fits(me.gold += BIG);", "Refused"),
        ("require_fits(me.gold -= BIG);", "Refused"),
        (
            "me.debt = 9223372036854775807; require_fits(me.debt += 1);",
            "Refused",
        ),
    ] {
        let shown = changes("clients, atomic", body, 0);
        assert_eq!(shown.last().map(String::as_str), Some(expected), "{body}");
    }
    let of_rock = changes("clients, atomic", "require_fits(rock.gold += BIG);", 0);
    assert!(of_rock.is_empty(), "{of_rock:?}");
}

#[test]
fn other_commands_take_numbers_and_newborns_are_given_them() {
    let text = "#[command(clients)] fn start(me: Entity) {\n\
                    after(1, pay(me, me.gold));\n\
                    spawn(Player { gold: 99_000_000_000, hp: 3 }, point(1.0, 2.0));\n\
                }\n\
                #[command] fn pay(me: Entity, amount: i64) { me.gold -= amount; }";
    let (config, logic) = compiled(text).unwrap();
    let mut world = TestWorld::of(config.schema.clone());
    let me = world.add("player", 10, 10);
    let done = world.run(&logic.commands[0], me, &[]).unwrap();
    let words: Vec<Vec<i32>> = done.afters.into_iter().map(|after| after.3).collect();
    assert_eq!(joined([words[0][0], words[0][1]]), 5_000_000_000);
    // At most the attribute's `max`.
    assert_eq!(joined([words[1][1], words[1][2]]), 9_000_000_000);
    let pay = &logic.commands[1];
    let types: Vec<AttributeType> = pay.schema.words.iter().map(|word| word.ty).collect();
    assert_eq!(types, [AttributeType::I64, AttributeType::High]);
    let paid = world.run(pay, me, &words[0]).unwrap();
    let [low, high] = [&paid.updates[0], &paid.updates[1]].map(|update| update.2);
    assert_eq!(joined([low, high]), -5_000_000_000);
}

#[test]
fn mistakes_are_found() {
    let in_command = |body: &str| {
        compiled(&format!(
            "#[command(clients)] fn test(me: Entity, n: i32) {{ {body} }}"
        ))
        .expect_err(body)
    };
    for (body, expected) in [
        ("me.gold += n;", "write `n as i64`"),
        (
            "me.hp += me.gold;",
            "write `me.gold as i32`, which keeps the low 32 bits",
        ),
        ("me.hp += 5_000_000_000;", "this number does not fit `i32`"),
        (
            "me.gold += 9223372036854775808i64;",
            "this number does not fit `i64`",
        ),
        ("me.gold += 1.5;", "expected `i64`, found `Fixed`"),
        ("me.gold = 1;", "merges by `sum`"),
        (
            "me.gold += random(1, me.gold);",
            "expected `i32` or `Fixed`, found `i64`",
        ),
        (
            "let all = me.gold && me.gold;",
            "expected `bool`, found `i64`",
        ),
        (
            "tell(Paid { amount: me.gold });",
            "the field `amount` has 64 bits",
        ),
        ("match me.gold { _ => {} }", "this can't be matched"),
    ] {
        let found = in_command(body);
        assert!(found.contains(expected), "{body}\n{found}");
    }
    let found =
        compiled("#[command(clients)] fn pay(me: Entity, amount: i64) { me.gold -= amount; }");
    let found = found.expect_err("a client gives it");
    assert!(
        found.contains("clients and rules give numbers of 32 bits"),
        "{found}"
    );
}

#[test]
fn clients_do_not_predict_them() {
    let text = "#[command(clients)] fn pay(me: Entity) { me.gold -= 1; }\n\
                #[command(clients)] fn think(me: Entity) { if me.hp as i64 * 7 > 9 { me.hp -= 1; } }\n\
                #[command(clients)] fn hurt(me: Entity) { me.hp -= 1; }";
    let config = parse(WORLD, "wide").unwrap();
    let mut logic = config.logic.clone();
    logic.texts = vec![Text::new("test.rs", text)];
    let config = with_logic(&config, &logic).unwrap();
    let logic = Logic::of(&config).unwrap();
    let forecast = Forecast::of(&config, &logic);
    let names = forecast.commands.iter().map(|command| {
        let command = config.schema.command(command.kind).unwrap();
        command.name.as_str()
    });
    assert_eq!(names.collect::<Vec<_>>(), ["hurt"]);
}
