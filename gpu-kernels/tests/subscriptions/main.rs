//! Regions in the tick: what subscriptions add to what a client sees, and how
//! publications, what they follow, and limits behave.

#[path = "../common/mod.rs"]
mod common;
mod large;
mod named;
mod snapshots;
mod table;
