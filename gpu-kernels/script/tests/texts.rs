//! Texts in scripts: compared, copied, put into notifications, and checked.

use shared::world::logic::{Constants, Text};

use crate::common;

const WORLD: &str = "
    [world]
    capacity = 8
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'sign', type = 'text', length = 8, audience = 'state' },
        { name = 'note', type = 'text', length = 40, audience = 'private' },
        { name = 'hp', type = 'i32', audience = 'state' },
    ]
";

fn problem(script: &str) -> Option<String> {
    let schema = world_file::parse(WORLD, "test").unwrap().schema;
    let texts = [Text::new("test.rs", script)];
    let compiled = common::compile_for(&schema, &texts, &Constants::default());
    compiled.err().map(|problems| problems[0].to_string())
}

fn in_command(body: &str) -> Option<String> {
    problem(&format!(
        "#[command(clients)]\nfn write(me: Entity, words: Text, other: Entity) {{ {body} }}"
    ))
}

#[test]
fn texts_are_copied_and_compared() {
    for body in [
        "me.sign = words;",
        "me.sign = \"\";",
        "me.note = other.sign;",
        "if words != \"\" && me.sign == words { me.note = words; }",
        "let mut mine = words; if me.hp > 5 { mine = \"\"; } me.sign = mine;",
        "require(me.sign != other.note); me.sign = other.note;",
    ] {
        assert_eq!(in_command(body), None, "{body}");
    }
}

#[test]
fn what_scripts_cant_do_with_texts_is_rejected_with_the_reason() {
    for (body, expected) in [
        ("me.sign = \"hello\";", "scripts have no texts of their own"),
        ("me.sign += words;", "merges by `last`"),
        ("me.sign = 5;", "the types differ"),
        ("me.hp += words;", "the types differ"),
        ("me.hp += words + words;", ""),
        ("if words < me.sign { me.sign = words; }", ""),
        (
            "after(1, write(me, words, other));",
            "a command with a text can't wait",
        ),
    ] {
        let found = in_command(body).unwrap_or_else(|| panic!("{body} compiles"));
        assert!(found.contains(expected), "{body}: {found}");
    }
    for (script, expected) in [
        (
            "#[command] fn hear(me: Entity, words: Text) { me.sign = words; }",
            "only clients give texts",
        ),
        (
            "#[command(clients, atomic)] fn hear(me: Entity, words: Text) { me.sign = words; }",
            "only clients give texts",
        ),
    ] {
        let found = problem(script).unwrap_or_else(|| panic!("{script} compiles"));
        assert!(found.contains(expected), "{script}: {found}");
    }
    let atomic =
        "#[command(clients, atomic)] fn copy(me: Entity, other: Entity) { me.note = other.sign; }";
    assert_eq!(problem(atomic), None);
}
