//! Entities of a kind, wherever they are.

use script::atomic::Key;
use script::interpreter::NoEffect;
use script::ir::ALL_MAX;
use shared::EntityId;
use shared::world::logic::{Constants, Text};

use crate::common::{self, Done, TestWorld};

fn compile(text: &str) -> Result<script::Command, String> {
    let texts = [Text::new("test.rs", text)];
    let logic = common::compile_for(&common::schema(), &texts, &Constants::default());
    let mut logic = logic.map_err(|problems| problems[0].to_string())?;
    Ok(logic.commands.remove(0))
}

/// Runs it by the interpreter and as machine code.
fn run(world: &TestWorld, body: &str, me: EntityId) -> Result<Done, NoEffect> {
    let text = format!("#[command(clients)] fn test(me: Entity) {{ {body} }}");
    let texts = [Text::new("test.rs", text)];
    let logic = common::compile_for(&world.schema, &texts, &Constants::default()).unwrap();
    let command = &logic.commands[0];
    let done = world.run(command, me, &[]);
    let native = common::native::compile(&logic, world);
    let machine = common::native::run(&native, world, command, me, &[]);
    assert_eq!(machine, done);
    done
}

fn gold(world: &TestWorld, done: &Done) -> Vec<(u32, i32)> {
    let gold = world.schema.column("gold").unwrap() as u16;
    let own = done.updates.iter().filter(|update| update.1 == gold);
    own.map(|&(slot, _, value)| (slot, value)).collect()
}

#[test]
fn a_count_is_of_all_that_live_of_the_kind() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    for n in 0..7 {
        world.add("item", n, 90);
    }
    world.rows[3] = None;
    let done = run(
        &world,
        "me.gold += 10 * count(\"item\") + count(\"player\");",
        me,
    );
    assert_eq!(gold(&world, &done.unwrap()), [(0, 61)]);
}

#[test]
fn the_one_of_a_kind_is_the_first_that_lives_or_none() {
    let mut world = TestWorld::new();
    world.rows.push(None);
    let me = world.add("player", 1, 1);
    world.add("player", 1, 1);
    let body = "the(\"player\").gold += 1; if !exists(the(\"item\")) { me.gold += 5; }";
    let done = run(&world, body, me).unwrap();
    assert_eq!(gold(&world, &done), [(1, 1), (1, 5)]);
}

#[test]
fn a_loop_over_all_goes_by_slot_and_ends_early_if_told_to() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    world.add("item", 1, 1);
    for _ in 0..4 {
        world.add("player", 50, 50);
    }
    world.rows[3] = None;
    let body = "let mut n = 1; for it in all(\"player\") {
        if it == me { continue; }
        it.gold += n;
        n += 1;
        if n > 2 { break; }
    }";
    assert_eq!(
        gold(&world, &run(&world, body, me).unwrap()),
        [(2, 1), (4, 2)]
    );
}

#[test]
fn a_loop_over_too_many_has_no_effect() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    for _ in 0..ALL_MAX {
        world.add("item", 5, 5);
    }
    let body = "me.gold += 1; for it in all(\"item\") { me.gold += 1; }";
    let done = run(&world, body, me).unwrap();
    assert_eq!(gold(&world, &done).len(), 1 + ALL_MAX as usize);
    world.add("item", 5, 5);
    assert_eq!(run(&world, body, me), Err(NoEffect::Overrun));
}

#[test]
fn an_atomic_command_has_the_one_of_a_kind_as_a_key_but_not_all() {
    let text = "#[command(clients, atomic)] fn test(me: Entity) { the(\"player\").gold += count(\"item\"); }";
    let command = compile(text).unwrap();
    let player = common::schema().kind("player").unwrap() as u16;
    let keys = command.atomic.unwrap();
    assert_eq!(keys.paths(), [Key::First(player)]);
    let all = "#[command(clients, atomic)] fn test(me: Entity) { for it in all(\"item\") { me.gold += 1; } }";
    let problem = compile(all).unwrap_err();
    assert!(problem.contains("can't look around"), "{problem}");
}

#[test]
fn a_kind_is_asked_for_by_a_text_that_names_one() {
    for (body, expected) in [
        ("me.gold += count(\"wolff\");", "wolff"),
        ("me.gold += count(other.kind);", "by its name"),
        ("let it = all(\"item\");", "only stands in a `for`"),
        ("for it in all() { }", "takes 1 argument"),
        ("me.gold += count();", "can't be called like this"),
        (
            "me.gold += rank(me, \"scores\");",
            "did you mean \"score\"?",
        ),
        ("for it in top(\"poor\", 4) { }", "no first 4"),
        ("for it in top(\"poor\") { }", "takes 2 arguments"),
        ("let n = top(\"poor\", 2);", "only stands in a `for`"),
    ] {
        let text = format!("#[command(clients)] fn test(me: Entity, other: Entity) {{ {body} }}");
        let problem = compile(&text).unwrap_err();
        assert!(problem.contains(expected), "{body}: {problem}");
    }
}

#[test]
fn a_text_keeps_its_own_function_of_a_younger_name() {
    let text = "fn count(n: i32) -> i32 { n + 1 }
    #[command(clients)] fn test(me: Entity) { me.gold += count(3); }";
    let command = compile(text).unwrap();
    assert_eq!(command.code.asked_kinds().count(), 0);
}

#[test]
fn a_rank_is_the_place_among_all_of_the_kind() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    let item = world.add("item", 1, 1);
    let others = [30, -5, 30, i32::MIN].map(|score| {
        let other = world.add("player", 90, 90);
        world.set(other, "score", score);
        other
    });
    world.set(me, "target", item.reference().0);
    let rank_of = |world: &TestWorld, who: &str| {
        let body = format!("me.gold += rank({who}, \"score\");");
        let done = run(world, &body, me).unwrap();
        gold(world, &done)[0].1
    };
    // 30, 30, 0, -5 and the least that there is.
    assert_eq!(rank_of(&world, "me"), 3);
    assert_eq!(rank_of(&world, "me.target"), 0, "it is of another kind");
    for (other, expected) in others.into_iter().zip([1, 4, 2, 5]) {
        world.set(me, "target", other.reference().0);
        assert_eq!(rank_of(&world, "me.target"), expected);
    }
    assert_eq!(rank_of(&world, "none"), 0);
}

#[test]
fn a_loop_over_the_top_goes_in_order_and_no_further_than_asked() {
    let mut world = TestWorld::new();
    let me = world.add("player", 1, 1);
    for gold in [5, -3, 20, 5] {
        let other = world.add("player", 9, 9);
        world.set(other, "gold", gold);
    }
    let over = |n: &str| {
        let body =
            format!("let mut n = 0; for it in top(\"poor\", {n}) {{ n += 1; it.gold += n; }}");
        gold(&world, &run(&world, &body, me).unwrap())
    };
    // -3, 5, 5; of equal ones, the lower slot.
    assert_eq!(over("3"), [(2, 1), (1, 2), (4, 3)]);
    assert_eq!(over("1"), [(2, 1)]);
    assert_eq!(over("count(\"player\") * 100").len(), 3, "it is 3 long");
    assert_eq!(over("0 - 1"), []);
}
