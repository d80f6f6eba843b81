//! Attributes of 64 bits.

use shared::AttributeType;
use shared::world::attribute::joined;

fn with(attributes: &str) -> String {
    format!("[[kind]]\nname = \"player\"\nattributes = [\n{attributes}\n]\n")
}

fn shown(text: &str) -> String {
    world_file::parse(text, "w.toml")
        .expect_err(text)
        .to_string()
}

#[test]
fn a_number_of_64_bits_has_two_columns_with_its_halves() {
    let text = with(
        r#"{ name = "gold", type = "i64", default = 5_000_000_000, min = -1, max = 9_000_000_000, persist = true, audience = "private" },"#,
    );
    let config = world_file::parse(&text, "w.toml").unwrap();
    let schema = &config.schema;
    let types: Vec<AttributeType> = schema.attributes[2..].iter().map(|a| a.ty).collect();
    assert_eq!(types, [AttributeType::I64, AttributeType::High]);
    assert_eq!(schema.attributes[2].name, "gold");
    let row = schema.default_row(0);
    assert_eq!(joined([row[2], row[3]]), 5_000_000_000);
    assert_eq!(schema.wide_bounds()[2], (-1, 9_000_000_000));
    assert_eq!(schema.bounds(0)[2], (i32::MIN, i32::MAX));
    assert_eq!(config.persists, [2, 3]);
    assert_eq!(schema.check(), Ok(()));
}

#[test]
fn what_64_bits_do_not_have_is_an_error() {
    for (attribute, expected) in [
        (
            r#"{ name = "gold", type = "i64", audience = "movement" }"#,
            "gold.audience: expected \"state\", \"private\" or \"hidden\" for an attribute of type i64, found \"movement\"",
        ),
        (
            r#"{ name = "gold", type = "i64", default = 1.5, audience = "state" }"#,
            "gold.default: expected a whole number: none of 64 bits is drawn, found 1.5",
        ),
        (
            r#"{ name = "gold", type = "i64", default = { from = 1, to = 2 }, audience = "state" }"#,
            "gold.default: expected a whole number: none of 64 bits is drawn",
        ),
        (
            r#"{ name = "gold", type = "i64", default = 7, max = 5, audience = "state" }"#,
            "gold.default: expected -9223372036854775808 to 5, found 7",
        ),
        (
            r#"{ name = "gold", type = "i64", min = 7, max = 5, audience = "state" }"#,
            "gold.min: expected at most max = 5, found 7",
        ),
        (
            r#"{ name = "gold", type = "i64", overflow = "refuse", audience = "state" }"#,
            "gold.overflow: only i32 and fixed attributes overflow",
        ),
        (
            r#"{ name = "gold", type = { array = "i64", length = 2 }, audience = "state" }"#,
            "gold.type: an array or a map can't have values of type i64; declare them one by one",
        ),
        (
            r#"{ name = "gold", type = "high", audience = "state" }"#,
            "found `high`",
        ),
    ] {
        let found = shown(&with(attribute));
        assert!(found.contains(expected), "{attribute}\n{found}");
    }
}

#[test]
fn kinds_agree_on_the_bounds() {
    let kind = |name: &str, max: &str| {
        format!(
            "[[kind]]\nname = \"{name}\"\nattributes = [{{ name = \"gold\", type = \"i64\", \
             max = {max}, audience = \"state\" }}]\n"
        )
    };
    let text = kind("player", "5") + &kind("chest", "9_000_000_000");
    let found = shown(&text);
    assert!(found.contains("as in other kinds"), "{found}");
    let same = kind("player", "5") + &kind("chest", "5");
    assert_eq!(
        world_file::parse(&same, "w.toml")
            .unwrap()
            .schema
            .attributes
            .len(),
        4
    );
}
