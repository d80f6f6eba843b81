//! Links between the servers of one world, over QUIC.
//!
//! | module | holds |
//! | --- | --- |
//! | [`trust`] | how two servers authenticate each other |
//! | [`arrivals`] | admission control for pending connections to a port |
//! | [`connect`] | connections to such a port |
//! | [`background`] | threads of ports and connections |
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod background;
pub mod connect;
pub mod trust;
