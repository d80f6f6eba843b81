//! `[visibility]`: which attributes hide and reveal, and what a world that hides can't have.

use shared::world::visibility::Visibility;

const KINDS: &str = r#"
[[kind]]
name = "player"
attributes = [
    { name = "insight", type = "i32", merge = "last", audience = "private" },
    { name = "veil", type = "i32", merge = "last", audience = "hidden" },
    { name = "luck", type = "fixed", audience = "state" },
]
"#;

fn parse(text: &str) -> Result<Visibility, String> {
    let parsed = world_file::parse(&format!("{text}{KINDS}"), "w.toml");
    parsed
        .map(|world| world.schema.visibility)
        .map_err(|error| error.to_string())
}

fn problem(text: &str) -> String {
    let error = parse(text).unwrap_err();
    let (_, problem) = error.split_once(": ").unwrap();
    problem.to_owned()
}

#[test]
fn attributes_hide_and_reveal_by_name() {
    assert_eq!(parse(""), Ok(Visibility::default()));
    let both = parse("[visibility]\nhides = 'veil'\nreveals = 'insight'\n").unwrap();
    assert_eq!((both.hides, both.reveals), (Some(3), Some(2)));
    assert!(!both.line_of_sight && both.uses(2) && both.uses(3) && !both.uses(4));
    let walls = "[[layer]]\nname = 'blocked'\ncell = 32\ndrawing = '''\n";
    let rows = "................................\n".repeat(32);
    let sight = format!("[visibility]\nline_of_sight = true\n{walls}{rows}'''\n");
    assert!(parse(&sight).unwrap().line_of_sight);
}

#[test]
fn what_cannot_hide_or_reveal_is_refused() {
    let of_names = "one of [\"insight\", \"veil\"]";
    for (text, expected) in [
        (
            "[visibility]\nhides = 'viel'\n",
            format!(
                "visibility.hides: expected the name of an attribute of entities, {of_names}, \
                 found \"viel\""
            ),
        ),
        (
            "[visibility]\nhides = 'luck'\n",
            format!(
                "visibility.hides: expected an attribute of entities of type i32, {of_names}, \
                 found \"luck\""
            ),
        ),
        (
            "[visibility]\nreveals = 'insight'\n",
            "visibility.reveals: nothing is hidden that it could reveal; expected `hides` beside it"
                .to_owned(),
        ),
        (
            "[visibility]\nline_of_sight = true\n",
            "visibility.line_of_sight: the world has no layer `blocked`, whose walls would hide \
             what is behind them"
                .to_owned(),
        ),
        (
            "[world]\nvisible_max = 0\n[visibility]\nhides = 'veil'\n",
            "visibility: clients that remember nothing, as with visible_max = 0, know no entity \
             that could leave"
                .to_owned(),
        ),
        (
            "[limits]\nsubscriptions_per_client = 2\n[visibility]\nhides = 'veil'\n",
            "limits.subscriptions_per_client: expected 0, as subscriptions would be sent what \
             hidden entities do (`visibility.hides`), found 2"
                .to_owned(),
        ),
    ] {
        assert!(problem(text).contains(&expected), "{}", problem(text));
    }
}

/// What hides entities decides what clients are sent, so it is part of what worlds are compared by.
#[test]
fn what_hides_is_part_of_a_world_that_is_stored() {
    let texts = |text: &str| {
        let config = world_file::parse(&format!("{text}{KINDS}"), "w.toml").unwrap();
        let own = config.logic.texts.iter();
        let mut own = own.filter(|text| text.file == "world-visibility.rs");
        own.next().map(|text| text.text.clone())
    };
    assert_eq!(texts(""), None);
    assert_eq!(
        texts("[visibility]\nhides = 'veil'\nreveals = 'insight'\n").unwrap(),
        "// Bits of column 3 hide an entity.\n// Bits of column 2 reveal what has them.\n"
    );
}
