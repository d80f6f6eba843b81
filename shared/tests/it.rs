//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p shared --test it NAME` runs those of a module.

mod decoders;
mod hostile_bytes;
mod planes;
mod predicate;
mod protocol;
mod wire;
mod worlds;
