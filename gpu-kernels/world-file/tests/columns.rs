//! How many columns a world and its kinds can have.

use shared::world::columns::{ATTRIBUTES_MAX, KIND_ATTRIBUTES_MAX};

/// Kinds with so many attributes of their own; the first one has `more`, too.
fn kinds(own: &[usize], more: &str) -> String {
    let kinds = own.iter().enumerate().map(|(kind, &own)| {
        let attributes = (0..own).map(|n| {
            format!("{{ name = \"a{kind}_{n}\", type = \"i32\", audience = \"state\" }}, ")
        });
        let attributes: String = attributes.collect();
        let (name, more) = match kind {
            0 => ("player".to_owned(), more),
            _ => (format!("kind{kind}"), ""),
        };
        format!("[[kind]]\nname = \"{name}\"\nattributes = [{attributes}{more}]\n")
    });
    kinds.collect()
}

fn problem(text: &str) -> String {
    world_file::parse(text, "w.toml").unwrap_err().to_string()
}

#[test]
fn a_world_has_up_to_256_columns_and_a_kind_up_to_64() {
    let text = kinds(&[62, 62, 62, 62, 6], "");
    let schema = world_file::parse(&text, "w.toml").unwrap().schema;
    assert_eq!(schema.attributes.len(), ATTRIBUTES_MAX);
    assert_eq!(schema.kinds[0].attributes.len(), KIND_ATTRIBUTES_MAX);
    assert_eq!(schema.check(), Ok(()));
    assert_eq!(schema.for_clients().check(), Ok(()));
}

#[test]
fn more_columns_are_an_error_with_the_figures() {
    let number = r#"{ name = "gold", type = "i64", audience = "state" }"#;
    let array = r#"{ name = "slot", type = { array = "i32", length = 5 }, audience = "state" }"#;
    for (own, more, expected) in [
        (
            &[62, 62, 62, 62, 7][..],
            "",
            "kind.kind4.attributes.a4_6: expected at most 256 different columns of all kinds \
             together, positions included",
        ),
        (
            &[63],
            "",
            "kind.player.attributes.a0_62: expected at most 64 columns of a kind, positions \
             included, found 65",
        ),
        (
            &[80],
            "",
            "kind.player.attributes.a0_62: expected at most 64 columns of a kind, positions \
             included, found 82",
        ),
        (
            &[61],
            number,
            "kind.player.attributes.gold: expected at most 64 columns of a kind, positions \
             included; an i64 counts as two, found 65",
        ),
        (
            &[60],
            array,
            "kind.player.attributes.slot: expected at most 64 columns of a kind, positions \
             included; each value of `slot` counts as one, found 67",
        ),
    ] {
        let found = problem(&kinds(own, more));
        assert_eq!(found.matches("expected at most").count(), 1, "{found}");
        assert!(found.contains(expected), "{expected}\n{found}");
    }
}
