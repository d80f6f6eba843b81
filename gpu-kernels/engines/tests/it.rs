//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p engines --test it NAME` runs those of a module.

mod content;
mod events;
mod events_cuda;
mod layout;
mod regions;
