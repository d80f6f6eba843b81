//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p client-web --test it NAME` runs those of a module.

mod bindings;
mod page;
mod prebuilt;
