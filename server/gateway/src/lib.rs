//! Gateways: front ends in processes of their own, which hold the clients of a world that runs
//! elsewhere.
//!
//! | module | holds |
//! | --- | --- |
//! | [`message`] | the messages between the two, without sockets |
//! | [`places`] | at the tick host: the places of gateways, which to the tick are shards |
//! | [`port`] | at the tick host: the port that gateways connect to |
//! | [`host_link`] | at a gateway: the thread with the connection to its tick host |
//! | [`gateway_loop`] | at a gateway: the loop that passes ticks to its shards and input to its tick host |
//!
//! ```text
//! tick → place → RemoteFrontend → port ═QUIC═ host link → gateway loop → mirror, shards → clients
//!      ←        inbox          ←                        ←             ← inboxes
//! ```
//!
//! A connection begins with the gateway's hello. With the end of a tick it gets the world and then
//! each tick. A gateway that loses its tick host keeps its clients connected; once it has a world
//! again, from the same host or another one, their sessions begin anew with their tickets.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod gateway_loop;
pub mod host_link;
pub mod message;
pub mod places;
pub mod port;
