//! The world as one client received it.
//!
//! Once nothing changes any more and the network delivers, a view equals what the server
//! holds for its client: enters and leaves are reliable and in order, and movement is sent
//! again until it is acknowledged.

mod members;

use rustc_hash::FxHashMap;
use shared::wire::length;
use shared::wire::movement::BASE_TICKS_MAX;
use shared::world::config::VISIBLE_MAX;
use shared::world::door::closed_cells;
use shared::world::edit::Edit;
use shared::world::layer::Layers;
use shared::world::words::TextHandle;
use shared::{AttributeType, Audience, Course, EntityId, EntityRef, Name, Schema, Slot, Tick};

use crate::texts::Texts;
use crate::{Message, Movement, NoticeBody, Ranking, RankingInfo};

pub use members::Member;
use members::Members;

/// A client's view.
pub struct View {
    schema: Schema,
    /// The largest coordinates.
    edges: [i32; 3],
    entity: EntityId,
    is_dead: bool,
    /// Others are not kept.
    is_own_only: bool,
    entities: FxHashMap<u32, Entity>,
    /// By slot.
    things: FxHashMap<u32, Entity>,
    members: Members,
    /// What the whole world shares.
    world: Option<Entity>,
    /// By slot: names of the players of entities in view.
    names: FxHashMap<u32, Name>,
    /// Movement of entities that have not entered yet, by slot.
    early: FxHashMap<u32, EarlyMovement>,
    newest: Tick,
    /// The newest frame that was read: all in view by then have entered.
    read: Tick,
    processed: u32,
    has_continued: bool,
    kept: Option<Tick>,
    pub(crate) texts: Texts,
    /// In the order of the welcome.
    rankings: Vec<Ranking>,
    counts: ViewCounts,
    /// Whether entities that block cells may block others than before.
    have_doors_changed: bool,
}

/// An entity in view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// Its slot, and how often that was used.
    pub id: EntityId,
    /// An index into the schema's kinds.
    pub kind: u16,
    /// One value per column of the schema; 0 where this client may not know it. The position
    /// is that of the view's newest tick: see [`View::position`] for others.
    pub row: Vec<i32>,
    /// The tick in which it came into view.
    pub entered: Tick,
    /// The newest course.
    pub course: Course,
    /// Earlier courses, oldest first, as far as differences may build on them.
    past: Vec<Course>,
}

/// The amount of received data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewCounts {
    /// Datagrams with movement.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Bytes of the reliable stream.
    pub stream_bytes: u64,
    /// Movements in datagrams, one per entity and datagram.
    pub movements: u64,
    /// Entities and things that came into view.
    pub enters: u64,
    /// Entities and things that left it.
    pub leaves: u64,
    /// Changes of lasting attributes, one per entity and tick.
    pub states: u64,
    /// Events that came once, beside the view.
    pub notices: u64,
    /// Ticks in which notices may have been left out.
    pub full: u64,
}

impl ViewCounts {
    /// The difference since `before`.
    pub fn since(&self, before: &ViewCounts) -> ViewCounts {
        ViewCounts {
            datagrams: self.datagrams - before.datagrams,
            datagram_bytes: self.datagram_bytes - before.datagram_bytes,
            stream_bytes: self.stream_bytes - before.stream_bytes,
            movements: self.movements - before.movements,
            enters: self.enters - before.enters,
            leaves: self.leaves - before.leaves,
            states: self.states - before.states,
            notices: self.notices - before.notices,
            full: self.full - before.full,
        }
    }

    /// Movements, enters, leaves and changes of lasting attributes.
    pub fn updates(&self) -> u64 {
        self.movements + self.enters + self.leaves + self.states
    }

    /// Bytes of datagrams and of the stream.
    pub fn payload_bytes(&self) -> u64 {
        self.datagram_bytes + self.stream_bytes
    }
}

/// Movement that arrived before its entity's enter.
struct EarlyMovement {
    /// Ascending by tick: differences may build on any of them.
    courses: Vec<Course>,
    /// Of the newest one.
    extras: Vec<(u16, i32)>,
}

