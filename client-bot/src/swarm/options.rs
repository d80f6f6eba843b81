//! What swarm to run.

use std::net::SocketAddr;

use crate::behaviour::BehaviourKind;
use crate::connect::Trust;

/// What swarm to run, against which server.
#[derive(Clone, Debug)]
pub struct SwarmOptions {
    pub server: SocketAddr,
    /// The name in the server's certificate.
    pub name: String,
    pub trust: Trust,
    pub token: String,
    pub clients: usize,
    pub behaviour: BehaviourKind,
    /// Turns per second of each bot; `None`: the server's tick rate.
    pub rate_hz: Option<f64>,
    pub threads: usize,
    /// All bots of one socket land on one shard of the server.
    pub sockets: usize,
    pub seed: u64,
    /// The share of datagrams to lose on purpose each way, from 0 to 1.
    pub loss: f64,
    pub verify: bool,
}
