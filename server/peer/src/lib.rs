//! Links between the servers of one world, over QUIC.
//!
//! | module | holds |
//! | --- | --- |
//! | [`trust`] | how two servers authenticate each other |
//! | [`arrivals`] | admission control for pending connections to a port |
//! | [`port`] | ports, and what serves their connections |
//! | [`connect`] | connections to such a port |
//! | [`frames`] | messages on a stream |
//! | [`background`] | threads of ports and connections |
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod background;
pub mod connect;
pub mod frames;
pub mod port;
pub mod trust;
