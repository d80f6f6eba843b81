//! Requests of the operator: answered at the beginning of a tick.

use std::sync::mpsc::{Receiver, Sender, channel};

use accounts::bans::Banned;
use accounts::identity::{Account, Identity};
use frontend::inbox::SessionKey;
use frontend::publication::ShardLinks;
use gpu_kernels::Frame;
use shared::{ClientRow, EntityId, Name, Text};

use super::characters::Characters;
use super::directory::Directory;
use super::talk::Talk;

/// A request of the operator, who may have gone away when it is answered.
pub enum OperatorRequest {
    /// Lists clients, in the order of their rows.
    List {
        filter: ClientFilter,
        done: Sender<Listing>,
    },
    /// Kicks clients, and answers how many.
    Kick {
        clients: Vec<ClientRef>,
        reason: String,
        /// They are banned, too.
        is_ban: bool,
        done: Sender<usize>,
    },
    /// Forgets the character of an account, whose client is kicked. Answers to how many; `None`:
    /// there was nothing to forget.
    Forget {
        account: Account,
        done: Sender<Option<usize>>,
    },
    /// Sends a text to one client, or to all, and answers to how many.
    Announce {
        to: Option<ClientRef>,
        text: Text,
        done: Sender<usize>,
    },
}

/// Identifies a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientRef {
    Account(Account),
    Name(Name),
    Row(ClientRow),
}

/// Some clients, or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientFilter {
    All,
    /// So many at most, from a row on.
    From {
        first: ClientRow,
        most: usize,
    },
    One(ClientRef),
}

/// Clients, and the channel on which their shards report on their connections.
pub struct Listing {
    pub clients: Vec<Listed>,
    pub links: Receiver<ShardLinks>,
    /// The number of answers to expect.
    pub shards: usize,
}

/// One client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub client: ClientRow,
    /// `None` while its connection is lost.
    pub session: Option<SessionKey>,
    pub account: Option<Account>,
    pub name: Option<Name>,
    /// `None` while it waits for one.
    pub entity: Option<EntityId>,
    /// How far it sees, in raw units.
    pub sight: i32,
    /// The point that a spectator watches.
    pub watches: Option<[i32; 3]>,
}

/// Executes the operator's requests. `inspect` asks the shards about all connections or some,
/// and gives the number of shards that will answer.
pub fn take(
    requests: &Receiver<OperatorRequest>,
    directory: &mut Directory,
    talk: &mut Talk,
    characters: Option<&mut Characters>,
    frame: &mut Frame,
    inspect: impl Fn(Option<&[SessionKey]>, &Sender<ShardLinks>) -> usize,
) {
    let mut characters = characters;
    for request in requests.try_iter().take(REQUESTS_PER_TICK_MAX) {
        // An operator that has gone away needs no answer.
        match request {
            OperatorRequest::List { filter, done } => {
                let (sender, links) = channel();
                let clients = list(directory, &filter);
                let sessions = clients.iter().filter_map(|client| client.session);
                let some = (filter != ClientFilter::All).then(|| sessions.collect::<Vec<_>>());
                let _ = done.send(Listing {
                    clients,
                    shards: inspect(some.as_deref(), &sender),
                    links,
                });
            }
            OperatorRequest::Kick {
                clients,
                reason,
                is_ban,
                done,
            } => {
                let mut kicked = 0;
                for client in &clients {
                    if let Some(client) = find(directory, client) {
                        directory.kick(client, &reason, is_ban, frame);
                        kicked += 1;
                    }
                }
                let _ = done.send(kicked);
            }
            OperatorRequest::Forget { account, done } => match &mut characters {
                Some(characters) => characters.forget(account, done),
                None => drop(done.send(None)),
            },
            OperatorRequest::Announce { to, text, done } => {
                let sent = match to.map(|client| find(directory, &client)) {
                    None => talk.announce(directory, None, text),
                    Some(Some(client)) => talk.announce(directory, Some(client), text),
                    Some(None) => 0,
                };
                let _ = done.send(sent);
            }
        }
    }
}

impl Listed {
    /// Whether a ban applies to it.
    pub fn is(&self, banned: &Banned, address: Option<std::net::IpAddr>) -> bool {
        let identity = Identity {
            account: self.account.clone(),
            name: None,
        };
        let nowhere = std::net::Ipv6Addr::UNSPECIFIED.into();
        banned.concerns(&identity, address.unwrap_or(nowhere))
    }
}

fn find(directory: &Directory, client: &ClientRef) -> Option<ClientRow> {
    let people = directory.people();
    let client = match client {
        ClientRef::Account(account) => people.of_account(account)?,
        ClientRef::Name(name) => people.of_name(name)?,
        ClientRef::Row(client) => *client,
    };
    directory.presence(client).map(|_| client)
}

fn list(directory: &Directory, filter: &ClientFilter) -> Vec<Listed> {
    let listed = |client| Listed {
        client,
        session: directory.session(client),
        account: directory.people().account(client).cloned(),
        name: directory.people().name(client).cloned(),
        entity: directory.presence(client).and_then(|p| p.entity),
        sight: directory.sight(client),
        watches: directory.watched(client),
    };
    match filter {
        ClientFilter::All => directory.rows().map(listed).collect(),
        ClientFilter::From { first, most } => {
            let rows = directory.rows().skip_while(|client| client < first);
            rows.take(*most).map(listed).collect()
        }
        ClientFilter::One(client) => find(directory, client).map(listed).into_iter().collect(),
    }
}

/// More wait for the next tick.
const REQUESTS_PER_TICK_MAX: usize = 64;
