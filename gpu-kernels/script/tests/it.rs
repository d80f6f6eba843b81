//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p script --test it NAME` runs those of a module.

mod angles;
mod atomic;
mod builtin;
mod collections;
mod common;
mod diagnostics;
mod everywhere;
mod forecast;
mod groups;
mod guide;
mod hostile;
mod language;
mod layers;
mod lint;
mod messages;
mod mutated;
mod native;
mod native_speed;
mod planes;
mod play;
mod programs;
mod ptx;
mod random;
mod symbols;
mod texts;
mod things;
mod watched;
mod ways;
mod wide;
