//! Client rows for the journal, and their recovery after a restart.

use std::cmp::Reverse;

use accounts::identity::{Account, Identity};
use durability::annotations::Person;
use durability::roster::{Roster, RowState, SavedRow};
use frontend::inbox::Leave;
use frontend::inbox::SessionKey;
use gpu_kernels::{Frame, SlotState, Snapshot};
use shared::{ClientRow, Slot, Tick, WorldConfig};

use super::rows::{Row, Waiting};
use super::{Directory, Resting};

impl Directory {
    /// A row for the journal; `None` if it is free.
    pub fn saved(&self, client: ClientRow) -> Option<SavedRow> {
        let (first, state) = match self.rows.get(client) {
            Row::Free => return None,
            Row::Joining(key, first) => {
                let is_connected = key.is_some();
                (first, RowState::Joining { is_connected })
            }
            Row::Live(_, entity, first) => (first, RowState::Live(entity)),
            Row::Lost(entity, first, deadline) => (first, RowState::Lost { entity, deadline }),
            Row::Fallen(waiting, first) => {
                let deadline = match waiting {
                    Waiting::Player(_) | Waiting::Returned(..) => None,
                    Waiting::Absent(deadline) => Some(deadline),
                };
                (first, RowState::Fallen { deadline })
            }
        };
        Some(SavedRow {
            first,
            newest: self.tickets.newest(client),
            before: self.tickets.before(client),
            state,
            person: Person {
                account: self.people.account(client).cloned().map(String::from),
                name: self.people.name(client).cloned(),
            },
            sight: self.sights.saved(client),
        })
    }

    /// Restores the directory of a world that continues with the tick `next`. The last tick's
    /// births and deaths are still to be settled. The sessions are those of the previous server:
    /// [`Directory::lose_sessions`] ends them.
    pub fn restore(config: &WorldConfig, roster: &Roster, next: Tick) -> Directory {
        let mut directory = Directory::new(config);
        for (&client, saved) in &roster.clients {
            directory.restore_row(client, &saved.row, next);
        }
        directory.deadlines.make_contiguous().sort_unstable();
        let is_free =
            |&Reverse(client): &Reverse<u32>| !roster.clients.contains_key(&ClientRow(client));
        directory.free.retain(is_free);
        directory
    }

    fn restore_row(&mut self, client: ClientRow, saved: &SavedRow, next: Tick) {
        let (first, key) = (saved.first, gone(client));
        let row = match saved.state {
            RowState::Joining { is_connected } => Row::Joining(is_connected.then_some(key), first),
            RowState::Live(entity) => Row::Live(key, entity, first),
            RowState::Lost { entity, deadline } => Row::Lost(entity, first, deadline),
            RowState::Fallen { deadline: None } => Row::Fallen(Waiting::Player(key), first),
            RowState::Fallen {
                deadline: Some(deadline),
            } => Row::Fallen(Waiting::Absent(deadline), first),
        };
        if let Some(entity) = saved.entity() {
            self.players.insert(entity, client);
            self.processed.own(client, entity);
        }
        match row {
            Row::Lost(_, _, deadline) => self.deadlines.push_back((deadline, client)),
            Row::Fallen(waiting, _) => {
                if let Waiting::Absent(deadline) = waiting {
                    self.deadlines.push_back((deadline, client));
                }
                self.await_rebirth(client, row, next.after(self.respawn_ticks), None);
            }
            // The client left after its death.
            Row::Joining(None, _) => {
                self.await_rebirth(client, row, next.after(self.respawn_ticks), None);
            }
            Row::Live(..) | Row::Joining(Some(_), _) | Row::Free => {}
        }
        self.rows.set(client, row);
        if let Some(newest) = saved.newest {
            self.tickets.give(client, newest, saved.before);
        }
        self.sights.restore(client, &saved.sight);
        // Names were assigned by a server, so each still belongs to its client.
        let account = saved.person.account.clone().map(Account::new);
        let identity = Identity {
            account: account.and_then(Result::ok),
            name: saved.person.name.clone(),
        };
        self.people.restore(client, &identity);
    }

    /// Ends the sessions of the previous server: their clients may resume within the world's
    /// time for that. Slots whose entities died can be reused, since no client has them in
    /// view. The names of living players are queued.
    pub fn lose_sessions(&mut self, snapshot: &Snapshot, frame: &mut Frame) {
        self.events.clear();
        self.observers.clear();
        let (shard, count) = (GONE, self.rows.iter().count());
        for session in (0..).take(count) {
            let is_final = false;
            self.leave(shard, &Leave { session, is_final }, frame);
        }
        let name = |(&entity, &client)| Some((entity, self.people.name(client)?.clone()));
        self.named = self.players.iter().filter_map(name).collect();
        // The same clients are sent the same bytes, whatever the order of the map is.
        self.named.sort_unstable_by_key(|(entity, _)| *entity);
        self.reserve(snapshot);
        let leaves_sent = Some(snapshot.tick);
        let resting = (0..)
            .zip(&snapshot.states)
            .filter(|(_, state)| matches!(state, SlotState::Resting | SlotState::Fallen));
        self.resting = resting
            .map(|(slot, _)| Resting {
                slot: Slot(slot),
                leaves_sent,
            })
            .collect();
    }

    /// Reserves slots for pending rebirths: only the previous server had the slots of their
    /// entities.
    fn reserve(&mut self, snapshot: &Snapshot) {
        let is_reserved = |slot: &Slot| {
            let fallen = self.fallen.iter().map(|&(_, slot)| slot);
            let waiting = self.rebirths.iter().filter_map(|rebirth| rebirth.slot);
            fallen.chain(waiting).any(|own| own == *slot)
        };
        let states = (0..).map(Slot).zip(&snapshot.states);
        let resting = states.filter(|(_, state)| **state == SlotState::Resting);
        let free: Vec<Slot> = resting
            .map(|(slot, _)| slot)
            .filter(|s| !is_reserved(s))
            .collect();
        let waiting = self.rebirths.iter_mut().filter(|r| r.slot.is_none());
        for (rebirth, slot) in waiting.zip(free) {
            rebirth.slot = Some(slot);
        }
    }
}

/// The key of a session that ended with its server.
fn gone(client: ClientRow) -> SessionKey {
    (GONE, u64::from(client.0))
}

/// No shard has this number.
const GONE: usize = usize::MAX;
