//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p client-ffi --test it NAME` runs those of a module.

mod common;
mod csharp;
mod header;
mod misuse;
mod programs;
mod schema;
mod texts;
