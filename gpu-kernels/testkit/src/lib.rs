//! Helpers for tests of the tick, and checks of a machine's backends.
//!
//! | module | holds |
//! | --- | --- |
//! | [`oracle`] | a second implementation of the tick, slow and simple |
//! | [`world`] | random worlds, and random frames for them |
//! | `rules` | the numbers of the built-in commands |
//! | [`scenario`] | fixed worlds that are played the same way each time |
//! | [`backends`] | every implementation of the tick on this machine |
//! | [`agree`] | comparing outputs, and naming the first difference |
//! | [`parity`] | backends and the oracle in step; the check of random worlds |
//! | [`scripts`] | scripts for tests |
//! | [`snapshots`] | checks that the state hash and `restore` cover every part of a snapshot |
//! | [`failing`] | a backend that fails on purpose |
//! | [`headers`] | the check that headers of kernels say what Rust declares |
//! | [`trial`] | backends in step over a given world, with random commands |
//! | [`watching`] | clients that watch a changing world |
//! | [`dice`] | random choices from a seed |

pub mod agree;
pub mod backends;
pub mod dice;
pub mod failing;
pub mod headers;
pub mod oracle;
pub mod parity;
mod rules;
pub mod scenario;
pub mod scripts;
pub mod snapshots;
pub mod trial;
pub mod watching;
pub mod world;