impl EarlyMovement {
    fn newest(&self) -> Option<Tick> {
        self.courses.last().map(|course| course.tick)
    }
}

impl View {
    /// The empty view of a client that was welcomed in this tick. The schema is a checked
    /// one.
    pub(crate) fn new(
        schema: Schema,
        entity: EntityId,
        welcomed: Tick,
        processed: Option<u32>,
    ) -> View {
        View {
            edges: schema.world.edges(),
            schema,
            entity,
            is_dead: false,
            is_own_only: false,
            entities: FxHashMap::default(),
            things: FxHashMap::default(),
            members: Members::default(),
            world: None,
            names: FxHashMap::default(),
            early: FxHashMap::default(),
            newest: welcomed,
            read: welcomed,
            processed: processed.unwrap_or(0),
            has_continued: processed.is_some(),
            kept: None,
            texts: Texts::default(),
            rankings: vec![],
            counts: ViewCounts::default(),
            have_doors_changed: false,
        }
    }

    /// Commands and notifications have changed; the rest of the schema is as before.
    pub(crate) fn set_schema(&mut self, schema: Schema) {
        self.schema = schema;
    }

    /// The world's layers have come.
    pub(crate) fn set_layers(&mut self, layers: Layers) {
        self.schema.layers = layers;
        self.have_doors_changed = !self.schema.doors.is_empty();
        self.close_doors();
    }

    /// Cells of layers have changed.
    fn edit(&mut self, edits: &[Edit]) {
        for edit in edits {
            self.schema.layers.edit(edit);
        }
        self.have_doors_changed |= !self.schema.doors.is_empty();
    }

    fn note_door(&mut self, kind: u16) {
        self.have_doors_changed |= self.schema.doors.iter().any(|door| door.kind == kind);
    }

    /// Lets the layers have the cells that entities in view block.
    pub(crate) fn close_doors(&mut self) {
        if std::mem::take(&mut self.have_doors_changed) {
            let entities = self.entities.values();
            let rows = entities.map(|entity| (entity.kind, &entity.row[..]));
            let cells = closed_cells(&self.schema.doors, &self.schema.layers, rows);
            self.schema.layers.close(cells);
        }
    }

    /// The rankings that clients may ask for.
    pub(crate) fn set_rankings(&mut self, infos: &[RankingInfo]) {
        self.rankings = infos.iter().map(Ranking::new).collect();
    }

    /// The rankings of the world that clients may ask for. Those that this client has not
    /// [asked](crate::Game::ask_ranking) for are empty.
    pub fn rankings(&self) -> &[Ranking] {
        &self.rankings
    }

    /// The ranking of this name; `None` if the world has none for clients.
    pub fn ranking(&self, name: &str) -> Option<&Ranking> {
        self.rankings.iter().find(|own| own.info.name == name)
    }

    /// What the world is made of.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The identity of the client's own entity. It changes when the entity is born again
    /// after its death.
    pub fn entity(&self) -> EntityId {
        self.entity
    }

    /// The name of the player of an entity in view; `None` for entities without a
    /// player, and for players without a name.
    pub fn name(&self, entity: EntityId) -> Option<&Name> {
        let seen = self.entities.get(&entity.slot.0)?;
        self.names.get(&entity.slot.0).filter(|_| seen.id == entity)
    }

    /// The client's own entity, from its enter to its death.
    pub fn own(&self) -> Option<&Entity> {
        self.entities
            .get(&self.entity.slot.0)
            .filter(|e| e.id == self.entity)
    }

    /// Whether the client's own entity has died and is not born again yet.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    /// From now on this holds the client's own entity, and no others.
    pub(crate) fn keep_only_own(&mut self) {
        self.is_own_only = true;
        let own = self.entity.slot.0;
        self.entities.retain(|&slot, _| slot == own);
        self.names.retain(|&slot, _| slot == own);
        self.early.retain(|&slot, _| slot == own);
        self.things.clear();
        self.have_doors_changed = !self.schema.doors.is_empty();
    }

    fn keeps(&self, slot: Slot) -> bool {
        !self.is_own_only || slot == self.entity.slot || self.things.contains_key(&slot.0)
    }

