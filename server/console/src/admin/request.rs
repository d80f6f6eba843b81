//! Requests of an operator, and answers: each a line of JSON.

use std::collections::BTreeMap;

use accounts::bans::{Ban, Banned};
use serde::{Deserialize, Serialize};

/// A request of an operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do")]
pub enum Request {
    List,
    Kick {
        whom: Client,
        #[serde(default)]
        reason: String,
    },
    /// Closes the connections that match, and refuses new ones.
    Ban {
        whom: Banned,
        seconds: u64,
        #[serde(default)]
        reason: String,
    },
    Unban {
        whom: Banned,
    },
    Bans,
    /// Forgets the character of an account, and closes its connection.
    Forget {
        account: String,
    },
    /// Without `whom`, to all.
    Tell {
        whom: Option<Client>,
        text: String,
    },
    Stats,
    /// To a standby: take over, even if it may lack something.
    Promote {
        #[serde(default)]
        is_forced: bool,
    },
}

/// A client, as an operator names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    Account(String),
    Name(String),
    /// The number in the list.
    Number(u32),
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    Clients(Vec<ListedClient>),
    Bans(Vec<Ban>),
    /// It is done, to so many clients.
    Done {
        clients: usize,
    },
    /// Figures of the server since its start, by name.
    Stats(BTreeMap<String, u64>),
    /// An error, as a sentence.
    Error(String),
}

/// A client in the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListedClient {
    pub number: u32,
    pub account: Option<String>,
    pub name: Option<String>,
    /// Slot and generation of its entity.
    pub entity: Option<[u32; 2]>,
    /// `None` while the connection is lost.
    pub link: Option<Link>,
    /// How far it sees, in the world's units.
    pub sight: f64,
    /// The point that a spectator watches, in the world's units.
    pub watches: Option<[f64; 3]>,
}

/// A client's connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    pub shard: usize,
    /// IP and port that packets come from now.
    pub address: String,
    pub round_trip_ms: f64,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Bytes of its stream that wait.
    pub bytes_unsent: usize,
    /// How many ticks ago it was up to date, by its acknowledgements.
    pub age_ticks: u32,
    /// Entities that it sees or is about to be sent, and those of these that were not sent yet,
    /// for want of room.
    pub in_view: u32,
    pub waiting: usize,
}
