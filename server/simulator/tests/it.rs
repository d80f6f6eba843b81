//! Simulations of tick hosts, gateways and clients.

mod seeds;
