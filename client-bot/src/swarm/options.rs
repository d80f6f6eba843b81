//! The options of a swarm.

use std::net::SocketAddr;
use std::num::NonZeroUsize;

use quic::Network;
use shared::world::logic::Text;
use shared::world::visibility::Visibility;
use tokens::SigningKeys;

use crate::behaviour::BehaviourKind;
use crate::connect::Trust;

/// The options of a swarm, and its server.
#[derive(Clone, Debug)]
pub struct SwarmOptions {
    pub server: SocketAddr,
    /// The name in the server's certificate.
    pub name: String,
    pub trust: Trust,
    pub token: String,
    /// Where the server has accounts: its keys, which sign a token for an account of each bot.
    pub accounts: Option<SigningKeys>,
    /// The number of the first bot's account: other machines have those before.
    pub first: usize,
    /// The most bots at a time.
    pub clients: usize,
    /// So many of them join at first: see [`Swarm::set_target`](super::Swarm::set_target).
    pub target: usize,
    /// Of these, the last so many watch without an entity.
    pub spectators: usize,
    pub behaviour: BehaviourKind,
    /// A script for the bots, instead of a behaviour.
    pub play: Option<Text>,
    /// Turns per second of each bot; `None`: the server's tick rate.
    pub rate_hz: Option<f64>,
    pub threads: usize,
    /// All bots of one socket land on one shard of the server.
    pub sockets: usize,
    pub seed: u64,
    /// Faults of the simulated network. Bots of one socket share it.
    pub network: Network,
    pub verify: bool,
    /// What the world hides: servers don't say it, as clients need not know.
    pub visibility: Visibility,
    /// Bots whose connection is lost come back also where they are verified: then what they receive
    /// is verified anew from there on.
    pub come_back: bool,
    /// One bot of so many keeps a view of all that it receives, and is verified. The others
    /// know only their own entities, and cost less.
    pub view_every: NonZeroUsize,
}

impl SwarmOptions {
    /// Bots that wander on one thread and are not verified, for a server with a certificate for
    /// `localhost` that requires no token.
    pub fn new(server: SocketAddr, trust: Trust, clients: usize) -> SwarmOptions {
        SwarmOptions {
            server,
            name: "localhost".to_owned(),
            trust,
            token: String::new(),
            accounts: None,
            first: 0,
            clients,
            target: clients,
            spectators: 0,
            behaviour: BehaviourKind::Wander,
            play: None,
            rate_hz: None,
            threads: 1,
            sockets: NEIGHBOURS,
            seed: 1,
            network: Network::default(),
            verify: false,
            visibility: Visibility::default(),
            come_back: false,
            view_every: NonZeroUsize::MIN,
        }
    }

    /// How many sockets spread so many bots evenly over the shards of a server. All packets of a
    /// socket go to one shard, which the system picks at random.
    pub fn sockets_for(clients: usize, shards: usize) -> usize {
        let (least, most) = SOCKETS_PER_SHARD;
        (clients / NEIGHBOURS).clamp(shards * least, shards * most)
    }

    /// The token that a bot shows.
    pub fn token_of(&self, bot: usize) -> String {
        match &self.accounts {
            Some(keys) => keys.of_bot(self.first + bot),
            None => self.token.clone(),
        }
    }

    /// Whether a bot watches without an entity.
    pub fn spectates(&self, bot: usize) -> bool {
        bot + self.spectators >= self.clients
    }

    /// Whether a bot keeps a view of all that it receives.
    pub fn has_view(&self, bot: usize) -> bool {
        bot.is_multiple_of(self.view_every.get())
    }

    /// An error names the mistake in the options.
    pub fn check(&self) -> Result<(), String> {
        let looks_around = self.play.is_some() || self.behaviour.looks_around();
        match self.view_every.get() > 1 && looks_around {
            true => Err(format!(
                "the bots of {} look at others: expected a view for each of them",
                self.behaviour_name()
            )),
            false => Ok(()),
        }
    }

    /// Behaviour of the bots: the name of a behaviour or a script.
    pub fn behaviour_name(&self) -> &str {
        match &self.play {
            Some(text) => text.stem(),
            None => self.behaviour.name(),
        }
    }
}

/// So many bots, one after the other, share a socket: a server sends to them at about the same
/// time, so their packets travel in batches.
pub const NEIGHBOURS: usize = 16;
/// With 64 sockets a shard, the fullest of eight has a sixth more than its share; with 512, a
/// twentieth.
const SOCKETS_PER_SHARD: (usize, usize) = (64, 512);
