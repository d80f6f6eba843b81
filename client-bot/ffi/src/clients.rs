//! The clients behind the numbers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use client_bot::{GameClient, View};

use crate::events::QueuedEvent;
use crate::failure::{Failure, MyriadStatus, run};

/// A client: a number that is never 0, and never that of another client.
pub type MyriadClient = u64;

/// A client, and events that the caller has not read yet.
pub(crate) struct Client {
    pub game: GameClient,
    pub events: VecDeque<QueuedEvent>,
    /// The texts that the caller's last event points to.
    pub current: Option<QueuedEvent>,
}

impl Client {
    /// The world as received from the server.
    pub fn view(&self) -> Result<&View, Failure> {
        self.game.view().ok_or(Failure::NotInWorld)
    }
}

/// All clients, by their number.
#[derive(Default)]
struct Clients {
    by_number: HashMap<MyriadClient, Arc<Mutex<Client>>>,
    last: MyriadClient,
}

static CLIENTS: LazyLock<Mutex<Clients>> = LazyLock::new(Mutex::default);

/// The table is whole after each of its changes, so a panic breaks nothing of it.
fn clients() -> MutexGuard<'static, Clients> {
    CLIENTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a client its number.
pub(crate) fn add(client: Client) -> MyriadClient {
    let mut clients = clients();
    clients.last += 1;
    let number = clients.last;
    let client = Arc::new(Mutex::new(client));
    clients.by_number.insert(number, client);
    number
}

/// Takes a client out. A call that is under way ends first.
pub(crate) fn remove(number: MyriadClient) -> Result<Client, Failure> {
    let removed = clients().by_number.remove(&number);
    let mut shared = removed.ok_or(Failure::UnknownClient(number))?;
    loop {
        match Arc::try_unwrap(shared) {
            Ok(client) => {
                let broken = |_| Failure::Defect("the client was broken before".to_owned());
                return client.into_inner().map_err(broken);
            }
            Err(used) => {
                drop(used.lock());
                std::thread::yield_now();
                shared = used;
            }
        }
    }
}

/// Runs the body of a function for one client. One that a panic left broken is removed.
pub(crate) fn with(
    number: MyriadClient,
    body: impl FnOnce(&mut Client) -> Result<(), Failure>,
) -> MyriadStatus {
    let status = run(|| {
        let client = clients().by_number.get(&number).cloned();
        let client = client.ok_or(Failure::UnknownClient(number))?;
        let broken = |_| Failure::Defect("the client was broken before".to_owned());
        let mut client = client.lock().map_err(broken)?;
        body(&mut client)
    });
    if status == MyriadStatus::Defect {
        clients().by_number.remove(&number);
    }
    status
}
