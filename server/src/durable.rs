//! What outlives the process.

pub mod journal;
