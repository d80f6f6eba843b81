//! A client of Myriad over QUIC, and bots made of it. A game that needs only [`GameClient`]
//! turns off the default features `bots` and `tokio`.
//!
//! | module | holds |
//! | --- | --- |
//! | [`carrier`] | a game's bytes over a connection |
//! | [`connect`] | which server to trust, and why a connection ended |
//! | [`game_client`] | a client for a game loop: [`client_core::Game`] and its connections |
//! | [`local`] | a server in the same process, without a network |
//! | [`named`] | commands and attributes by their names, as numbers |
//! | [`bindings`] | what the generated bindings of a world stand on |
//! | [`client`], [`connector`] | a client for tokio: the same [`client_core::Game`], and its connections |
//! | [`behaviour`] | what bots do, one file each |
//! | [`filter`] | what listening bots subscribe to |
//! | [`swarm`] | many bots on a few threads |
//! | [`verify`] | checks of what bots receive |
//! | [`network`] | options for a bad network on purpose |
//! | [`report`] | figures, for people and as JSON |
//! | [`conditions`] | figures at which a load test fails |
//! | [`cli`] | the command line of `myriad-bot` |
//! | [`load`] | a load test from first to last |
//! | [`stages`] | how many bots are in the world over time |
//! | [`join`] | swarms of several machines as one |
//! | [`series`], [`scrape`] | figures of each second, of the bots and of their server |
//! | [`page`] | the report as a page |
//!
//! A game polls its client once a frame, and gives commands when input is due:
//!
//! ```no_run
//! use client_bot::client_core::{Event, GameOptions};
//! use client_bot::connect::addresses_of;
//! use client_bot::{GameClient, Trust};
//!
//! let server = addresses_of("localhost:4433")?;
//! let trust = Trust::AnyCertificate;
//! let mut client = GameClient::new(server, "localhost", &trust, GameOptions::default())?;
//! for event in client.poll() {
//!     if let Event::Entered { entity, .. } = event {
//!         println!("{entity} is in view");
//!     }
//! }
//! while client.input_due().is_some() {
//!     client.command_named("move", &[1.0, 0.0])?;
//!     client.flush();
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(not(feature = "bots"), warn(missing_docs))]
#![forbid(unsafe_code)]

#[cfg(feature = "bots")]
pub mod behaviour;
pub mod bindings;
pub mod carrier;
#[cfg(feature = "bots")]
pub mod cli;
#[cfg(feature = "tokio")]
pub mod client;
#[cfg(feature = "bots")]
pub mod conditions;
pub mod connect;
#[cfg(feature = "tokio")]
pub mod connector;
#[cfg(feature = "bots")]
pub mod filter;
pub mod game_client;
#[cfg(feature = "bots")]
pub mod join;
#[cfg(feature = "bots")]
pub mod load;
pub mod local;
pub mod named;
#[cfg(feature = "bots")]
pub mod network;
#[cfg(feature = "bots")]
pub mod page;
#[cfg(feature = "bots")]
pub mod report;
#[cfg(feature = "bots")]
pub mod scout;
#[cfg(feature = "bots")]
pub mod scrape;
#[cfg(feature = "bots")]
pub mod series;
#[cfg(feature = "bots")]
pub mod stages;
#[cfg(feature = "bots")]
pub mod swarm;
#[cfg(feature = "bots")]
pub mod verify;

#[cfg(feature = "bots")]
pub use behaviour::BehaviourKind;
#[cfg(feature = "tokio")]
pub use client::Client;
pub use client_core::{EventHandler, View};
pub use connect::Trust;
#[cfg(feature = "tokio")]
pub use connector::Connector;
pub use game_client::GameClient;
#[cfg(feature = "bots")]
pub use report::SwarmReport;
#[cfg(feature = "bots")]
pub use swarm::{Progress, Swarm, SwarmOptions};

/// The client without I/O that this one is made of.
pub use client_core;
/// Where a server may be reached.
pub use quic::Addresses;
/// A bad network on purpose, for [`GameClient::set_faults`].
pub use quic::{Faults, Network};
/// The QUIC of [`Client::connection`].
#[cfg(feature = "tokio")]
pub use quinn;
/// Certificates, for [`Trust::Certificates`].
pub use rustls::pki_types;
/// Entities, ticks, fixed-point numbers, schemas: what all of these speak of.
pub use shared;

/// Compiles the examples of the README.
#[cfg(all(doctest, feature = "bots", feature = "tokio"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
