//! The other servers of a world: where its clients go that lose this one.

use std::sync::Arc;

use platform::renewal::Shared;
use serde::{Deserialize, Serialize};
use shared::ClientRow;
use shared::wire::control::{ADDRESS_BYTES_MAX, SERVERS_MAX};

/// Where clients reach a server of a world.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// As HOST:PORT; empty: nobody can know it.
    pub address: String,
    /// Its page for browsers; empty: none.
    pub page: String,
}

/// The other servers of a world, as they come and go.
pub type OtherServers = Shared<[ServerAddress]>;

/// The addresses of other servers of the world, for clients that lose this one: of the standby, or
/// of other gateways.
#[derive(Clone, Debug, Default)]
pub struct Others(Arc<[Arc<str>]>);

impl Others {
    /// Empty addresses, too long ones, and those that several servers have are left out.
    pub fn new(addresses: impl IntoIterator<Item = Arc<str>>) -> Others {
        let mut others: Vec<Arc<str>> = vec![];
        for address in addresses {
            let is_one = (1..=ADDRESS_BYTES_MAX).contains(&address.len());
            if is_one && !others.contains(&address) {
                others.push(address);
            }
        }
        Others(others.into())
    }

    /// The addresses for a client, in the order in which it tries them, at most [`SERVERS_MAX`]:
    /// clients of a server are spread over all.
    pub fn of(&self, client: ClientRow) -> impl Iterator<Item = &str> {
        let count = self.0.len();
        let first = client.0 as usize % count.max(1);
        let places = (0..count.min(SERVERS_MAX)).map(move |ahead| (first + ahead) % count);
        places.map(|place| &*self.0[place])
    }
}

impl PartialEq for Others {
    fn eq(&self, other: &Others) -> bool {
        // Mostly it is the same list.
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl Eq for Others {}
