//! A client of Myriad over QUIC, and bots made of it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`connect`] | certificates, sockets, the handshake |
//! | [`client`] | a client: [`client_core::Session`] and its connection |
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
pub mod console;
pub mod filter;
pub mod network;
pub mod report;
pub mod swarm;
pub mod verify;

pub use behaviour::BehaviourKind;
pub use client::Client;
pub use client_core::{EventHandler, View};
pub use connect::{Connector, Trust};
pub use report::SwarmReport;
pub use swarm::{Swarm, SwarmOptions};

/// The client without I/O that this one is made of.
pub use client_core;

/// Compiles the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
