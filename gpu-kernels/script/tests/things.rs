//! What scripts do with things, and what they can't.

use shared::world::logic::{Constants, Text};

use crate::common;

const WORLD: &str = "
[[kind]]
name = 'player'
attributes = [{ name = 'gold', type = 'i32', audience = 'state' }]
[[kind]]
name = 'bag'
place = 'none'
[[kind]]
name = 'axe'
place = 'none'
attributes = [{ name = 'wear', type = 'i32', audience = 'state' }]
";

fn problem_in(world: &str, body: &str) -> String {
    let schema = world_file::parse(world, "test").unwrap().schema;
    let text = format!("#[command(clients)] fn test(me: Entity) {{ {body} }}");
    let texts = [Text::new("test.rs", text)];
    match common::compile_for(&schema, &texts, &Constants::default()) {
        Ok(_) => String::new(),
        Err(problems) => problems[0].to_string(),
    }
}

fn problem(body: &str) -> String {
    problem_in(WORLD, body)
}

#[test]
fn the_place_of_a_thing_is_refused_where_its_kind_is_known() {
    for body in [
        "for it in held_by(me, \"axe\") { me.position += it.position; }",
        "for it in all(\"axe\") { me.position += it.position; }",
        "for it in held_by(me, \"axe\") { it.position += point(1.0, 1.0); }",
        "if exists(nearest(the(\"bag\"), 3.0)) { me.gold += 1; }",
        "if is_within(me, the(\"bag\"), 3.0) { me.gold += 1; }",
    ] {
        assert!(
            problem(body).contains("has no place"),
            "{body}: {}",
            problem(body)
        );
    }
    for body in [
        "for it in held_by(me) { if is_within(me, it.holder, 1.0) { me.gold += 1; } }",
        "for it in held_by(me, \"axe\") { if is_within(me, it.holder, 1.0) { me.gold += 1; } }",
        "for it in all(\"player\") { me.position += it.position; }",
    ] {
        assert_eq!(problem(body), "", "{body}");
    }
}

#[test]
fn things_are_born_without_a_place_and_others_with_one() {
    for (body, expected) in [
        ("spawn(Axe { holder: me, wear: 3 });", ""),
        ("spawn(\"axe\");", ""),
        ("spawn(Axe { holder: me }, me);", "a `axe` has no place"),
        ("spawn(\"axe\", me);", "a `axe` has no place"),
        ("spawn(\"player\");", "a newborn needs a place"),
        ("spawn(me.kind);", "a newborn needs a place"),
    ] {
        let found = problem(body);
        assert!(found.contains(expected), "{body}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{body}: {found}");
    }
}

#[test]
fn who_asks_for_what_is_held_has_to_ask_for_things_in_a_world_with_things() {
    for (body, expected) in [
        (
            "me.gold += count_held(me, \"player\");",
            "nobody holds a `player`",
        ),
        ("for it in held_by(me, \"plyer\") { despawn(it); }", "plyer"),
        (
            "for it in held_by() { despawn(it); }",
            "takes 1 or 2 arguments",
        ),
        ("held_by(me);", "only stands in a `for`"),
    ] {
        assert!(
            problem(body).contains(expected),
            "{body}: {}",
            problem(body)
        );
    }
    let without = "[[kind]]\nname = 'player'";
    let found = problem_in(without, "for it in held_by(me) { despawn(it); }");
    assert!(found.contains("this world has no things"), "{found}");
    let schema = world_file::parse(WORLD, "test").unwrap().schema;
    let text = "#[command(clients, atomic)] fn test(me: Entity) { me.gold += count_held(me); }";
    let texts = [Text::new("test.rs", text)];
    let found = common::compile_for(&schema, &texts, &Constants::default()).unwrap_err();
    assert!(
        found[0].to_string().contains("can't look around"),
        "{}",
        found[0]
    );
}

#[cfg(feature = "native")]
#[test]
fn things_are_held_in_the_order_of_slots_by_those_who_can() {
    use common::TestWorld;

    let mut world = TestWorld::new();
    world.schema = world_file::parse(WORLD, "test").unwrap().schema;
    let me = world.add("player", 1, 1);
    let other = world.add("player", 2, 2);
    let holder = world.schema.column("holder").unwrap();
    let wear = world.schema.column("wear").unwrap();
    let mut add = |kind: &str, of: shared::EntityId, worn: i32| {
        let thing = world.add(kind, 0, 0);
        let row = &mut world.rows[thing.slot.index()].as_mut().unwrap().2;
        row[holder] = of.reference().0;
        row[wear] = worn;
        thing
    };
    add("axe", me, 5);
    add("axe", other, 50);
    let bag = add("bag", me, 0);
    let last = add("axe", me, 7);
    add("axe", bag, 500);
    // A bag can't be in an axe.
    add("bag", last, 0);
    let text = "#[command(clients)] fn test(me: Entity) {
        let mut sum = 0;
        for it in held_by(me, \"axe\") {
            sum = sum * 10 + it.wear;
            for inner in held_by(it) { sum += 1000000; }
        }
        for it in held_by(me, \"bag\") { for inner in held_by(it) { sum += inner.wear; } }
        me.gold += sum + 10000 * count_held(me) + 100000 * count_held(none);
    }";
    let texts = [Text::new("test.rs", text)];
    let logic = common::compile_for(&world.schema, &texts, &Constants::default()).unwrap();
    let command = logic.commands.last().unwrap();
    let done = world.run(command, me, &[]).unwrap();
    let native = common::native::compile(&logic, &world);
    assert_eq!(
        common::native::run(&native, &world, command, me, &[]).unwrap(),
        done
    );
    let gold = world.schema.column("gold").unwrap() as u16;
    assert_eq!(done.updates, [(me.slot.0, gold, 30557)]);
}
