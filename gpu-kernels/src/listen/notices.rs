//! The result of matching a tick: which client gets which notice.

use serde::{Deserialize, Serialize};
use shared::{ClientRow, CommandKind, EntityId};

/// A change or notification that a client subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// One of the tick's notifications, by its place in
    /// [`TickOutput::notifications`](crate::TickOutput::notifications).
    Notification(u32),
    /// A changed attribute. The entity may have died in this tick.
    Change {
        entity: EntityId,
        kind: u16,
        column: u16,
        /// Raw value, as in the world's rows.
        old: i32,
        new: i32,
        /// The first command that updated the attribute.
        command: Option<CommandKind>,
        /// The entity that gave it; [`EntityId::NONE`] if it is not known.
        by: EntityId,
    },
}

/// A notice for one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientNotice<'a> {
    pub notice: Notice,
    /// The client's own numbers of the subscriptions that the notice matches: ascending,
    /// at least one.
    pub subscriptions: &'a [u32],
}

/// The notices of all clients in one tick.
#[derive(Debug, Default)]
pub struct Notices {
    /// Each notice that any client gets: notifications, then changes by slot and column;
    /// behind them those of clients that are matched apart from all others, in the same order.
    notices: Vec<Notice>,
    /// Clients with notices, ascending, and where each client's begin in `rows`.
    clients: Vec<(u32, u32)>,
    /// For each client and notice: the notice's place, and where its subscriptions begin
    /// in `ids`.
    rows: Vec<(u32, u32)>,
    ids: Vec<u32>,
    /// Client, place of the notice, id of the subscription; in any order until
    /// [`Notices::finish`].
    matches: Vec<(u32, u32, u32)>,
    pub(super) matched: u64,
    pub(super) full: u64,
    pub(super) lost: Vec<(ClientRow, u32)>,
    /// Clients whose subscriptions had used up their share of the tick, ascending.
    pub(super) cut: Vec<u32>,
}

/// The notices of some clients, in the order of the tick.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SomeNotices {
    pub notices: Vec<Notice>,
    /// The client's row, the notice's place, and the client's own number of the subscription.
    pub matches: Vec<(u32, u32, u32)>,
    /// Subscriptions that ended, as [`Notices::lost`].
    pub lost: Vec<(ClientRow, u32)>,
    /// Clients as [`Notices::is_cut`], ascending.
    pub cut: Vec<u32>,
}

impl Notices {
    /// The notices of some clients by themselves; `None` if a match has no notice.
    pub fn of_some(some: SomeNotices) -> Option<Notices> {
        let SomeNotices {
            notices,
            matches,
            lost,
            mut cut,
        } = some;
        if matches.iter().any(|m| m.1 as usize >= notices.len()) {
            return None;
        }
        cut.sort_unstable();
        let mut all = Notices {
            notices,
            matches,
            lost,
            cut,
            ..Notices::default()
        };
        all.finish();
        Some(all)
    }

    /// Whether no client has a notice, is cut, or has lost a subscription.
    pub fn is_empty(&self) -> bool {
        self.clients.is_empty() && self.lost.is_empty() && self.cut.is_empty()
    }

    /// The notices of one client, in the order of the tick: notifications, then changes by
    /// slot and column.
    pub fn of(&self, client: ClientRow) -> impl Iterator<Item = ClientNotice<'_>> {
        let place = self
            .clients
            .binary_search_by_key(&client.0, |&(row, _)| row);
        let range = match place {
            Ok(place) => {
                let end = self
                    .clients
                    .get(place + 1)
                    .map_or(self.rows.len(), |c| c.1 as usize);
                self.clients[place].1 as usize..end
            }
            Err(_) => 0..0,
        };
        range.map(|i| {
            let (notice, first) = self.rows[i];
            let end = self
                .rows
                .get(i + 1)
                .map_or(self.ids.len(), |t| t.1 as usize);
            ClientNotice {
                notice: self.notices[notice as usize],
                subscriptions: &self.ids[first as usize..end],
            }
        })
    }

    /// Clients with notices, ascending.
    pub fn clients(&self) -> impl Iterator<Item = ClientRow> {
        self.clients.iter().map(|&(row, _)| ClientRow(row))
    }

    /// The number of notices of all clients together.
    pub fn total(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The number of changes and notifications that were matched, since a subscription
    /// might want them.
    pub fn matched(&self) -> u64 {
        self.matched
    }

    /// The number of clients that reached the limit of notices in one tick, or whose
    /// subscriptions used up their share of it. Any further notices for them were dropped.
    pub fn full(&self) -> u64 {
        self.full
    }

    /// Whether a client's subscriptions used up their share of the tick, so that there may be
    /// more notices for it.
    pub fn is_cut(&self, client: ClientRow) -> bool {
        self.cut.binary_search(&client.0).is_ok()
    }

    /// Subscriptions (client and its own number) that ended since the matcher's memory was
    /// too fragmented for them.
    pub fn lost(&self) -> &[(ClientRow, u32)] {
        &self.lost
    }

    pub(super) fn clear(&mut self) {
        self.notices.clear();
        self.clients.clear();
        self.rows.clear();
        self.ids.clear();
        self.matches.clear();
        self.matched = 0;
        self.full = 0;
        self.lost.clear();
        self.cut.clear();
    }

    /// The place that the next notice will have.
    pub(super) fn next_place(&self) -> u32 {
        self.notices.len() as u32
    }

    /// Adds a notice that a client gets.
    pub(super) fn push(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// Adds a match of a client's subscription with the notice at a place.
    pub(super) fn add_match(&mut self, client: ClientRow, notice: u32, id: u32) {
        self.matches.push((client.0, notice, id));
    }

    /// Sorts the matches, and lists the notices of each client.
    pub(super) fn finish(&mut self) {
        self.matches.sort_unstable();
        let mut last = None;
        for &(client, notice, id) in &self.matches {
            if last.is_none_or(|(row, _)| row != client) {
                self.clients.push((client, self.rows.len() as u32));
            }
            if last != Some((client, notice)) {
                self.rows.push((notice, self.ids.len() as u32));
            }
            self.ids.push(id);
            last = Some((client, notice));
        }
    }
}
