//! Received data compared with a game's state before: the events of [`Game::poll`](crate::Game).

use rustc_hash::FxHashMap;
use shared::{AttributeType, Course, EntityId, Schema, Slot, Tick};

use crate::event::{Change, DatagramSummary, Event, EventHandler, RefusedRun};
use crate::prediction::Prediction;
use crate::scene::Scene;
use crate::view::View;
use crate::{Message, Movement};

/// The entities that a game knows, across connections.
#[derive(Debug)]
pub(crate) struct Record {
    dimensions: usize,
    columns: usize,
    /// The columns of the low halves of numbers of 64 bits.
    lows: Vec<u16>,
    /// The kind of what the whole world shares.
    world_kind: Option<u16>,
    own: EntityId,
    /// By slot.
    known: FxHashMap<u32, Known>,
    /// The client's own entity has entered in this connection.
    is_in_world: bool,
    /// Entities that entered with the bytes that are being read.
    entered: Vec<u32>,
    pub events: Vec<Event>,
}

#[derive(Debug)]
struct Known {
    id: EntityId,
    row: Vec<i32>,
    /// Known from an earlier connection only.
    is_stale: bool,
}

/// Records all that a session receives.
pub(crate) struct Recorder<'a> {
    pub record: &'a mut Record,
    pub scene: &'a mut Scene,
    pub prediction: &'a mut Prediction,
    /// The forecast by which clients predict from now on.
    pub forecast: Option<Vec<u8>>,
}

impl Record {
    pub fn new(schema: &Schema, own: EntityId) -> Record {
        Record {
            dimensions: schema.dimensions(),
            columns: schema.attributes.len(),
            lows: (0..)
                .zip(&schema.attributes)
                .filter(|(_, attribute)| attribute.ty == AttributeType::I64)
                .map(|(column, _)| column)
                .collect(),
            world_kind: schema.world_kind,
            own,
            known: FxHashMap::default(),
            is_in_world: false,
            entered: vec![],
            events: vec![],
        }
    }

    /// Another connection begins: it sends all entities in view anew.
    pub fn resume(&mut self, own: EntityId) {
        self.own = own;
        self.is_in_world = false;
        self.known.values_mut().for_each(|k| k.is_stale = true);
    }

    /// The bytes are read. Entities that were known before, and are not in view of the first
    /// whole frame, are gone.
    pub fn settle(&mut self, view: &View, scene: &mut Scene) {
        for slot in self.entered.drain(..) {
            if let (Some(known), Some(entity)) = (self.known.get_mut(&slot), view.get(Slot(slot))) {
                // Movement that waited for the enter.
                known.row.clone_from(&entity.row);
                scene.go(slot, entity.course);
            }
        }
        if !self.is_in_world && view.own().is_some() {
            self.is_in_world = true;
            let tick = view.newest();
            let gone = self.known.extract_if(|_, known| known.is_stale);
            for (slot, known) in gone {
                scene.leave(slot);
                let entity = known.id;
                self.events.push(Event::Left { tick, entity });
            }
        }
    }

    fn enter(&mut self, tick: Tick, entity: EntityId, kind: u16, values: &[(u16, i32)]) {
        let mut row = vec![0; self.columns];
        for &(column, value) in values {
            row[usize::from(column)] = value;
        }
        self.entered.push(entity.slot.0);
        let known = Known {
            id: entity,
            row,
            is_stale: false,
        };
        let before = self.known.insert(entity.slot.0, known);
        match before {
            Some(before) if before.id == entity => {
                let changes = values.iter().map(|&(column, new)| Change {
                    column,
                    old: before.row[usize::from(column)],
                    new,
                });
                self.change(tick, entity, changes.collect());
            }
            before => {
                let gone = before.map(|before| before.id);
                let gone = gone.map(|entity| Event::Left { tick, entity });
                self.events.extend(gone);
                self.events.push(Event::Entered { tick, entity, kind });
            }
        }
    }

    /// What the whole world shares has arrived: it did not enter from anywhere.
    fn enter_world(&mut self, tick: Tick, world: EntityId, values: &[(u16, i32)]) {
        let known = self.known.entry(world.slot.0).or_insert_with(|| Known {
            id: world,
            row: vec![0; self.columns],
            is_stale: false,
        });
        known.is_stale = false;
        self.set(tick, world.slot.0, values.iter().copied());
    }

