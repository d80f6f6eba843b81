//! A recording or a kept world, played to any tick: forwards tick by tick, elsewhere from a
//! snapshot beside it.
//!
//! A position is the number of ticks that the world has run: at position 0 nothing has happened
//! yet, and at position 1 the first tick has been run. A recording begins at position 0, a kept
//! world with its oldest checkpoint.
//!
//! | module | holds |
//! | --- | --- |
//! | [`ticks`] | the ticks, by their number; [`recorded`] and [`kept`] read them |
//! | [`found`] | what is found when they are opened |
//! | [`names`] | what players are called |
//! | [`shelf`] | snapshots in a folder beside what is played |
//! | [`surveyor`] | the thread that runs all ticks once, and makes the snapshots |
//! | [`player`] | the state at any position |
//! | [`difference`] | where two states differ |
//! | [`moment`] | a state, what the tick before it changed, and which commands caused it |

pub mod difference;
pub mod found;
pub mod kept;
pub mod moment;
pub mod names;
pub mod player;
pub mod recorded;
pub mod shelf;
pub mod surveyor;
pub mod ticks;

pub use moment::Moment;
pub use player::Player;
