//! What tests of the tick share, and what checks a machine's backends.
//!
//! | module | holds |
//! | --- | --- |
//! | [`oracle`] | the tick once more, slow and obvious |
//! | [`world`] | random worlds, and random frames for them |
//! | [`scenario`] | fixed worlds that are played the same way each time |
//! | [`backends`] | every implementation of the tick on this machine |
//! | [`agree`] | comparing outputs, and naming the first difference |
//! | [`parity`] | backends and the oracle in step; the check of random worlds |
//! | [`snapshots`] | that the state hash and `restore` see every part of a snapshot |
//! | [`dice`] | random choices from a seed |

pub mod agree;
pub mod backends;
pub mod dice;
pub mod oracle;
pub mod parity;
pub mod scenario;
pub mod snapshots;
pub mod world;
