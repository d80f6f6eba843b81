//! The changes and notifications that a subscription may want, as a batch.

use shared::predicate::WorldNames;
use shared::world::notification::NOTIFICATIONS_MAX;
use shared::{ClientRow, CommandKind, EntityId, Schema};

use super::Before;
use super::clients::Clients;
use super::notices::Notice;
use super::wanted::{Sort, Wanted};
use super::writer::{AttributeChange, Subject, Writer};
use crate::content::Batch;
use crate::tick::output::TickOutput;

/// The input of the next batch.
pub struct Candidates {
    pub wanted: Wanted,
    pub list: Vec<Candidate>,
    /// The list as named values, in the same order.
    pub batch: Batch,
    writer: Writer,
    /// By notification kind: its place in the schema.
    places: Vec<Option<usize>>,
    /// The entity that the writer describes, and its client. [`EntityId::NONE`] if it
    /// describes none; `None` before the first candidate of a tick.
    subject: Option<(EntityId, Option<ClientRow>)>,
    /// The subject's attributes after the tick.
    row: Vec<i32>,
    /// The tick's newborns with their kinds, and the places of their rows, ascending, once one is
    /// asked for.
    newborns: Option<Vec<(EntityId, u16, usize)>>,
}

/// A change or notification that may become a notice.
pub struct Candidate {
    /// Ascending in the order of the tick.
    pub number: u32,
    pub notice: Notice,
    pub sort: Sort,
    /// The only client that may get it, if it is private.
    pub only: Option<ClientRow>,
    /// Its place among the notices, once a client gets it.
    pub place: Option<u32>,
}