    /// Whether a message is about something that this holds.
    pub(crate) fn keeps_of(&self, message: &Message) -> bool {
        match message {
            Message::Enter { own, .. } => !self.is_own_only || *own,
            Message::State { slot, .. } => self.keeps(*slot),
            _ => true,
        }
    }

    /// What the whole world shares: an entity that is nowhere, whose attributes every client sees.
    /// `None` in worlds that share nothing.
    pub fn world(&self) -> Option<&Entity> {
        self.world.as_ref()
    }

    /// An entity in view, a thing, or what the whole world shares.
    pub fn get(&self, slot: Slot) -> Option<&Entity> {
        let world = self.world.as_ref().filter(|world| world.id.slot == slot);
        let placed = || self.entities.get(&slot.0);
        world.or_else(placed).or_else(|| self.things.get(&slot.0))
    }

    /// The things that the client sees, by slot: what its own entity holds, what the one holds that
    /// it has opened, and what others hold for all to see; also in other things. They have no place.
    pub fn things(&self) -> &FxHashMap<u32, Entity> {
        &self.things
    }

    /// The things among them that an entity, or a thing, holds itself, by ascending slot.
    pub fn held_by(&self, holder: EntityId) -> impl Iterator<Item = &Entity> {
        let column = self.schema.holder_column();
        let reference = Some(holder.reference().0);
        let is_held = |thing: &&Entity| {
            column.is_some_and(|column| thing.row.get(column).copied() == reference)
        };
        let mut held: Vec<&Entity> = self.things.values().filter(is_held).collect();
        held.sort_unstable_by_key(|thing| thing.id.slot);
        held.into_iter()
    }

    /// Whether this is the client's own entity, or a thing that this holds, also in other things: then
    /// the client has its private attributes, too.
    pub fn is_own(&self, entity: &Entity) -> bool {
        let column = self.schema.holder_column();
        let mut one = entity;
        while one.id != self.entity {
            let reference = column.and_then(|column| one.row.get(column).copied());
            let Some(reference) = reference.filter(|_| self.schema.is_thing(one.kind)) else {
                return false;
            };
            let holder = self.get(EntityRef(reference).slot());
            let holder = holder.filter(|holder| {
                let is_it = holder.id.reference().0 == reference;
                is_it && self.schema.can_hold(holder.kind, one.kind)
            });
            let Some(holder) = holder else { return false };
            one = holder;
        }
        true
    }

    /// The entities in view by slot, the client's own one included. Things are
    /// [apart](View::things).
    pub fn entities(&self) -> &FxHashMap<u32, Entity> {
        &self.entities
    }

    /// Where an entity is in a tick, on its newest course. In
    /// raw units; 0 on axes that the world lacks. A tick before the course began is that tick.
    pub fn position(&self, entity: &Entity, tick: Tick) -> [i32; 3] {
        entity.course.at(tick, &self.edges)
    }

    /// The newest tick of any datagram or frame.
    pub fn newest(&self) -> Tick {
        self.newest
    }

    /// Whether the numbers of commands go on from a session before. Those that were not processed
    /// are sent again.
    pub fn has_continued(&self) -> bool {
        self.has_continued
    }

    /// The sequence number of the last command that the world has processed, or refused.
    pub fn processed(&self) -> u32 {
        self.processed
    }

    /// The newest tick that is known to be kept: all that was sent of it, and of ticks before it,
    /// outlives the server. `None` in a world that is not persistent.
    pub fn kept(&self) -> Option<Tick> {
        self.kept
    }

    pub(crate) fn note_kept(&mut self, kept: Option<Tick>) {
        self.kept = self.kept.max(kept);
    }

    /// The text of an attribute or of a notification's field, by its word; `None` if it has not been
    /// received yet, or the world has it no more.
    pub fn text(&self, handle: TextHandle) -> Option<&str> {
        self.texts.get(handle)
    }

    /// The text of an entity's attribute, in the same way; `None` also for attributes that are no
    /// texts.
    pub fn text_of(&self, entity: &Entity, column: usize) -> Option<&str> {
        let attribute = self.schema.attributes.get(column)?;
        let is_text = attribute.ty == AttributeType::Text;
        let word = entity.row.get(column).filter(|_| is_text)?;
        self.text(TextHandle(*word))
    }

