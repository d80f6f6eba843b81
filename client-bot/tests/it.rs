//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p client-bot --test it NAME` runs those of a module.

mod load_tests_page;
mod names;
#[cfg(unix)]
mod output;
