//! The server: sessions over QUIC around a [`gpu_kernels::Backend`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`server`] | starting and stopping it all |
//! | [`tick_loop`] | the clock: one thread that runs the world |
//! | [`directory`] | who is connected, as which entity; which slots rest |
//! | [`holdings`] | regions and subscriptions that clients asked for |
//! | [`mirror`] | the world as clients may be told of it |
//! | [`inbox`] | from shards to the tick: joins, leaves, requests, commands |
//! | [`publication`] | from the tick to shards: what happened |
//! | [`shard`] | one thread's connections: sessions and fan-out |
//! | [`quic`] | sockets, certificates, transport settings |
//! | [`journal`] | recording frames and replaying them |
//! | [`stats`], [`telemetry`] | figures for people and for Prometheus |
//! | [`demo`], [`doctor`], [`parity`], [`replay`], [`cli`] | the commands of the binary |
#![forbid(unsafe_code)]

pub mod cli;
pub mod demo;
pub mod directory;
pub mod doctor;
pub mod holdings;
pub mod inbox;
pub mod journal;
pub mod machine;
pub mod mirror;
pub mod parity;
pub mod publication;
pub mod quic;
pub mod replay;
pub mod server;
pub mod shard;
pub mod stats;
pub mod telemetry;
pub mod tick_loop;

pub use server::{Server, ServerOptions};