    /// The texts of a notice.
    pub(crate) fn text_handles(&self, notice: &NoticeBody) -> Vec<TextHandle> {
        match notice {
            NoticeBody::Notification { kind, words, .. } => {
                let form = self.schema.notification(*kind);
                let fields = form.map_or(&[][..], |form| &form.fields).iter();
                let texts = fields
                    .zip(words)
                    .filter(|(field, _)| field.ty == AttributeType::Text);
                texts.map(|(_, &word)| TextHandle(word)).collect()
            }
            NoticeBody::Change {
                column, old, new, ..
            } => {
                let attribute = self.schema.attributes.get(usize::from(*column));
                match attribute.is_some_and(|of| of.ty == AttributeType::Text) {
                    true => vec![TextHandle(*old), TextHandle(*new)],
                    false => vec![],
                }
            }
        }
    }

    /// Whether an entity in view has a text, or a member of a group.
    pub(crate) fn shows(&self, handle: TextHandle) -> bool {
        let placed = self.entities.values().chain(&self.world);
        let seen = placed.chain(self.things.values()).map(|entity| &entity.row);
        let mut rows = seen.chain(self.members.values().map(|member| &member.row));
        rows.any(|row| {
            let mut columns = self.schema.text_columns();
            columns.any(|column| row.get(column) == Some(&handle.0))
        })
    }

    /// What was received so far.
    pub fn counts(&self) -> &ViewCounts {
        &self.counts
    }

    /// Applies a datagram of so many bytes. False if some of its movement found no room,
    /// and has to be sent again.
    pub(crate) fn apply_movement(
        &mut self,
        processed: u32,
        movement: &Movement,
        bytes: usize,
    ) -> bool {
        let tick = movement.tick;
        self.counts.datagrams += 1;
        self.counts.datagram_bytes += bytes as u64;
        self.counts.movements += (movement.slots.len() + movement.unknown) as u64;
        self.advance(tick);
        self.processed = self.processed.max(processed);
        let dimensions = self.schema.dimensions();
        let mut is_kept = self.is_own_only || movement.unknown == 0;
        let mut extras = movement.extras.iter().peekable();
        for (i, slot) in movement.slots.iter().enumerate() {
            let mut course = Course {
                tick,
                ..Course::default()
            };
            let own = i * dimensions..(i + 1) * dimensions;
            course.position[..dimensions].copy_from_slice(&movement.positions[own.clone()]);
            course.velocity[..dimensions].copy_from_slice(&movement.velocities[own]);
            let mut own_extras = vec![];
            while let Some(&(_, column, value)) = extras.next_if(|e| e.0 as usize == i) {
                own_extras.push((column, value));
            }
            if !self.keeps(*slot) {
                continue;
            }
            is_kept &= self.move_entity(slot.0, course, own_extras);
            if let (Some(base), Some(entity)) = (movement.base, self.entities.get_mut(&slot.0)) {
                entity.forget_before(base);
            }
        }
        self.close_doors();
        is_kept
    }

    /// The course that was the newest of an entity by a tick.
    pub(crate) fn course_at(&self, slot: Slot, tick: Tick) -> Option<Course> {
        if !self.keeps(slot) {
            return None;
        }
        let entity = self.entities.get(&slot.0)?;
        let mut newest_first = [entity.course]
            .into_iter()
            .chain(entity.past.iter().rev().copied());
        newest_first.find(|course| course.tick <= tick)
    }

    /// Entities continue on their courses, up to a tick.
    fn advance(&mut self, tick: Tick) {
        if tick <= self.newest {
            return;
        }
        self.newest = tick;
        let dimensions = self.schema.dimensions();
        for entity in self.entities.values_mut().filter(|e| e.course.glides()) {
            entity.go_to(tick, dimensions, &self.edges);
        }
    }

