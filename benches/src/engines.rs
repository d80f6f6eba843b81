//! The engines that run outside of a tick, each with its baselines.

pub mod content;
pub mod events;
pub mod regions;
