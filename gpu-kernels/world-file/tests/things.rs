//! Kinds of things: what they have by themselves, and what they can't have.

use shared::world::shown::Shown;
use shared::{AttributeType, CommandKind, MergeRule};

fn world(keys: &str, rest: &str) -> String {
    format!("[[kind]]\nname = 'player'\n[[kind]]\nname = 'axe'\n{keys}\n{rest}\n")
}

fn problem(keys: &str, rest: &str) -> String {
    let error = world_file::parse(&world(keys, rest), "test").unwrap_err();
    error.to_string()
}

#[test]
fn a_thing_has_a_holder_and_no_place() {
    let config = world_file::parse(&world("place = 'none'", ""), "test").unwrap();
    let schema = &config.schema;
    let column = schema.holder_column().unwrap();
    let holder = &schema.attributes[column];
    assert_eq!(
        (holder.name.as_str(), holder.ty),
        ("holder", AttributeType::Entity)
    );
    assert_eq!(holder.merge, MergeRule::Last);
    assert!(schema.is_thing(1) && !schema.is_thing(0));
    assert_eq!(schema.bounds(1)[..2], [(0, 0); 2]);
    let rule = &config.every[0];
    assert!(rule.of_ended == Some(0) && rule.kind == 1 && rule.ticks == 1);
    let name = config.logic.numbers.command_name(rule.command);
    assert_eq!(name, Some("holder_ended"));
    // A world without things has nothing of it.
    let without = world_file::parse(&world("", ""), "test").unwrap();
    assert_eq!(without.schema.holder_column(), None);
    assert!(without.every.is_empty() && without.schema.command_named("holder_ended").is_none());
}

#[test]
fn things_that_end_with_their_holder_give_no_command_of_their_own() {
    let keys = "place = 'none'\non_holder_end = 'despawn'";
    let config = world_file::parse(&world(keys, ""), "test").unwrap();
    assert_eq!(config.every[0].command, CommandKind::DESPAWN);
    assert!(config.schema.command_named("holder_ended").is_none());
}

#[test]
fn a_kind_of_things_may_declare_its_holder() {
    let keys = "place = 'none'\nattributes = [{ name = 'holder', type = 'entity', \
                merge = 'first', audience = 'hidden' }]";
    let config = world_file::parse(&world(keys, ""), "test").unwrap();
    let holder = &config.schema.attributes[config.schema.holder_column().unwrap()];
    assert_eq!(holder.merge, MergeRule::First);
}

#[test]
fn what_a_thing_cant_have_is_rejected_with_the_reason() {
    for (keys, rest, expected) in [
        ("place = 'here'", "", "none"),
        (
            "on_holder_end = 'drop'",
            "",
            "only a kind with `place = \"none\"`",
        ),
        ("place = 'none'\non_holder_end = 'pass'", "", "despawn"),
        ("place = 'none'\nplaces = [[1, 1]]", "", "kind.axe.places"),
        (
            "place = 'none'\nspawn = { center = [1, 1] }",
            "",
            "kind.axe.spawn",
        ),
        (
            "place = 'none'\npublishes = [1, 1]",
            "",
            "kind.axe.publishes",
        ),
        (
            "place = 'none'\nattributes = [{ name = 'a', type = 'bool', audience = 'movement' }]",
            "",
            "a thing does not move",
        ),
        (
            "place = 'none'\nattributes = [{ name = 'holder', type = 'i32', audience = 'state' }]",
            "",
            "expected type entity",
        ),
        (
            "place = 'none'",
            "[world]\nplayer_kind = 'axe'",
            "expected a kind with a place",
        ),
        (
            "place = 'none'",
            "[[zone]]\nname = 'z'\ncarrier = 'axe'\nradius = 2",
            "expected a kind with a place",
        ),
    ] {
        let found = problem(keys, rest);
        assert!(found.contains(expected), "{keys} {rest}: {found}");
    }
}

