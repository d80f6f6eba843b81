//! The client rows: what each stands for, found by row and by session.

use std::collections::HashMap;

use frontend::inbox::SessionKey;
use shared::wire::control::Ticket;
use shared::{ClientRow, EntityId, Tick};

/// What a client row stands for. The ticket is the first that the client was given: it tells
/// the client from those that had the row before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Free,
    /// The client waits for its birth. Its session may be gone already.
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
    /// A session that came since the death: whether it resumed.
    Returned(SessionKey, bool),
    /// None, but the client may resume until a tick.
    Absent(Tick),
}

/// All rows. What a session's row is, and how many clients are in the world, costs no walk
/// over them.
pub struct Rows {
    rows: Vec<Row>,
    /// The row of each session that has one.
    of_sessions: HashMap<SessionKey, ClientRow>,
    live: usize,
    /// Rows that were set since the last [`Rows::take_changed`].
    changed: Vec<ClientRow>,
}

impl Row {
    /// The session that the row stands for.
    pub fn place(self) -> Option<SessionKey> {
        match self {
            Row::Joining(place, _) => place,
            Row::Live(place, ..)
            | Row::Fallen(Waiting::Player(place) | Waiting::Returned(place, _), _) => Some(place),
            Row::Free | Row::Lost(..) | Row::Fallen(Waiting::Absent(_), _) => None,
        }
    }

    /// Whether a client is in the world, or waits there for a rebirth.
    fn is_live(self) -> bool {
        !matches!(self, Row::Joining(..)) && self.place().is_some()
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

    /// Changes what a row of the table stands for.
    pub fn set(&mut self, client: ClientRow, row: Row) {
        let before = std::mem::replace(&mut self.rows[client.index()], row);
        if let Some(place) = before.place() {
            self.of_sessions.remove(&place);
        }
        if let Some(place) = row.place() {
            self.of_sessions.insert(place, client);
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

    /// The row that stands for a session; none if it has none, or has it no more.
    pub fn of_session(&self, place: SessionKey) -> Option<ClientRow> {
        self.of_sessions.get(&place).copied()
    }

    /// The number of clients in the world, including those that wait for a rebirth.
    pub fn live(&self) -> usize {
        self.live
    }

    pub fn iter(&self) -> impl Iterator<Item = Row> {
        self.rows.iter().copied()
    }
}
