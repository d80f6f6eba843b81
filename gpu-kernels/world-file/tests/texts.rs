//! Attributes of type text: their lengths, and what they can't have.

use shared::AttributeType;
use shared::world::words::TextHandle;

fn world(attribute: &str) -> String {
    format!(
        "[world]\ncapacity = 8\n[[kind]]\nname = 'sign'\nattributes = [\n\
         {{ name = 'words', {attribute} }},\n]\n"
    )
}

fn problem(attribute: &str) -> String {
    let error = world_file::parse(&world(attribute), "test").unwrap_err();
    error.to_string()
}

#[test]
fn the_length_of_a_text_is_in_its_bounds() {
    let text = world("type = 'text', length = 40, audience = 'state'");
    let config = world_file::parse(&text, "test").unwrap();
    let column = config.schema.column("words").unwrap();
    let attribute = &config.schema.attributes[column];
    assert_eq!(attribute.ty, AttributeType::Text);
    assert_eq!((attribute.min, attribute.max), (0, TextHandle::max_of(40)));
    assert_eq!(attribute.text_bytes(), 40);
    assert_eq!(config.schema.text_bytes_max(), 40);
    assert_eq!(config.limits.texts, 65_536);
    let without = world_file::parse("[world]\ncapacity = 8", "test").unwrap();
    assert_eq!(without.limits.texts, 0);
    assert!(config.schema.has_texts() && !without.schema.has_texts());
}

#[test]
fn what_a_text_cant_have_is_rejected_with_the_reason() {
    for (attribute, expected) in [
        (
            "type = 'text', audience = 'state'",
            "the most bytes of a text, 1 to 255",
        ),
        (
            "type = 'text', length = 0, audience = 'state'",
            "the most bytes of a text, 1 to 255",
        ),
        (
            "type = 'text', length = 256, audience = 'state'",
            "found 256",
        ),
        (
            "type = 'i32', length = 8, audience = 'state'",
            "only attributes of type text have `length`",
        ),
        (
            "type = 'text', length = 8, audience = 'movement'",
            "for an attribute of type text",
        ),
        (
            "type = 'text', length = 8, audience = 'state', merge = 'sum'",
            "\"first\" or \"last\"",
        ),
        (
            "type = 'text', length = 8, audience = 'state', max = 7",
            "have `min` and `max`",
        ),
        (
            "type = 'text', length = 8, audience = 'state', default = 'hi'",
            "empty until a client writes it",
        ),
        (
            "type = 'text', length = 8, audience = 'state', default = { one_of = ['hi'] }",
            "empty until a client writes it",
        ),
        (
            "type = { array = 'text', length = 3 }, audience = 'state'",
            "can't have texts",
        ),
    ] {
        let found = problem(attribute);
        assert!(found.contains(expected), "{attribute}: {found}");
    }
    let player = world("type = 'text', length = 8, audience = 'state', persist = true");
    let kept = world_file::parse(&player, "test").unwrap();
    assert_eq!(kept.persists, [2], "accounts can keep it");
}
