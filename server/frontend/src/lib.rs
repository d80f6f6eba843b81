//! The contract between the tick and whoever serves clients.
//!
//! | module | holds |
//! | --- | --- |
//! | [`inbox`] | up: joins, leaves, requests, commands |
//! | [`publication`] | down: one tick's results; up: reports on their fan-out |
//! | [`mirror`] | the world on the host, for the fan-out |
//! | [`world`] | what every session needs of the world |
//! | [`welcome`] | the welcome, which is mostly the same for all clients |
//! | [`talk`], [`talk_budget`] | the bytes of what players say; how many a client receives |
//! | [`shards`] | the shards of this process as the tick thread sees them |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod inbox;
pub mod mirror;
pub mod publication;
pub mod shards;
pub mod talk;
pub mod talk_budget;
pub mod welcome;
pub mod world;

pub use world::SessionWorld;
