//! A recording or a persistent world, played to any tick: forwards tick by tick, elsewhere from a
//! snapshot beside it.
//!
//! A position is the number of ticks that the world has run: at position 0 nothing has happened
//! yet, and at position 1 the first tick has been run. A recording begins at position 0, a
//! persistent world with its oldest checkpoint.
//!
//! | module | holds |
//! | --- | --- |
//! | [`ticks`] | the ticks, by their number; [`recorded`] and [`persistent`] read them |
//! | [`contents`] | the world, its first state and the range of its ticks |
//! | [`names`], [`texts`] | the names of players; what handles of texts stand for |
//! | [`shelf`] | snapshots in a folder beside the recording |
//! | [`surveyor`] | the thread that runs all ticks once, and makes the snapshots |
//! | [`player`] | the state at any position |
//! | [`difference`] | where two states differ |
//! | [`inspection`] | a command of a tick, run once more |
//! | [`moment`] | a state, the changes of the tick before it, and the commands that caused them |

pub mod contents;
pub mod difference;
pub mod inspection;
pub mod moment;
pub mod names;
pub mod persistent;
pub mod player;
pub mod recorded;
pub mod shelf;
pub mod surveyor;
pub mod texts;
pub mod ticks;

pub use moment::Moment;
pub use player::Player;
