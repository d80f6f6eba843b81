//! All tests of the crate beside those within it, in one program: each program would be linked with
//! everything. `cargo test -p gpu-kernels --test it NAME` runs those of a module.

mod atomic;
mod births;
mod cache;
mod causes;
mod contract;
mod everywhere;
mod failures;
mod golden;
mod guide;
mod hooks;
mod interest;
mod large;
mod layout;
mod listen;
mod motion;
mod notifications;
mod parity;
mod parts;
mod past;
mod prebuilt;
mod quiet;
mod reasons;
mod reload;
mod rules;
mod scripts;
mod shared_world;
mod snapshot;
mod subscriptions;
mod sums;
mod symbols;
mod timed;
mod trial;
mod usage;
mod walls;
mod wide;
