//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p client-core --test it NAME` runs those of a module.

mod bindings;
mod common;
mod every_order;
mod game;
mod hostile_bytes;
mod input;
mod layers;
mod prediction;
mod session;
mod view;
