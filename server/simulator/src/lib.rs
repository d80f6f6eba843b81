//! A tick host, its gateways and their clients in one process and in simulated time, with faults:
//! lost, late and doubled datagrams, cut and stalled connections, pauses and deaths of any part,
//! and disks that lose what was not synced. All of it follows from a seed, so a run that fails can
//! be had again.
//!
//! What runs is what servers run: the tick loop, its journal and recovery, the places of gateways
//! and their loops, shards with sessions, and the client's own core. Only sockets, threads and the
//! time are simulated.
//!
//! | module | holds |
//! | --- | --- |
//! | [`plan`] | what happens in a simulation, from its seed |
//! | [`simulation`] | the order of events |
//! | [`checks`] | what must hold |
//! | [`tick_host`], [`gateway_process`], [`player`] | the parts |
//! | [`shards`] | the shards of both servers |
//! | [`characters`] | what accounts keep |
//! | [`disk`] | a disk that loses what is not synced |
//! | [`clock`], [`dice`] | time, and random numbers |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

pub mod characters;
pub mod checks;
pub mod clock;
pub mod dice;
pub mod disk;
pub mod gateway_process;
pub mod plan;
pub mod player;
pub mod shards;
pub mod simulation;
pub mod tick_host;

pub use simulation::{Failure, Outcome, run};
