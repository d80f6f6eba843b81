//! What the fuzz targets share with the tests: worlds, and what decoders promise.

use std::sync::LazyLock;

use shared::Schema;

#[path = "../../tests/decoders/mod.rs"]
pub mod decoders;

/// The first byte chooses the world; the rest is the message.
pub fn world_and_message(data: &[u8]) -> Option<(&'static Schema, &[u8])> {
    let (&choice, message) = data.split_first()?;
    Some((&SCHEMAS[usize::from(choice) % SCHEMAS.len()], message))
}

static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    [
        "",
        include_str!("../../tests/worlds/deep.toml"),
        include_str!("../../tests/worlds/rich.toml"),
        include_str!("../../tests/worlds/vast.toml"),
        include_str!("../../tests/worlds/tiny.toml"),
        include_str!("../../tests/worlds/wide.toml"),
    ]
    .map(|text| world_file::parse(text, "a test's world").unwrap().schema)
    .into()
});
