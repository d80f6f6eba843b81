//! What scripts do with members of groups, and what they can't.

use shared::world::logic::{Constants, Text};

use crate::common;

const WORLD: &str = "
[[kind]]
name = 'player'
attributes = [
    { name = 'gold', type = 'i32', audience = 'state' },
    { name = 'party', type = 'entity', group = true, audience = 'state' },
    { name = 'guild', type = 'entity', group = true, audience = 'private' },
]
[[kind]]
name = 'wolf'
attributes = [{ name = 'guild', type = 'entity', audience = 'private' }]
[[kind]]
name = 'team'
place = 'none'
";

fn problem_in(world: &str, command: &str, body: &str) -> String {
    let schema = world_file::parse(world, "test").unwrap().schema;
    let text = format!("#[command({command})] fn test(me: Entity) {{ {body} }}");
    let texts = [Text::new("test.rs", text)];
    match common::compile_for(&schema, &texts, &Constants::default()) {
        Ok(_) => String::new(),
        Err(problems) => problems[0].to_string(),
    }
}

#[test]
fn who_asks_for_members_says_by_which_of_several_attributes() {
    for (body, expected) in [
        ("me.gold += count_members(me.party, \"party\");", ""),
        (
            "for it in members(me.guild, \"guild\") { it.gold += 1; }",
            "",
        ),
        (
            "me.gold += count_members(me.party);",
            "by several attributes",
        ),
        (
            "for it in members(me.party, \"gold\") { it.gold += 1; }",
            "no group \"gold\"",
        ),
        (
            "for it in members(me.party, me) { it.gold += 1; }",
            "named by a text",
        ),
        (
            "for it in members() { it.gold += 1; }",
            "takes 1 or 2 arguments",
        ),
        ("members(me.party, \"party\");", "only stands in a `for`"),
    ] {
        let found = problem_in(WORLD, "clients", body);
        assert!(found.contains(expected), "{body}: {found}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{body}: {found}");
    }
    let one = WORLD.replace(
        "    { name = 'guild', type = 'entity', group = true, audience = 'private' },\n",
        "",
    );
    let body = "for it in members(me.party) { it.gold += count_members(it.party); }";
    assert_eq!(problem_in(&one, "clients", body), "");
    let without = "[[kind]]\nname = 'player'";
    let found = problem_in(without, "clients", "for it in members(me) { despawn(it); }");
    assert!(found.contains("this world has no groups"), "{found}");
    let body = "me.gold += count_members(me.party, \"party\");";
    let found = problem_in(WORLD, "clients, atomic", body);
    assert!(found.contains("can't look around"), "{found}");
}

#[cfg(feature = "native")]
#[test]
fn members_of_a_thing_come_in_the_order_of_slots_by_each_attribute() {
    use common::TestWorld;

    let mut world = TestWorld::new();
    world.schema = world_file::parse(WORLD, "test").unwrap().schema;
    let column = |world: &TestWorld, name: &str| world.schema.column(name).unwrap();
    let (gold, party, guild) = (
        column(&world, "gold"),
        column(&world, "party"),
        column(&world, "guild"),
    );
    let me = world.add("player", 1, 1);
    let team = world.add("team", 0, 0);
    let mut add = |kind: &str, worth: i32, groups: [shared::EntityId; 2]| {
        let one = world.add(kind, 0, 0);
        let row = &mut world.rows[one.slot.index()].as_mut().unwrap().2;
        (row[gold], row[party], row[guild]) =
            (worth, groups[0].reference().0, groups[1].reference().0);
    };
    let none = shared::EntityId::NONE;
    add("player", 3, [team, none]);
    add("player", 4, [none, team]);
    add("player", 5, [team, team]);
    // A wolf is no player, and a player no group.
    add("wolf", 9, [none, team]);
    add("player", 9, [me, me]);
    let row = &mut world.rows[me.slot.index()].as_mut().unwrap().2;
    (row[party], row[guild]) = (team.reference().0, -1);
    let text = "#[command(clients)] fn test(me: Entity) {
        let mut sum = 0;
        for it in members(me.party, \"party\") { sum = sum * 10 + it.gold; }
        for it in members(me.party, \"guild\") { sum = sum * 10 + it.gold; }
        me.gold += sum * 100 + 10 * count_members(me.party, \"party\")
            + count_members(me.party, \"guild\") + count_members(me, \"party\")
            + count_members(none, \"party\");
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
    assert_eq!(done.updates, [(me.slot.0, gold as u16, 354_532)]);
}
