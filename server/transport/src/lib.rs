//! Connections over QUIC: one thread a core, each with its own socket and clients.
//!
//! | module | holds |
//! | --- | --- |
//! | [`quic`] | sockets, certificates, transport settings |
//! | [`browsers`] | the certificate that browsers are shown |
//! | [`shards`] | the threads, and what each repeats |
//! | [`shard`] | the clients of one thread |
//! | [`client`] | one connection from its first packet to its last |
//! | [`client_link`] | what a shard needs of a connection |
//! | [`neighbours`] | packets that reach the wrong shard |
//! | [`admission_control`] | bounds on connections before their hello |
//! | [`handshake`] | the hello, and why a client may not come in |
//! | [`requests`] | requests, read no faster than a client may send them |
//! | [`steady`] | the time by which proofs of addresses expire |
//! | [`pace`] | how many clients a shard has time to tell of a tick |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod admission_control;
pub mod browsers;
pub mod client;
pub mod client_link;
pub mod handshake;
pub mod neighbours;
pub mod pace;
pub mod quic;
pub mod requests;
pub mod shard;
pub mod shards;
pub mod steady;
