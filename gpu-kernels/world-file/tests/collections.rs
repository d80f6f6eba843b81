//! Arrays and maps of attributes.

use shared::AttributeType;

fn with(attributes: &str) -> String {
    format!("[[kind]]\nname = \"player\"\nattributes = [\n{attributes}\n]\n")
}

fn parsed(attributes: &str) -> shared::WorldConfig {
    let text = with(attributes);
    world_file::parse(&text, "w.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn shown(text: &str) -> String {
    world_file::parse(text, "w.toml")
        .expect_err(text)
        .to_string()
}

#[test]
fn an_array_has_an_attribute_for_each_index_and_a_map_one_for_each_key() {
    let config = parsed(
        r#"
{ name = "slot", type = { array = "fixed", length = 3 }, default = 1.5, max = 9, audience = "state" },
{ name = "bag", type = { map = "i32", keys = ["wood", "ore"] }, default = { ore = 2 }, audience = "private" },
{ name = "seed", type = { array = "i32", length = 2 }, default = [7, 8], audience = "hidden", allow = ["unused_attributes"] },
"#,
    );
    let schema = &config.schema;
    let names: Vec<&str> = schema.attributes.iter().map(|a| &*a.name).collect();
    let expected = [
        "slot[0]", "slot[1]", "slot[2]", "bag.ore", "bag.wood", "seed[0]", "seed[1]",
    ];
    assert_eq!(names[2..], expected);
    assert!(
        schema.attributes[2..5]
            .iter()
            .all(|a| a.ty == AttributeType::Fixed)
    );
    assert_eq!(schema.default_row(0)[2..], [6144, 6144, 6144, 2, 0, 7, 8]);
    let collections = schema.collections();
    let found: Vec<_> = collections
        .iter()
        .map(|c| (c.name, c.first, c.len))
        .collect();
    assert_eq!(found, [("slot", 2, 3), ("bag", 5, 2), ("seed", 7, 2)]);
    assert_eq!(collections[1].keys, ["ore", "wood"]);
    assert_eq!(schema.symbols, ["ore", "wood"], "keys are symbols");
    // Clients see that there are columns, and not which.
    assert_eq!(schema.for_clients().collections().len(), 2);
}

#[test]
fn each_value_draws_its_own_default() {
    let config = parsed(
        r#"{ name = "slot", type = { array = "i32", length = 3 }, default = { from = 1, to = 6 }, audience = "state" }"#,
    );
    assert_eq!(config.initials[0].len(), 3);
}

#[test]
fn accounts_keep_all_values_of_what_persists() {
    let config = parsed(
        r#"{ name = "bag", type = { map = "i32", keys = ["wood", "ore"] }, audience = "private", persist = true },
{ name = "worn", type = { array = "symbol", length = 2 }, symbols = ["ring", "ore"], audience = "private", persist = true },"#,
    );
    assert_eq!(config.persists.len(), 4);
    for name in [
        "inherit_bag__ore",
        "inherit_bag__wood",
        "inherit_worn__0",
        "inherit_worn__1",
    ] {
        assert!(config.schema.command_named(name).is_some(), "{name}");
    }
}

#[test]
fn what_is_wrong_with_an_array_or_a_map_is_said_once() {
    for (attribute, expected) in [
        (
            r#"{ name = "slot", type = { array = "i32" }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.slot.type: the key `length` is missing",
        ),
        (
            r#"{ name = "slot", type = { array = "i32", length = 65 }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.slot.type.length: expected 1 to 64, as each value is a column, found 65",
        ),
        (
            r#"{ name = "slot", type = { array = "i32", length = 63 }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.slot: expected at most 64 columns of a kind, positions included; each value of `slot` counts as one, found 65",
        ),
        (
            r#"{ name = "slot", type = { array = "i32", length = 2 }, default = 5, max = 4, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.slot.default: expected -2147483648 to 4, found 5",
        ),
        (
            r#"{ name = "slot", type = { array = "i32", length = 2 }, default = [1], audience = "state" }"#,
            "w.toml:4: kind.player.attributes.slot.default: expected a value, or a list of 2, found a list of 1",
        ),
        (
            r#"{ name = "bag", type = { map = "i32", keys = [] }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.bag.type.keys: expected 1 to 64 keys, as each value is a column, found 0",
        ),
        (
            r#"{ name = "bag", type = { map = "i32", keys = ["a", "a"] }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.bag.type.keys: \"a\" is there twice",
        ),
        (
            r#"{ name = "bag", type = { map = "i32", keys = ["a b"] }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.bag.type.keys: expected keys of the letters a to z and A to Z, digits and `_`, which do not begin with a digit, found \"a b\"",
        ),
        (
            r#"{ name = "bag", type = { map = "i32", keys = ["a", "b"] }, default = { c = 1 }, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.bag.default: expected one of [\"a\", \"b\"], found \"c\"",
        ),
        (
            r#"{ name = "life", type = { array = "i32", length = 2 }, falls_at = 0, audience = "state" }"#,
            "w.toml:4: kind.player.attributes.life.falls_at: only an attribute of one value has this, not an array",
        ),
    ] {
        assert_eq!(shown(&with(attribute)), expected);
    }
    for ty in [
        "{ array = \"i32\", keys = [\"a\"] }",
        "{ map = \"i32\" }",
        "{}",
    ] {
        let attribute = format!(r#"{{ name = "a", type = {ty}, audience = "state" }}"#);
        let message = shown(&with(&attribute));
        let expected = "expected `{ array = …, length = … }` or `{ map = …, keys = […] }`";
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn kinds_agree_on_the_length_and_the_keys_of_a_name() {
    for (ty, expected) in [
        (
            "\"i32\"",
            "expected an array of length 2, as in other kinds",
        ),
        (
            "{ array = \"i32\", length = 3 }",
            "expected an array of length 2, as in other kinds",
        ),
    ] {
        let one = |ty: &str| format!(r#"{{ name = "a", type = {ty}, audience = "state" }}"#);
        let first = with(&one("{ array = \"i32\", length = 2 }"));
        let text = format!(
            "{first}[[kind]]\nname = \"rock\"\nattributes = [{}]",
            one(ty)
        );
        let found = shown(&text);
        assert!(found.contains(expected), "{found}");
    }
    let one = r#"{ name = "a", type = { array = "i32", length = 2 }, audience = "state" }"#;
    let text = format!(
        "{}[[kind]]\nname = \"rock\"\nattributes = [{one}]",
        with(one)
    );
    let config = world_file::parse(&text, "w.toml").unwrap();
    assert_eq!(config.schema.attributes.len(), 4);
}
