//! What the tests of the tick share: an oracle, random worlds, fixed scenarios,
//! and the list of backends that every contract is held against.
#![allow(dead_code)] // Each test binary uses its own part.

pub mod agree;
pub mod backends;
pub mod dice;
pub mod oracle;
pub mod scenario;
pub mod snapshots;
pub mod world;
