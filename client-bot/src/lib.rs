//! A client of Myriad, and bots made of it.
//!
//! | module | holds |
//! | --- | --- |
//! | [`connect`] | trust, sockets, the handshake |
//! | [`client`] | one connection: commands out, a view in |
//! | [`view`] | the world as one client was told of it |
//! | [`behaviour`] | what bots do, one file each |
//! | [`swarm`] | many bots on a few threads |
//! | [`verify`] | whether what the bots were told can be true |
//! | [`wish`] | what listening bots subscribe to |
//! | [`report`] | figures, for people and as JSON |
//! | [`console`] | lines on standard output, and of progress |
//! | [`lossy`] | a socket that loses datagrams on purpose |
#![forbid(unsafe_code)]

pub mod behaviour;
pub mod cli;
pub mod client;
pub mod connect;
pub mod console;
pub mod lossy;
pub mod report;
pub mod swarm;
pub mod verify;
pub mod wish;

pub use behaviour::BehaviourKind;
pub use client::{Client, Witness};
pub use connect::{Connector, Trust};
pub use report::SwarmReport;
pub use swarm::{Swarm, SwarmOptions};
pub use client_core::{View, view};
