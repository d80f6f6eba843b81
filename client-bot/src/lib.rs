//! A client of Myriad over QUIC, and bots made of it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`connect`] | which server to trust, and why a connection ended |
//! | [`game_client`] | a client for a game loop: [`client_core::Game`] and its connections |
//! | [`client`], [`connector`] | a client for tokio: [`client_core::Session`] and its connection |
//! | [`behaviour`] | what bots do, one file each |
//! | [`filter`] | what listening bots subscribe to |
//! | [`swarm`] | many bots on a few threads |
//! | [`verify`] | checks of what bots are told |
//! | [`network`] | options for a bad network on purpose |
//! | [`report`] | figures, for people and as JSON |
//! | [`console`] | output of programs |
//! | [`cli`] | the command line of `myriad-bot` |
#![forbid(unsafe_code)]

pub mod behaviour;
pub mod cli;
pub mod client;
pub mod connect;
pub mod connector;
pub mod console;
pub mod filter;
pub mod game_client;
pub mod network;
pub mod report;
pub mod swarm;
pub mod verify;

pub use behaviour::BehaviourKind;
pub use client::Client;
pub use client_core::{EventHandler, View};
pub use connect::Trust;
pub use connector::Connector;
pub use game_client::GameClient;
pub use report::SwarmReport;
pub use swarm::{Swarm, SwarmOptions};

/// The client without I/O that this one is made of.
pub use client_core;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
