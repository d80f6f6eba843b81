//! All tests of the crate beside those within it, in one program.

mod compiled;
mod names;
mod shipped;
