#![no_main]

//! Any text is compiled or rejected, its problems can be drawn, and what was compiled runs.

use libfuzzer_sys::fuzz_target;
use shared::world::logic::Text;

#[path = "../../tests/common/mod.rs"]
mod common;

fuzz_target!(|bytes: &[u8]| {
    let text = Text::new("test.rs", String::from_utf8_lossy(bytes));
    common::compile_and_run(&[text]);
});