#[test]
fn the_state_hash_depends_on_what_things_are() {
    let of = |keys: &str| {
        let config = world_file::parse(&world(keys, ""), "test").unwrap();
        config.logic.hash()
    };
    let dropped = of("place = 'none'");
    assert_ne!(dropped, of("place = 'none'\non_holder_end = 'despawn'"));
    assert_ne!(dropped, of(""));
}

/// The world of a player with these attributes, and an axe with these keys.
fn shown(player: &str, axe: &str) -> String {
    format!(
        "[[kind]]\nname = 'player'\nattributes = [{player}]\n\
         [[kind]]\nname = 'axe'\nplace = 'none'\n{axe}\n"
    )
}

#[test]
fn things_are_shown_to_the_client_of_their_holder_unless_the_file_says_otherwise() {
    let of = |axe: &str| {
        let config = world_file::parse(&shown("", axe), "test").unwrap();
        assert_eq!(config.shown.of(0), Shown::None);
        config.shown.of(1)
    };
    assert_eq!(of(""), Shown::Holder);
    assert_eq!(of("shown = 'holder'"), Shown::Holder);
    assert_eq!(of("shown = 'all'"), Shown::All);
    assert_eq!(of("shown = 'none'"), Shown::None);
    let hidden = "attributes = [{ name = 'holder', type = 'entity', audience = 'hidden' }]";
    assert_eq!(of(hidden), Shown::None);
    let private = hidden.replace("hidden", "private");
    assert_eq!(of(&private), Shown::Holder);
    let plain = world_file::parse("[world]", "test").unwrap();
    assert!(!plain.shown.are_some());
}

#[test]
fn an_attribute_of_players_says_into_what_they_look() {
    let chest = "{ name = 'chest', type = 'entity', audience = 'private', shows_held = true }";
    let config = world_file::parse(&shown(chest, ""), "test").unwrap();
    let column = config.schema.column("chest").unwrap();
    assert_eq!(config.shown.opened.map(usize::from), Some(column));
}

#[test]
fn what_cant_be_shown_is_rejected_with_the_reason() {
    let entity =
        |keys: &str| format!("{{ name = 'a', type = 'entity', {keys}, shows_held = true }}");
    let chest = entity("audience = 'private'");
    let hidden = "attributes = [{ name = 'holder', type = 'entity', audience = 'hidden' }]";
    let private = hidden.replace("hidden", "private");
    let other = |own: &str| format!("[[kind]]\nname = 'other'\nattributes = [{own}]");
    for (player, axe, rest, expected) in [
        ("", "shown = 'some'".to_owned(), String::new(), "`holder`"),
        (
            "",
            format!("shown = 'all'\n{hidden}"),
            String::new(),
            "kind.axe.shown: expected \"none\", as `holder` is hidden from clients, found all",
        ),
        (
            "",
            format!("shown = 'all'\n{private}"),
            String::new(),
            "kind.axe.shown: expected \"holder\" or \"none\"",
        ),
        (
            "",
            String::new(),
            "[[kind]]\nname = 'other'\nshown = 'all'".to_owned(),
            "kind.other.shown: only a kind with `place = \"none\"` has this",
        ),
        (
            "{ name = 'a', type = 'i32', audience = 'private', shows_held = true }",
            String::new(),
            String::new(),
            "a.type: expected type entity",
        ),
        (
            "{ name = 'a', type = { array = 'entity', length = 2 }, audience = 'private', shows_held = true }",
            String::new(),
            String::new(),
            "a.type: expected type entity",
        ),
        (
            &entity("audience = 'hidden'"),
            String::new(),
            String::new(),
            "a.shows_held: expected the audience \"private\" or \"state\"",
        ),
        (
            &chest,
            "shown = 'none'".to_owned(),
            String::new(),
            "that is shown",
        ),
        (
            &format!("{chest}, {}", chest.replace("'a'", "'b'")),
            String::new(),
            String::new(),
            "b.shows_held: `a` has it already",
        ),
        (
            "",
            String::new(),
            other(&chest),
            "a.shows_held: only attributes of the players' kind",
        ),
    ] {
        let error = world_file::parse(&(shown(player, &axe) + &rest), "test").unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}
