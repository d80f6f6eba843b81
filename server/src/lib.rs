//! The server: clients over QUIC around a [`gpu_kernels::Backend`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`host`] | starting and stopping |
//! | [`commands`] | the commands of the binary |
//! | [`embedded`] | a server in the process of its clients, without sockets |
//! | [`offline`] | a world whose clients have no connections, for benches and tests |
#![forbid(unsafe_code)]

pub mod commands;
pub mod embedded;
pub mod offline;

pub use host::{self, Server, ServerOptions};