    fn change(&mut self, tick: Tick, entity: EntityId, mut changes: Vec<Change>) {
        changes.retain(|c| c.old != c.new && usize::from(c.column) >= self.dimensions);
        self.complete_halves(entity, &mut changes);
        if !changes.is_empty() {
            self.events.push(Event::Changed {
                tick,
                entity,
                changes,
            });
        }
    }

    /// Where half of a number changes, the other one stands beside it. The entity is as after the
    /// changes.
    fn complete_halves(&self, entity: EntityId, changes: &mut Vec<Change>) {
        let Some(known) = self.known.get(&entity.slot.0) else {
            return;
        };
        for &low in &self.lows {
            let place = |column: u16| changes.iter().position(|c| c.column == column);
            let (lacks, at) = match (place(low), place(low + 1)) {
                (Some(at), None) => (low + 1, at + 1),
                (None, Some(at)) => (low, at),
                (None, None) | (Some(_), Some(_)) => continue,
            };
            let same = known.row[usize::from(lacks)];
            let column = lacks;
            let (old, new) = (same, same);
            changes.insert(at, Change { column, old, new });
        }
    }

    fn set(&mut self, tick: Tick, slot: u32, values: impl Iterator<Item = (u16, i32)>) {
        let Some(known) = self.known.get_mut(&slot) else {
            return;
        };
        let mut changes = vec![];
        for (column, new) in values {
            let old = std::mem::replace(&mut known.row[usize::from(column)], new);
            changes.push(Change { column, old, new });
        }
        let entity = known.id;
        self.change(tick, entity, changes);
    }
}

impl EventHandler for Recorder<'_> {
    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        let tick = summary.tick;
        self.scene.take_in(tick, movement);
        for of_one in movement.extras.chunk_by(|a, b| a.0 == b.0) {
            let slot = movement.slots[of_one[0].0 as usize].0;
            // The datagram may be older than the view.
            if let Some(entity) = view.get(Slot(slot)) {
                let columns = of_one.iter().map(|&(_, column, _)| column);
                let values = columns.map(|column| (column, entity.row[usize::from(column)]));
                self.record.set(tick, slot, values);
            }
        }
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        let event = match message {
            Message::Enter {
                entity,
                kind,
                values,
                ..
            } if self.record.world_kind == Some(*kind) => {
                return self.record.enter_world(tick, *entity, values);
            }
            Message::Enter {
                entity,
                kind,
                values,
                velocity,
                ..
            } => {
                let mut course = Course {
                    tick,
                    velocity: *velocity,
                    ..Course::default()
                };
                let dimensions = self.record.dimensions;
                for &(column, value) in values {
                    if usize::from(column) < dimensions {
                        course.position[usize::from(column)] = value;
                    }
                }
                self.scene.enter(*entity, course);
                return self.record.enter(tick, *entity, *kind, values);
            }
            Message::Leave(slot) => {
                self.scene.leave(slot.0);
                let gone = self.record.known.remove(&slot.0);
                let Some(entity) = gone.map(|known| known.id) else {
                    return;
                };
                Event::Left { tick, entity }
            }
            Message::State { slot, values } => {
                if *slot == self.record.own.slot {
                    let columns = values.iter().map(|&(column, _)| column);
                    self.prediction.receive_columns(tick, columns);
                }
                return self.record.set(tick, slot.0, values.iter().copied());
            }
            Message::Reborn(entity) => {
                self.record.own = *entity;
                Event::Reborn(*entity)
            }
            Message::Answer(answer) => Event::Answered(answer.clone()),
            Message::Notice(notice) => Event::Notice {
                tick,
                notice: notice.clone(),
            },
            Message::Full => Event::NoticesFull(tick),
            // The view has them; the enter came before.
            Message::Name { .. } | Message::Ranking(_) => return,
            Message::Talk(talk) => Event::Talk {
                tick,
                talk: talk.clone(),
            },
            // See `refused`, and the session.
            Message::Refused { .. }
            | Message::Servers(_)
            | Message::Restart
            | Message::Layer { .. } => return,
            Message::Lost(id) => Event::SubscriptionLost(*id),
            Message::Interface(interface) => {
                self.forecast = Some(interface.forecast.clone());
                Event::InterfaceChanged
            }
        };
        self.record.events.push(event);
    }

    fn refused(&mut self, tick: Tick, commands: RefusedRun) {
        self.prediction.refuse(&commands);
        self.record.events.push(Event::Refused { tick, commands });
    }
}
