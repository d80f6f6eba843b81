//! Received data compared with a game's state before: the events of [`Game::poll`](crate::Game).

use rustc_hash::FxHashMap;
use shared::world::columns::Columns;
use shared::world::words::TextHandle;
use shared::{AttributeType, Course, EntityId, Schema, Slot, Tick};

use crate::event::{Change, DatagramSummary, Event, EventHandler, RefusedRun, complete_halves};
use crate::member_record::MemberRecord;
use crate::prediction::Prediction;
use crate::scene::Scene;
use crate::view::View;
use crate::{Message, Movement, Notice};

/// The entities that a game knows, across connections.
#[derive(Debug)]
pub(crate) struct Record {
    dimensions: usize,
    columns: usize,
    /// The columns of the low halves of numbers of 64 bits.
    lows: Vec<u16>,
    /// The kind of what the whole world shares.
    world_kind: Option<u16>,
    /// By kind: whether its entities are things, which are nowhere.
    things: Vec<bool>,
    own: EntityId,
    /// By slot.
    known: FxHashMap<u32, Known>,
    members: MemberRecord,
    /// The client's own entity has entered in this connection.
    is_in_world: bool,
    /// The columns of texts.
    text_columns: Columns,
    /// Changes to texts that have not been received yet.
    unread: Vec<Unread>,
    /// Notices with such texts.
    unread_notices: Vec<(Tick, Notice)>,
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

/// A text that an entity has, from when it was sent until its text is.
#[derive(Debug)]
struct Unread {
    tick: Tick,
    entity: EntityId,
    column: u16,
    old: i32,
    /// Whether the entity had it as it entered, which is no change if it is known by then.
    is_entering: bool,
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
            things: (0..)
                .zip(&schema.kinds)
                .map(|(kind, _)| schema.is_thing(kind))
                .collect(),
            own,
            text_columns: schema.text_columns().collect(),
            unread: vec![],
            unread_notices: vec![],
            known: FxHashMap::default(),
            members: MemberRecord::default(),
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
        self.members.resume();
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
        self.show_texts(view);
        if !self.is_in_world && view.own().is_some() {
            self.is_in_world = true;
            let tick = view.newest();
            let gone = self.known.extract_if(|_, known| known.is_stale);
            for (slot, known) in gone {
                scene.leave(slot);
                let entity = known.id;
                self.events.push(Event::Left { tick, entity });
            }
            self.members.settle(tick, &mut self.events);
        }
    }

    /// Reports texts, and what has some, once they have been received.
    fn show_texts(&mut self, view: &View) {
        if self.text_columns.is_empty() {
            return;
        }
        let mut unread = std::mem::take(&mut self.unread);
        unread.retain_mut(|one| {
            let known = self.known.get(&one.entity.slot.0);
            let known = known.filter(|known| known.id == one.entity);
            let Some(new) = known.map(|known| known.row[usize::from(one.column)]) else {
                return false;
            };
            let is_there = view.texts.is_settled(TextHandle(new));
            if is_there && !one.is_entering && new != one.old {
                let (column, old) = (one.column, one.old);
                self.events.push(Event::Changed {
                    tick: one.tick,
                    entity: one.entity,
                    changes: vec![Change { column, old, new }],
                });
            }
            one.is_entering = false;
            !is_there
        });
        self.unread = unread;
        let is_settled = |notice: &Notice| {
            let mut handles = view.text_handles(&notice.body).into_iter();
            handles.all(|handle| view.texts.is_settled(handle))
        };
        // Those that have come in order, and wait for one of their texts.
        let waiting = self.events.extract_if(.., |event| match event {
            Event::Notice { notice, .. } => !is_settled(notice),
            _ => false,
        });
        let mut waiting: Vec<(Tick, Notice)> = waiting
            .filter_map(|event| match event {
                Event::Notice { tick, notice } => Some((tick, notice)),
                _ => None,
            })
            .collect();
        for (tick, notice) in std::mem::take(&mut self.unread_notices) {
            match is_settled(&notice) {
                true => self.events.push(Event::Notice { tick, notice }),
                false => self.unread_notices.push((tick, notice)),
            }
        }
        self.unread_notices.append(&mut waiting);
        let beyond = self.unread_notices.len().saturating_sub(UNREAD_MAX);
        let given_up = self.unread_notices.drain(..beyond);
        let given_up = given_up.map(|(tick, notice)| Event::Notice { tick, notice });
        self.events.extend(given_up);
    }

    /// Notes that an entity has other texts, among these values.
    fn note_texts(&mut self, tick: Tick, entity: EntityId, changes: &[Change], is_entering: bool) {
        let texts = changes.iter().filter(|change| {
            let is_text = self.text_columns.has(usize::from(change.column));
            is_text && change.old != change.new
        });
        for change in texts {
            let column = change.column;
            let is_same = |one: &Unread| (one.entity, one.column) == (entity, column);
            // One that was never shown was never the old one.
            if !self.unread.iter().any(is_same) {
                self.unread.push(Unread {
                    tick,
                    entity,
                    column,
                    old: change.old,
                    is_entering,
                });
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
                let texts = values.iter().map(|&(column, new)| Change {
                    column,
                    old: 0,
                    new,
                });
                let texts: Vec<Change> = texts.collect();
                self.note_texts(tick, entity, &texts, true);
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
        self.note_texts(tick, entity, &changes, false);
        changes.retain(|c| !self.text_columns.has(usize::from(c.column)));
        let known = self.known.get(&entity.slot.0);
        let value = |column: u16| known.map(|known| known.row[usize::from(column)]);
        complete_halves(&self.lows, value, &mut changes);
        if !changes.is_empty() {
            self.events.push(Event::Changed {
                tick,
                entity,
                changes,
            });
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
        self.scene.apply(tick, movement);
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
                match self.record.things.get(usize::from(*kind)) {
                    Some(true) => self.scene.leave(entity.slot.0),
                    _ => self.scene.enter(*entity, course),
                }
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
            Message::Name { .. } | Message::Ranking(_) | Message::Texts { .. } => return,
            Message::Members(message) => {
                let Record {
                    members,
                    lows,
                    events,
                    ..
                } = &mut *self.record;
                return members.take(tick, message, lows, events);
            }
            Message::Edits(edits) => Event::CellsChanged {
                tick,
                edits: edits.clone(),
            },
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

/// The most notices that wait for their texts.
const UNREAD_MAX: usize = 256;
