//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p benches --test it NAME` runs those of a module.

mod common;
mod content;
#[cfg(target_os = "linux")]
mod deals;
mod events;
mod networks;
mod readme;
mod regions;
mod report;
mod thesis;
mod tick;
