//! The tick: one thread that runs the world and publishes to the shards.
//!
//! | module | holds |
//! | --- | --- |
//! | [`tick_loop`] | the clock, and the steps of a tick |
//! | [`backend`] | the choice of a backend |
//! | [`intake`] | inboxes into a frame |
//! | [`reload`] | scripts that change while the world runs |
//! | [`requests`] | the queue of clients' requests, fair between clients |
//! | `script_log` | what scripts log |
//! | [`clients`] | all that the tick keeps of clients, as one |
//! | [`directory`] | clients and their entities; slots that can't be reused yet |
//! | [`characters`] | the saved attributes of accounts without an entity |
//! | [`holdings`] | regions and subscriptions of clients |
//! | [`talk`] | chat of players |
//! | [`texts`] | texts of attributes, and who may use them |
//! | [`operator`] | requests of the operator |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod backend;
pub mod characters;
pub mod clients;
pub mod directory;
pub mod holdings;
pub mod intake;
pub mod operator;
pub mod reload;
pub mod requests;
mod script_log;
pub mod talk;
pub mod texts;
pub mod tick_loop;