    /// False if the movement must wait for its entity, and finds no room.
    fn move_entity(&mut self, slot: u32, course: Course, extras: Vec<(u16, i32)>) -> bool {
        let Some(entity) = self.entities.get_mut(&slot) else {
            return self.keep_early(slot, course, extras);
        };
        if !entity.take(course) {
            return true;
        }
        entity.go_to(self.newest, self.schema.dimensions(), &self.edges);
        for (column, value) in extras {
            entity.row[usize::from(column)] = value;
        }
        let kind = entity.kind;
        self.note_door(kind);
        true
    }

    fn keep_early(&mut self, slot: u32, course: Course, extras: Vec<(u16, i32)>) -> bool {
        // An enter that is still to come is newer than all frames that were read.
        let read = self.read;
        if course.tick <= read {
            return true;
        }
        if !self.early.contains_key(&slot) && self.early.len() >= EARLY_MAX {
            let waits = |movement: &EarlyMovement| movement.newest().is_some_and(|t| t > read);
            self.early.retain(|_, movement| waits(movement));
            if self.early.len() >= EARLY_MAX {
                return false;
            }
        }
        let movement = self.early.entry(slot).or_insert_with(|| EarlyMovement {
            courses: vec![],
            extras: vec![],
        });
        if movement.newest().is_none_or(|newest| newest < course.tick) {
            movement.extras = extras;
        }
        keep_past(&mut movement.courses, course);
        true
    }

    /// A frame has arrived, of so many bytes without its length.
    pub(crate) fn begin_frame(&mut self, tick: Tick, bytes: usize) {
        self.counts.stream_bytes += (length::bytes(bytes) + bytes) as u64;
        self.advance(tick);
        self.read = self.read.max(tick);
    }

    /// Applies a message of a frame.
    pub(crate) fn apply_message(&mut self, tick: Tick, message: Message) {
        match message {
            Message::Enter {
                entity,
                own,
                kind,
                values,
                velocity,
            } => {
                if self.schema.world_kind == Some(kind) {
                    self.world = Some(self.entity_of(tick, entity, kind, &values, velocity));
                    return;
                }
                self.counts.enters += 1;
                if self.is_own_only && !own {
                    return;
                }
                self.names.remove(&entity.slot.0);
                if self.schema.is_thing(kind) {
                    let thing = self.entity_of(tick, entity, kind, &values, velocity);
                    self.things.insert(entity.slot.0, thing);
                    return;
                }
                self.enter(tick, entity, kind, &values, velocity);
            }
            Message::Leave(slot) => {
                // A client sees its own entity until that dies.
                self.is_dead |= slot == self.entity.slot;
                self.leave(tick, slot.0);
            }
            Message::Reborn(entity) => {
                self.entity = entity;
                self.is_dead = false;
            }
            Message::State { slot, values } => {
                self.counts.states += 1;
                let world = self.world.as_mut().filter(|world| world.id.slot == slot);
                let placed = self.entities.get_mut(&slot.0);
                let entity = world.or(placed).or(self.things.get_mut(&slot.0));
                if let Some(entity) = entity {
                    for (column, value) in values {
                        entity.row[usize::from(column)] = value;
                    }
                    let kind = entity.kind;
                    self.note_door(kind);
                }
            }
            Message::Notice(_) => self.counts.notices += 1,
            Message::Full => self.counts.full += 1,
            Message::Name { slot, name } => {
                if self.entities.contains_key(&slot.0) {
                    self.names.insert(slot.0, name);
                }
            }
            // The server numbers them as its welcome did.
            Message::Ranking(standing) => {
                if let Some(own) = self.rankings.get_mut(usize::from(standing.ranking)) {
                    own.take(tick, standing);
                }
            }
            Message::Edits(edits) => self.edit(&edits),
            Message::Members(message) => {
                self.members.apply(message, self.schema.attributes.len());
            }
            Message::Answer(_)
            | Message::Lost(_)
            | Message::Refused { .. }
            | Message::Interface(_)
            | Message::Servers(_)
            | Message::Restart
            | Message::Layer { .. }
            | Message::Texts { .. }
            | Message::Talk(_) => {}
        }
    }

