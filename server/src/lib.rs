//! The server: clients over QUIC around a [`gpu_kernels::Backend`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`server`] | starting and stopping |
//! | [`commands`] | the commands of the binary |
//! | [`tick`] | the thread that runs the world |
//! | [`session`] | one client's end of the protocol, without sockets and without a clock |
//! | [`accounts`] | who a client is, and who stays out |
//! | [`admin`] | what an operator asks of a running server |
//! | [`transport`] | threads for connections, QUIC |
//! | [`durable`] | worlds that are kept, recordings |
//! | [`embedded`] | a server in the process of its clients, without sockets |
//! | [`export`] | the entities of a kept world, for analysts |
//! | [`standby`] | a second server that follows, and can take over |
//! | [`lease`] | which of two servers is the primary, by a third party |
//! | [`playback`] | a recording, played to any tick |
//! | [`log`] | the log, so many lines a second |
//! | [`offline`] | a world whose clients have no connections, for benches and tests |
//! | [`metrics`] | figures for people and for Prometheus |
//! | [`http`] | small HTTP ports |
//! | [`web`] | the page for browsers, and the dashboard |
//! | [`private`] | files that only the server's user may read |
//! | `reach` | TCP connections to whichever address of a name answers |
//! | [`renewal`] | certificates, keys and tokens that change while the server runs |
//! | [`waits`], `runtime` | waits for what is outside of the process, and connections without such |
//! | [`scheduling`] | threads with a core of their own, and those that give way to the world |
#![forbid(unsafe_code)]

pub mod accounts;
pub mod admin;
pub mod commands;
pub mod durable;
pub mod embedded;
pub mod export;
pub mod http;
pub mod lease;
pub mod log;
pub mod metrics;
pub mod offline;
pub mod playback;
pub mod private;
pub(crate) mod reach;
pub mod renewal;
pub(crate) mod runtime;
pub mod scheduling;
pub mod server;
pub mod session;
pub mod standby;
pub mod tick;
pub(crate) mod tls;
pub mod transport;
pub mod waits;
pub mod web;

pub use server::{Server, ServerOptions};
