//! The client rows, found by row and by session.

use std::collections::HashMap;

use frontend::inbox::SessionKey;
use shared::wire::control::Ticket;
use shared::{ClientRow, EntityId, Tick};

/// The state of a client row. The ticket is the client's first one: it distinguishes the client
/// from those that had the row before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Free,
    /// The client waits for its birth. Its session may have ended already.
    Joining(Option<SessionKey>, Ticket),
    Live(SessionKey, EntityId, Ticket),
    /// The connection was lost; the entity lives on until a tick.
    Lost(EntityId, Ticket, Tick),
    /// The entity died; the row waits for another one.
    Fallen(Waiting, Ticket),
}

/// The client that waits for a rebirth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A session that was welcomed with the entity that died.
    Player(SessionKey),
    /// A session that joined since the death: whether it resumed.
    Returned(SessionKey, bool),
    /// None, but the client may resume until a tick.
    Absent(Tick),
}

/// All rows. The row of a session, and the number of clients in the world, are found in constant
/// time.
pub struct Rows {
    rows: Vec<Row>,
    /// The row of each session that has one.
    of_sessions: HashMap<SessionKey, ClientRow>,
    live: usize,
    /// Rows that were set since the last [`Rows::take_changed`].
    changed: Vec<ClientRow>,
}

impl Row {
    /// The session of the row.
    pub fn session(self) -> Option<SessionKey> {
        match self {
            Row::Joining(key, _) => key,
            Row::Live(key, ..)
            | Row::Fallen(Waiting::Player(key) | Waiting::Returned(key, _), _) => Some(key),
            Row::Free | Row::Lost(..) | Row::Fallen(Waiting::Absent(_), _) => None,
        }
    }

    /// Whether a client is in the world, or waits there for a rebirth.
    fn is_live(self) -> bool {
        !matches!(self, Row::Joining(..)) && self.session().is_some()
    }
}

impl Rows {
    /// All rows are free.
    pub fn new(count: u32) -> Rows {
        Rows {
            rows: vec![Row::Free; count as usize],
            of_sessions: HashMap::new(),
            live: 0,
            changed: vec![],
        }
    }

    /// Beyond the last row, all are free.
    pub fn get(&self, client: ClientRow) -> Row {
        self.rows.get(client.index()).copied().unwrap_or(Row::Free)
    }

    /// Sets the state of a row.
    pub fn set(&mut self, client: ClientRow, row: Row) {
        let before = std::mem::replace(&mut self.rows[client.index()], row);
        if let Some(key) = before.session() {
            self.of_sessions.remove(&key);
        }
        if let Some(key) = row.session() {
            self.of_sessions.insert(key, client);
        }
        self.live -= usize::from(before.is_live());
        self.live += usize::from(row.is_live());
        self.changed.push(client);
    }

    /// Something beside the row itself has changed.
    pub fn note_change(&mut self, client: ClientRow) {
        self.changed.push(client);
    }

    /// The rows that were set since the last call, some of them several times.
    pub fn take_changed(&mut self) -> Vec<ClientRow> {
        std::mem::take(&mut self.changed)
    }

    /// The row of a session; none if it has none, or not any more.
    pub fn of_session(&self, key: SessionKey) -> Option<ClientRow> {
        self.of_sessions.get(&key).copied()
    }

    /// The number of clients in the world, including those that wait for a rebirth.
    pub fn live(&self) -> usize {
        self.live
    }

    pub fn iter(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().copied()
    }
}
