//! What the operator wants of the world: answered at the beginning of a tick.

use std::sync::mpsc::{Receiver, Sender, channel};

use accounts::bans::Banned;
use accounts::identity::{Account, Identity};
use frontend::inbox::SessionKey;
use frontend::publication::ShardLinks;
use gpu_kernels::Frame;
use shared::{ClientRow, EntityId, Name, Text};

use super::directory::Directory;
use super::talk::Talk;

/// One thing that the operator wants. Who asks may have gone away when it is answered.
pub enum Order {
    /// Lists clients, in the order of their rows.
    List { which: Which, done: Sender<Listing> },
    /// Throws clients out, and says how many.
    Kick {
        whom: Vec<Whom>,
        reason: String,
        /// They are banned, too.
        is_ban: bool,
        done: Sender<usize>,
    },
    /// Says something to one client, or to all, and says to how many.
    Tell {
        whom: Option<Whom>,
        text: Text,
        done: Sender<usize>,
    },
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    Account(Account),
    Name(Name),
    Row(ClientRow),
}

/// Some clients, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    All,
    /// So many at most, from a row on.
    From {
        first: ClientRow,
        most: usize,
    },
    One(Whom),
}

/// Clients, and where their shards will say how their connections are.
pub struct Listing {
    pub clients: Vec<Listed>,
    pub links: Receiver<ShardLinks>,
    /// So many answers come.
    pub shards: usize,
}

/// One client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub client: ClientRow,
    /// `None` while its connection is lost.
    pub place: Option<SessionKey>,
    pub account: Option<Account>,
    pub name: Option<Name>,
    /// `None` while it waits for one.
    pub entity: Option<EntityId>,
    /// How far it sees, in raw units.
    pub sight: i32,
    /// The point that a spectator watches.
    pub watches: Option<[i32; 3]>,
}

/// Does what the operator wants. `inspect` asks the shards for connections, for all or for
/// some, and says how many will answer.
pub fn take(
    orders: &Receiver<Order>,
    directory: &mut Directory,
    talk: &mut Talk,
    frame: &mut Frame,
    inspect: impl Fn(Option<&[SessionKey]>, &Sender<ShardLinks>) -> usize,
) {
    for order in orders.try_iter().take(ORDERS_PER_TICK_MAX) {
        // An operator that has gone away needs no answer.
        match order {
            Order::List { which, done } => {
                let (sender, links) = channel();
                let clients = list(directory, &which);
                let places = clients.iter().filter_map(|client| client.place);
                let some = (which != Which::All).then(|| places.collect::<Vec<_>>());
                let _ = done.send(Listing {
                    clients,
                    shards: inspect(some.as_deref(), &sender),
                    links,
                });
            }
            Order::Kick {
                whom,
                reason,
                is_ban,
                done,
            } => {
                let mut thrown_out = 0;
                for whom in whom {
                    if let Some(client) = find(directory, &whom) {
                        directory.kick(client, &reason, is_ban, frame);
                        thrown_out += 1;
                    }
                }
                let _ = done.send(thrown_out);
            }
            Order::Tell { whom, text, done } => {
                let told = match whom.map(|whom| find(directory, &whom)) {
                    None => talk.announce(directory, None, text, frame),
                    Some(Some(client)) => talk.announce(directory, Some(client), text, frame),
                    Some(None) => 0,
                };
                let _ = done.send(told);
            }
        }
    }
}

impl Listed {
    /// Whether a ban concerns it.
    pub fn is(&self, banned: &Banned, address: Option<std::net::IpAddr>) -> bool {
        let identity = Identity {
            account: self.account.clone(),
            name: None,
        };
        let nowhere = std::net::Ipv6Addr::UNSPECIFIED.into();
        banned.concerns(&identity, address.unwrap_or(nowhere))
    }
}

fn find(directory: &Directory, whom: &Whom) -> Option<ClientRow> {
    let people = directory.people();
    let client = match whom {
        Whom::Account(account) => people.of_account(account)?,
        Whom::Name(name) => people.of_name(name)?,
        Whom::Row(client) => *client,
    };
    directory.presence(client).map(|_| client)
}

fn list(directory: &Directory, which: &Which) -> Vec<Listed> {
    let listed = |client| Listed {
        client,
        place: directory.place(client),
        account: directory.people().account(client).cloned(),
        name: directory.people().name(client).cloned(),
        entity: directory.presence(client).and_then(|p| p.entity),
        sight: directory.sight(client),
        watches: directory.watched(client),
    };
    match which {
        Which::All => directory.rows().map(listed).collect(),
        Which::From { first, most } => {
            let rows = directory.rows().skip_while(|client| client < first);
            rows.take(*most).map(listed).collect()
        }
        Which::One(whom) => find(directory, whom).map(listed).into_iter().collect(),
    }
}

/// More wait for the next tick.
const ORDERS_PER_TICK_MAX: usize = 64;
