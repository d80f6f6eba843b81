#![no_main]

//! Any text of a script is compiled, or rejected with problems that can be drawn.

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use script::{Logic, Play, Problem};
use shared::Schema;
use shared::world::logic::{LogicConfig, Text};

fuzz_target!(|text: &str| {
    let texts = vec![Text::new("test.rs", text)];
    let config = LogicConfig {
        texts: texts.clone(),
        ..LogicConfig::default()
    };
    if let Err(problems) = Logic::compile(&SCHEMA, &config) {
        draw(&problems, &texts);
    }
    if let Err(problems) = Play::compile(&SCHEMA, &texts[0]) {
        draw(&problems, &texts);
    }
});

fn draw(problems: &[Problem], texts: &[Text]) {
    assert!(!problems.is_empty() && problems.len() <= 64);
    let diagnostics: Vec<_> = problems.iter().filter_map(Problem::diagnostic).collect();
    script::diagnostic::draw(&diagnostics, texts, false);
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let text = include_str!("../../../../shared/tests/worlds/rich.toml");
    world_file::parse(text, "a test's world").unwrap().schema
});