    /// Movement from before the leave is out of date; later movement waits for the enter
    /// that is on its way, even if it was taken for that of the entity before its leave.
    fn leave(&mut self, tick: Tick, slot: u32) {
        self.counts.leaves += 1;
        if self.things.remove(&slot).is_some() {
            return;
        }
        self.names.remove(&slot);
        let early = self.early.get(&slot).and_then(EarlyMovement::newest);
        if early.is_some_and(|newest| newest <= tick) {
            self.early.remove(&slot);
        }
        let removed = self.entities.remove(&slot);
        if let Some(entity) = &removed {
            self.note_door(entity.kind);
        }
        if let Some(entity) = removed
            && entity.course.tick > tick
        {
            for &course in entity.past.iter().filter(|course| course.tick > tick) {
                self.keep_early(slot, course, vec![]);
            }
            let columns = (0..).zip(&self.schema.attributes);
            let extras = columns
                .skip(self.schema.dimensions())
                .filter(|(_, attribute)| attribute.audience == Audience::Movement)
                .map(|(column, _)| (column, entity.row[usize::from(column)]))
                .collect();
            self.keep_early(slot, entity.course, extras);
        }
    }

    fn entity_of(
        &self,
        tick: Tick,
        id: EntityId,
        kind: u16,
        values: &[(u16, i32)],
        velocity: [i32; 3],
    ) -> Entity {
        let mut row = vec![0; self.schema.attributes.len()];
        for &(column, value) in values {
            row[usize::from(column)] = value;
        }
        let dimensions = self.schema.dimensions();
        let mut course = Course {
            tick,
            velocity,
            ..Course::default()
        };
        course.position[..dimensions].copy_from_slice(&row[..dimensions]);
        Entity {
            id,
            kind,
            row,
            entered: tick,
            course,
            past: vec![],
        }
    }

    fn enter(
        &mut self,
        tick: Tick,
        id: EntityId,
        kind: u16,
        values: &[(u16, i32)],
        velocity: [i32; 3],
    ) {
        let dimensions = self.schema.dimensions();
        let mut entity = self.entity_of(tick, id, kind, values, velocity);
        entity.go_to(self.newest, dimensions, &self.edges);
        self.note_door(kind);
        self.entities.insert(id.slot.0, entity);
        if let Some(early) = self.early.remove(&id.slot.0) {
            for course in early.courses {
                self.move_entity(id.slot.0, course, early.extras.clone());
            }
        }
    }
}

impl Entity {
    /// Applies a course. True if it is the newest one: an enter or another datagram may have
    /// overtaken it, and then only differences build on it.
    fn take(&mut self, course: Course) -> bool {
        let is_newest = course.tick > self.course.tick;
        if is_newest {
            keep_past(&mut self.past, std::mem::replace(&mut self.course, course));
        } else if course.tick > self.entered && course.tick < self.course.tick {
            keep_past(&mut self.past, course);
        }
        is_newest
    }

    /// Forgets the courses that were out of date in a tick.
    fn forget_before(&mut self, tick: Tick) {
        let newer = self.past.iter().skip(1).chain([&self.course]);
        let out_of_date = newer.take_while(|course| course.tick <= tick).count();
        self.past.drain(..out_of_date.min(self.past.len()));
    }

    /// Puts the entity where its course leads to in a tick.
    fn go_to(&mut self, tick: Tick, dimensions: usize, edges: &[i32; 3]) {
        let position = self.course.at(tick, edges);
        // Not as a slice, whose copy is a call.
        let own = &mut self.row[..dimensions];
        for axis in 0..3 {
            if axis < own.len() {
                own[axis] = position[axis];
            }
        }
    }
}

/// Puts a course in its place among others, which ascend by tick, unless there is one of its
/// tick. The oldest ones go.
fn keep_past(past: &mut Vec<Course>, course: Course) {
    if let Err(place) = past.binary_search_by_key(&course.tick, |course| course.tick) {
        past.insert(place, course);
        if past.len() > PAST_MAX {
            past.remove(0);
        }
    }
}

/// Differences build on bases of at most so many ticks ago, and there is at most one course
/// a tick.
const PAST_MAX: usize = BASE_TICKS_MAX as usize + 1;
/// Twice as many entities as a server may show to one client.
const EARLY_MAX: usize = 2 * VISIBLE_MAX as usize;
