//! What swarm to run.

use std::net::SocketAddr;

use quic::Faults;
use shared::world::logic::Text;

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
    /// Of these, the last so many watch without an entity.
    pub spectators: usize,
    pub behaviour: BehaviourKind,
    /// A script that says what the bots do, instead of a behaviour.
    pub play: Option<Text>,
    /// Turns per second of each bot; `None`: the server's tick rate.
    pub rate_hz: Option<f64>,
    pub threads: usize,
    /// All bots of one socket land on one shard of the server.
    pub sockets: usize,
    pub seed: u64,
    /// What happens to packets on purpose, each way.
    pub faults: Faults,
    pub verify: bool,
}

impl SwarmOptions {
    /// Whether a bot watches without an entity.
    pub fn spectates(&self, bot: usize) -> bool {
        bot + self.spectators >= self.clients
    }

    /// What the bots do: the name of a behaviour or a script.
    pub fn behaviour_name(&self) -> &str {
        match &self.play {
            Some(text) => text.stem(),
            None => self.behaviour.name(),
        }
    }
}
