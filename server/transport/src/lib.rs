//! Connections over QUIC: one thread a core, each with its own socket and clients; and over
//! WebSocket, where browsers have no other way.
//!
//! | module | holds |
//! | --- | --- |
//! | [`quic`] | sockets, certificates, transport settings |
//! | [`browsers`] | the certificate for browsers |
//! | [`shard_thread`] | the thread of a shard: its loop and its fan-out |
//! | [`shard`] | the clients of one shard |
//! | [`client`] | one connection from its first packet to its last |
//! | [`client_link`] | a client's connection, as a shard uses it |
//! | [`neighbours`] | packets that reach the wrong shard |
//! | [`admission_control`] | bounds on connections before their hello |
//! | [`handshake`] | the hello, and the checks for admission |
//! | [`requests`] | requests, read no faster than a client may send them |
//! | [`sockets`] | browsers over WebSocket |
//! | [`local_shard`] | clients within the process |
//! | [`steady`] | the time by which proofs of addresses expire |
//! | [`pace`] | the time budget of a fan-out |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod admission_control;
pub mod browsers;
pub mod client;
pub mod client_link;
pub mod handshake;
pub mod local_shard;
pub mod neighbours;
pub mod pace;
pub mod quic;
pub mod requests;
pub mod shard;
pub mod shard_thread;
pub mod sockets;
pub mod steady;
