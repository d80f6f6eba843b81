//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p world-file --test it NAME` runs those of a module.

mod collections;
mod columns;
mod file;
mod groups;
mod maps;
mod planes;
mod texts;
mod things;
mod visibility;
mod wide;
