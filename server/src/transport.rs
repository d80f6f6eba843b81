//! Connections over QUIC: one thread a core, each with its own socket and clients.
//!
//! | module | holds |
//! | --- | --- |
//! | [`quic`] | sockets, certificates, transport settings |
//! | [`shards`] | the threads: accepting connections, telling clients of each tick |
//! | [`connection`] | one connection from its first packet to its last |
//! | [`shard`] | the clients of one thread |
//! | [`handshake`] | the hello, and why a client may not come in |
//! | [`requests`] | requests, read no faster than a client may send them |

pub mod connection;
pub mod handshake;
pub mod quic;
pub mod requests;
pub mod shard;
pub mod shards;
