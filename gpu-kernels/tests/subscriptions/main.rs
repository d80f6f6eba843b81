//! Regions in the tick: what subscriptions add to what a client sees, how
//! publications, what they follow, and limits behave; and who hears what is told of.

#[path = "../common/mod.rs"]
mod common;
mod hearings;
mod large;
mod named;
mod snapshots;
mod table;
