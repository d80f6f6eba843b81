//! The contract between the tick and its front ends, which serve clients.
//!
//! | module | holds |
//! | --- | --- |
//! | [`inbox`] | up: joins, leaves, requests, commands |
//! | [`publication`] | down: one tick's results; up: reports on their fan-out |
//! | [`mirror`] | the world on the host, for the fan-out |
//! | [`world`] | the world, as sessions use it |
//! | [`welcome`] | the welcome, mostly the same for all clients |
//! | [`talk`], [`talk_budget`] | the size of talk; the budget of a listener |
//! | [`shard_channels`] | the tick thread's channels to the shards of this process |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod inbox;
pub mod mirror;
pub mod publication;
pub mod shard_channels;
pub mod talk;
pub mod talk_budget;
pub mod welcome;
pub mod world;

pub use world::SessionWorld;
