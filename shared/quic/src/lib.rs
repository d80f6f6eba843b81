//! QUIC for thousands of connections on one thread: batches of packets, timers, and a
//! congestion controller for thin flows, around the protocol machine of `quinn-proto`. No
//! task, waker or channel per connection.
//!
//! A thread owns an [`Endpoint`] and repeats:
//!
//! 1. [`Endpoint::wait`] until packets arrive, a waker wakes it, or a time has come,
//! 2. [`Endpoint::receive`]: packets go to the [`Application`],
//! 3. [`Endpoint::visit`] to each connection that the application has something to say to,
//! 4. [`Endpoint::upkeep`]: the timers of all connections.
//!
//! | module | holds |
//! | --- | --- |
//! | [`endpoint`] | the connections of a thread |
//! | [`link`] | one connection, as the application uses it |
//! | [`socket`] | UDP in batches |
//! | [`faults`] | a bad network on purpose, by a seed or a trace |
//! | [`steering`] | which endpoint of a shared port a packet is for |
//! | [`drops`] | packets that the system dropped |
//! | [`addresses`] | where a server may be reached |
//! | [`race`] | attempts to reach it there, of which the first wins |
//! | [`trust`] | which server certificates to accept |
//! | [`congestion`] | limits of a thin flow |
//! | `handle` | which connection |
//! | `relay` | a bad network between other programs; with the feature `relay` |
//! | [`rejection`] | why a browser's session is not accepted |
//! | `resets` | how many connections of an endpoint before are reset |
//! | [`streams`] | bytes of streams |
//! | `prefetch` | values that are needed soon |
//! | `table` | connections by number, many to a piece of memory |
//! | [`web`] | WebTransport, for browsers; with the feature `web` |
//!
//! Acknowledgements are piggybacked on data: a connection sends when the application speaks, or after
//! some time ([`Endpoint::set_ack_wait`]). So a peer that answers each word at once costs one packet each way.

#![deny(unsafe_code)]

pub mod addresses;
pub mod congestion;
pub mod drops;
pub mod endpoint;
pub mod faults;
mod handle;
pub mod link;
mod prefetch;
pub mod race;
pub mod rejection;
#[cfg(feature = "relay")]
pub mod relay;
mod resets;
pub mod socket;
pub mod steering;
pub mod streams;
mod table;
pub mod trust;
#[cfg_attr(not(feature = "web"), path = "web/absent.rs")]
pub mod web;

pub use addresses::Addresses;
pub use congestion::{ThinFlowConfig, Turns};
pub use drops::Drops;
pub use endpoint::{Application, Endpoint, Event, Load, Open, Wait};
pub use faults::{Faults, Network};
pub use handle::Handle;
pub use link::{Congestion, DATAGRAM_BUFFER_BYTES, Link};
pub use prefetch::prefetch;
pub use quinn_proto as proto;
pub use rejection::Rejection;
pub use socket::{Packet, Socket};
pub use steering::Steering;
pub use streams::StreamEnd;
pub use web::WebOptions;