impl Candidates {
    pub fn new(schema: &Schema, names: &WorldNames) -> Candidates {
        let mut places = vec![None; NOTIFICATIONS_MAX];
        for (place, notification) in schema.notifications.iter().enumerate() {
            places[usize::from(notification.kind.id())] = Some(place);
        }
        Candidates {
            wanted: Wanted::new(schema, names),
            list: vec![],
            batch: Batch::new(),
            writer: Writer::new(schema, names),
            places,
            subject: None,
            row: vec![],
            newborns: None,
        }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Begins a tick.
    pub fn begin(&mut self) {
        self.clear();
        self.subject = None;
        self.newborns = None;
    }

    /// Removes all candidates.
    pub fn clear(&mut self) {
        self.list.clear();
        self.batch.clear_notifications();
    }

    /// Adds the tick's i-th notification, if a subscription may want it.
    pub fn add_notification(
        &mut self,
        clients: &Clients,
        output: &TickOutput,
        before: &impl Before,
        i: usize,
    ) {
        let notification = &output.notifications[i];
        let place = self.places.get(usize::from(notification.kind));
        let Some(place) = place.copied().flatten() else {
            return;
        };
        if !self.wanted.notification(place) {
            return;
        }
        let source = notification.source;
        let client = if source == EntityId::NONE {
            self.unset_subject()
        } else if before.id(source.slot) == source {
            self.set_subject(clients, output, before, source)
        } else {
            // It was born in this tick, and has fallen.
            self.set_newborn(clients, output, source)
        };
        let words = notification.words();
        self.writer
            .notification(&self.wanted, &mut self.batch, place, words, client);
        self.list.push(Candidate {
            number: i as u32,
            notice: Notice::Notification(i as u32),
            sort: Sort::Notification(place),
            only: None,
            place: None,
        });
    }

    /// Adds a change of a wanted column, if a client may get it. `(row, i)`: the i-th
    /// change of the changed entity at `row`.
    pub fn add_change(
        &mut self,
        clients: &Clients,
        output: &TickOutput,
        before: &impl Before,
        (row, i): (usize, usize),
    ) {
        let changes = &output.changes;
        let slot = shared::Slot(changes.slots[row]);
        let at = changes.offsets[row] as usize + i;
        let column = changes.columns[at];
        let entity = before.id(slot);
        let own = clients.client_of(entity);
        let is_private = self.writer.is_private(usize::from(column));
        // A private change can reach only the entity's client, if that has subscriptions.
        if is_private && own.is_none_or(|own| !clients.has_subscriptions(own)) {
            return;
        }
        let client = self.set_subject(clients, output, before, entity);
        let change = AttributeChange {
            column: usize::from(column),
            old: before.row(slot)[usize::from(column)],
            new: changes.values[at],
            command: changes.causes.get(at).copied(),
            by: match changes.actors.get(at) {
                // Commands only act for entities that lived before the tick.
                Some(&actor) if actor != EntityId::NONE.slot.0 => before.id(shared::Slot(actor)),
                _ => EntityId::NONE,
            },
        };
        self.writer
            .change(&self.wanted, &mut self.batch, &change, client);
        let kind = before.kind(slot);
        self.list.push(Candidate {
            number: (output.notifications.len() + at) as u32,
            sort: Sort::Change { kind, column },
            notice: Notice::Change {
                entity,
                kind,
                column,
                old: change.old,
                new: change.new,
                command: change.command.map(CommandKind),
                by: change.by,
            },
            only: own.filter(|_| is_private),
            place: None,
        });
    }

    /// Makes an entity the subject of the candidates that follow. Returns the client whose
    /// own entity it is.
    fn set_subject(
        &mut self,
        clients: &Clients,
        output: &TickOutput,
        before: &impl Before,
        entity: EntityId,
    ) -> Option<ClientRow> {
        if let Some((_, client)) = self.subject.filter(|&(subject, _)| subject == entity) {
            return client;
        }
        let client = clients.client_of(entity);
        self.row.clear();
        self.row.extend_from_slice(before.row(entity.slot));
        let changes = &output.changes;
        if let Ok(i) = changes.slots.binary_search(&entity.slot.0) {
            let range = changes.offsets[i] as usize..changes.offsets[i + 1] as usize;
            let values = &changes.values[range.clone()];
            for (&column, &value) in changes.columns[range].iter().zip(values) {
                self.row[usize::from(column)] = value;
            }
        }
        self.write_subject(entity, before.kind(entity.slot), client)
    }

    /// Makes an entity that was born in this tick the subject. It has not changed since.
    fn set_newborn(
        &mut self,
        clients: &Clients,
        output: &TickOutput,
        entity: EntityId,
    ) -> Option<ClientRow> {
        let newborns = self.newborns.get_or_insert_with(|| {
            let births = output.births.iter();
            let born = births.filter_map(|birth| Some((birth.entity?, birth.kind)));
            let numbered = born
                .enumerate()
                .map(|(i, (entity, kind))| (entity, kind, i));
            let mut newborns: Vec<_> = numbered.collect();
            newborns.sort_unstable();
            newborns
        });
        let Ok(found) = newborns.binary_search_by_key(&entity, |&(entity, ..)| entity) else {
            return self.unset_subject();
        };
        let (_, kind, place) = newborns[found];
        let columns = output.birth_rows.len() / newborns.len();
        self.row.clear();
        let row = &output.birth_rows[place * columns..][..columns];
        self.row.extend_from_slice(row);
        self.write_subject(entity, kind, clients.client_of(entity))
    }

    /// Has the writer describe an entity with the values of `row`.
    fn write_subject(
        &mut self,
        entity: EntityId,
        kind: u16,
        client: Option<ClientRow>,
    ) -> Option<ClientRow> {
        let subject = Subject {
            entity,
            kind,
            row: &self.row,
            client,
        };
        self.writer
            .set_subject(&self.wanted, &mut self.batch, Some(&subject));
        self.subject = Some((entity, client));
        client
    }

    /// The candidates that follow have no known subject, so no client either.
    fn unset_subject(&mut self) -> Option<ClientRow> {
        self.writer.set_subject(&self.wanted, &mut self.batch, None);
        self.subject = Some((EntityId::NONE, None));
        None
    }
}
