//! What came of matching a tick: who is told of what.

use shared::{ClientRow, CommandKind, EntityId};

/// Something that a client subscribed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// One of the tick's notifications, by its place in
    /// [`TickOutput::notifications`](crate::TickOutput::notifications).
    Notification(u32),
    /// A changed attribute. The entity may have died in the tick.
    Change {
        entity: EntityId,
        kind: u16,
        column: u16,
        /// Raw, as in the world's rows.
        old: i32,
        new: i32,
        /// The first command that wanted it.
        command: Option<CommandKind>,
    },
}

/// One notice for one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    pub notice: Notice,
    /// The client's own numbers of the subscriptions that it satisfies: ascending, at
    /// least one.
    pub subscriptions: &'a [u32],
}

/// Who is told of what, because of its subscriptions, in one tick.
#[derive(Debug, Default)]
pub struct Notices {
    /// Those that anybody is told of: notifications, then changes by slot and column.
    notices: Vec<Notice>,
    /// Clients with notices, ascending, and where each one's begin in `told`.
    clients: Vec<(u32, u32)>,
    /// The notice's place, and where the ids of its subscriptions begin.
    told: Vec<(u32, u32)>,
    ids: Vec<u32>,
    /// Found, in any order: client, notice, subscription.
    found: Vec<(u32, u32, u32)>,
    pub(super) matched: u64,
    pub(super) full: u64,
    pub(super) lost: Vec<(ClientRow, u32)>,
}

impl Notices {
    /// One client's notices, in the order of the tick: what was notified of, then
    /// changes by slot and column.
    pub fn of(&self, client: ClientRow) -> impl Iterator<Item = Told<'_>> {
        let place = self
            .clients
            .binary_search_by_key(&client.0, |&(row, _)| row);
        let range = match place {
            Ok(place) => {
                let end = self
                    .clients
                    .get(place + 1)
                    .map_or(self.told.len(), |c| c.1 as usize);
                self.clients[place].1 as usize..end
            }
            Err(_) => 0..0,
        };
        range.map(|i| {
            let (notice, first) = self.told[i];
            let end = self
                .told
                .get(i + 1)
                .map_or(self.ids.len(), |t| t.1 as usize);
            Told {
                notice: self.notices[notice as usize],
                subscriptions: &self.ids[first as usize..end],
            }
        })
    }

    /// Clients with notices, ascending.
    pub fn clients(&self) -> impl Iterator<Item = ClientRow> {
        self.clients.iter().map(|&(row, _)| ClientRow(row))
    }

    /// Notices of all clients.
    pub fn total(&self) -> u64 {
        self.told.len() as u64
    }

    /// Changes and notifications that were matched, since a subscription might want
    /// them.
    pub fn matched(&self) -> u64 {
        self.matched
    }

    /// Clients that were told as much as they may be in one tick. What more they
    /// subscribed to is dropped.
    pub fn full(&self) -> u64 {
        self.full
    }

    /// Subscriptions that ended by themselves: the index's memory was too scattered
    /// for them.
    pub fn lost(&self) -> &[(ClientRow, u32)] {
        &self.lost
    }

    pub(super) fn clear(&mut self) {
        self.notices.clear();
        self.clients.clear();
        self.told.clear();
        self.ids.clear();
        self.found.clear();
        self.matched = 0;
        self.full = 0;
        self.lost.clear();
    }

    /// The place of the next notice.
    pub(super) fn next(&self) -> u32 {
        self.notices.len() as u32
    }

    /// Takes in something that somebody is told of.
    pub(super) fn push(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    pub(super) fn find(&mut self, client: ClientRow, notice: u32, id: u32) {
        self.found.push((client.0, notice, id));
    }

    /// Puts what was found into order.
    pub(super) fn finish(&mut self) {
        self.found.sort_unstable();
        let mut last = None;
        for &(client, notice, id) in &self.found {
            if last.is_none_or(|(row, _)| row != client) {
                self.clients.push((client, self.told.len() as u32));
            }
            if last != Some((client, notice)) {
                self.told.push((notice, self.ids.len() as u32));
            }
            self.ids.push(id);
            last = Some((client, notice));
        }
    }
}
