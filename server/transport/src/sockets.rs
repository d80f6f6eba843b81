//! Browsers over WebSocket, for networks that let no UDP through: the same sessions and limits as
//! over QUIC, on a thread of their own, which owns all TCP connections.
//!
//! | module | holds |
//! | --- | --- |
//! | [`message`] | the messages, each a piece of the stream, a datagram, or about the connection |
//! | [`stream`] | TCP, with TLS or without |
//! | [`queues`] | what waits in either direction, and how much of it may |
//! | [`connection`] | one connection from its handshake to its end |
//! | [`socket_link`] | a connection, as a shard uses it |
//! | [`socket_thread`] | the thread: its loop and its fan-out |
//!
//! TCP delivers all in order, so a datagram that waits gets old. Only what the network takes now
//! is handed to the system (`TCP_NOTSENT_LOWAT`). The rest waits here, and the datagrams of a
//! newer tick replace those of older ones: to the session and the client they are lost datagrams,
//! whose movement is sent again in a newer one.

pub mod connection;
pub mod message;
pub mod queues;
pub mod socket_link;
pub mod socket_thread;
pub mod stream;
