//! The server: clients over QUIC around a [`gpu_kernels::Backend`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`server`] | starting and stopping |
//! | [`commands`] | the commands of the binary |
//! | [`embedded`] | a server in the process of its clients, without sockets |
//! | [`offline`] | a world whose clients have no connections, for benches and tests |
//! | [`version`] | the versions of this program and of its formats |
#![forbid(unsafe_code)]

pub mod commands;
pub mod embedded;
pub mod offline;
pub mod server;
pub mod version;

pub use server::{Server, ServerOptions};
