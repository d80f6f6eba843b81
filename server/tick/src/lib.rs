//! The tick: one thread that runs the world and tells the shards.
//!
//! | module | holds |
//! | --- | --- |
//! | [`tick_loop`] | the clock and the list of a tick's steps |
//! | [`backend`] | the choice of a backend |
//! | [`intake`] | inboxes into a frame |
//! | [`reload`] | scripts that change while the world runs |
//! | [`requests`] | which requests are answered in a tick |
//! | [`directory`] | which client acts as which entity; slots that can't be reused yet |
//! | [`characters`] | what accounts keep while they have no entity |
//! | [`holdings`] | regions and subscriptions of clients |
//! | [`talk`] | what players say, and who is told |
//! | [`operator`] | what the operator wants of the world |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod backend;
pub mod characters;
pub mod directory;
pub mod holdings;
pub mod intake;
pub mod operator;
pub mod reload;
pub mod requests;
pub mod talk;
pub mod tick_loop;
