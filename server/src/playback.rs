//! A recording, played to any tick: forwards tick by tick, elsewhere from a snapshot beside
//! the recording.
//!
//! A position is the number of ticks that were run: at position 0 nothing has happened yet,
//! and at position 1 the first tick has been run.
//!
//! | module | holds |
//! | --- | --- |
//! | [`ticks`] | the ticks of a recording, by their number |
//! | [`shelf`] | snapshots in a folder beside the recording |
//! | [`surveyor`] | the thread that runs the whole recording once, and makes the snapshots |
//! | [`player`] | the state at any position |
//! | [`moment`] | a state, what the tick before it changed, and which commands caused it |

pub mod moment;
pub mod player;
pub mod shelf;
pub mod surveyor;
pub mod ticks;

pub use moment::Moment;
pub use player::Player;
