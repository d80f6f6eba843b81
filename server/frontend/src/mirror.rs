//! The world on the host, for the fan-out: kept up to date from the outputs of ticks.

mod courses;
pub mod groups;
pub mod masks;
mod part;
pub mod rankings;
mod related;
pub mod things;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use device::cpu::{Workers, ranges};
use gpu_kernels::listen::Before;
use gpu_kernels::{Snapshot, TickOutput};
use shared::wire::movement::{EncodedPosition, MovementCodec, PackedEntity, Tail};
use shared::world::columns::Columns;
use shared::world::edit::Edit;
use shared::world::layer::Layers;
use shared::world::words::TextHandle;
use shared::{Course, EntityId, Name, Slot, Text, Tick, WorldConfig};

use courses::Courses;
use groups::Groups;
use masks::{KindMasks, Masks, Values};
use part::Part;
use rankings::Rankings;
use things::Things;

/// The mirror that the tick and the shards share. The tick writes it only while no shard
/// reads it: after all reports on one tick, before the publication of the next.
#[derive(Clone)]
pub struct SharedMirror(Arc<RwLock<Mirror>>);

/// Every entity's attributes, and the form in which datagrams carry it.
pub struct Mirror {
    layout: Layout,
    /// By slot: the names of players with living entities.
    names: BTreeMap<u32, (EntityId, Name)>,
    masks: Masks,
    /// By kind: the columns it has.
    kinds: Vec<Columns>,
    entities: Vec<Entry>,
    courses: Vec<Courses>,
    rows: Vec<i32>,
    /// Newborns that are not sent to clients yet, ascending: the next tick completes them.
    unready: Vec<Slot>,
    /// The last tick that was applied.
    tick: Tick,
    /// The slot of what the whole world shares.
    shared: Option<Slot>,
    /// Those that clients ask for.
    pub rankings: Rankings,
    /// `None` in worlds that show clients no things.
    things: Option<Box<Things>>,
    /// `None` in worlds without groups.
    groups: Option<Box<Groups>>,
    /// What the texts of attributes say; empty in a gateway, which only passes them on.
    pub texts: HashMap<TextHandle, Text>,
    /// Those of the world, with what scripts changed in them; without doors.
    layers: Layers,
}

/// The layout that all entities of a world share.
struct Layout {
    columns: usize,
    dimensions: usize,
    /// The largest coordinates.
    edges: [i32; 3],
    /// The columns of the position, as bits.
    position: u64,
    /// Whether the outputs of ticks have courses.
    has_courses: bool,
    movement: MovementCodec,
}

/// What is known of newborns beside their births.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Newborns {
    /// The names of players, with their entities.
    pub named: Vec<(EntityId, Name)>,
    /// Those that are not sent to clients in this tick.
    pub unready: Vec<Slot>,
}

#[derive(Clone, Copy)]
struct Entry {
    id: EntityId,
    kind: u16,
    is_alive: bool,
    /// Its packed form in datagrams, without the position.
    tail: Tail,
    /// Of the tick `changed`, if a new course began in it.
    turn: Option<Turn>,
    /// The last tick with changes for clients, and their columns, as bits of [`Masks`].
    changed: Tick,
    columns: u64,
}

/// The position of a living entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub entity: EntityId,
    pub kind: u16,
    /// In raw units.
    pub position: [i32; 3],
}

/// The start of a new course as a delta, for clients that have the course before.
#[derive(Clone, Copy)]
struct Turn {
    /// The first tick of the course before.
    since: Tick,
    place: EncodedPosition,
}

impl SharedMirror {
    pub fn new(mirror: Mirror) -> SharedMirror {
        SharedMirror(Arc::new(RwLock::new(mirror)))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, Mirror> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, Mirror> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Mirror {
    /// A mirror of a world without entities.
    pub fn new(config: &WorldConfig, movement: MovementCodec) -> Mirror {
        let schema = &config.schema;
        let capacity = schema.world.capacity as usize;
        let empty = Entry {
            id: EntityId::NONE,
            kind: 0,
            is_alive: false,
            tail: Tail::default(),
            turn: None,
            changed: Tick(0),
            columns: 0,
        };
        let masks = Masks::of(schema);
        let groups = Groups::of(schema, |kind, columns| masks.mask(kind, columns));
        let mut mirror = Mirror {
            layout: Layout {
                columns: schema.attributes.len(),
                dimensions: schema.dimensions(),
                edges: config.schema.world.edges(),
                position: (1 << schema.dimensions()) - 1,
                has_courses: config.motion.is_some(),
                movement,
            },
            masks,
            kinds: schema.kind_columns(),
            names: BTreeMap::new(),
            entities: vec![empty; capacity],
            courses: vec![Courses::default(); capacity],
            rows: vec![0; capacity * schema.attributes.len()],
            unready: vec![],
            tick: Tick(0),
            shared: schema.world_entity().map(|entity| entity.slot),
            rankings: Rankings::new(schema),
            things: Things::of(config).map(Box::new),
            groups: groups.map(Box::new),
            texts: HashMap::new(),
            layers: schema.layers.clone(),
        };
        if let (Some(entity), Some(kind)) = (schema.world_entity(), schema.world_kind) {
            let row = schema.default_row(usize::from(kind));
            mirror.part().place(entity, kind, &row);
        }
        mirror
    }

    /// The slot of what the whole world shares, which every client sees.
    pub fn shared(&self) -> Option<Slot> {
        self.shared
    }

    /// Restores the mirror from a snapshot.
    pub fn restore(&mut self, workers: &Workers, snapshot: &Snapshot) {
        self.tick = Tick(snapshot.tick.0.wrapping_sub(1));
        self.rows.copy_from_slice(&snapshot.rows);
        self.edit(&snapshot.edits);
        let parts = workers.parts_of(self.entities.len(), GRAIN);
        let mut rest = self.part();
        let mut tasks = Vec::with_capacity(parts);
        for range in ranges(snapshot.states.len(), parts) {
            let (part, later) = rest.split_at(range.end);
            tasks.push(part);
            rest = later;
        }
        workers.run(tasks, |mut part| part.restore(snapshot));
        self.restore_relations();
    }

    /// Begins after a tick, with entities that [`Mirror::place`] adds; [`Mirror::restore_relations`]
    /// comes after them.
    pub fn begin_at(&mut self, tick: Tick) {
        self.tick = tick;
    }

    /// Finds anew who holds which things, and who is a member of which groups, once all entities are
    /// there.
    pub fn restore_relations(&mut self) {
        self.restore_things();
        self.restore_groups();
    }

    /// Adds an entity on its newest course, with its row.
    pub fn place(&mut self, entity: EntityId, kind: u16, row: &[i32], course: Course) {
        self.part().place_on(entity, kind, row, course);
    }

    /// Applies a tick's births, changes and courses. Packs each entity with movement for clients
    /// once.
    pub fn apply(&mut self, workers: &Workers, output: &TickOutput) {
        self.tick = output.tick;
        self.edit(&output.edits);
        self.part().take_births(output);
        // Also those that were born in this tick.
        for entity in &output.deaths {
            self.entities[entity.slot.index()].is_alive = false;
        }
        let (changed, turned) = (output.changes.slots.len(), output.courses.slots.len());
        // Slots ascend in both lists, so a range of slots is a range of either.
        let parts = workers.parts_of(changed.max(turned), GRAIN);
        let longer = match changed >= turned {
            true => &output.changes.slots,
            false => &output.courses.slots,
        };
        let starts = ranges(longer.len(), parts).skip(1);
        let ends = starts.map(|range| longer[range.start] as usize);
        let ends: Vec<usize> = ends.chain([self.entities.len()]).collect();
        let mut rest = self.part();
        let mut tasks = Vec::with_capacity(parts);
        for end in ends {
            let (part, later) = rest.split_at(end);
            tasks.push(part);
            rest = later;
        }
        workers.run(tasks, |part| part.take(output));
        self.follow_things(output);
        self.follow_groups(output);
    }

    /// Changes cells of layers.
    pub fn edit(&mut self, edits: &[Edit]) {
        for edit in edits {
            self.layers.edit(edit);
        }
    }

    /// The layers of the world, with what scripts changed in them; without doors.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// All entities.
    fn part(&mut self) -> Part<'_> {
        Part {
            layout: &self.layout,
            masks: &self.masks,
            tick: self.tick,
            first: 0,
            entities: &mut self.entities,
            courses: &mut self.courses,
            rows: &mut self.rows,
        }
    }

    /// The last tick that was applied.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// The number of slots.
    pub fn capacity(&self) -> usize {
        self.entities.len()
    }

    /// The living entity of a slot; `None` if the world lacks the slot, too.
    pub fn living(&self, slot: Slot) -> Option<EntityId> {
        let entry = self.entities.get(slot.index())?;
        entry.is_alive.then_some(entry.id)
    }

    /// Appends the living entities of a range of slots.
    pub fn spots(&self, slots: Range<usize>, spots: &mut Vec<Spot>) {
        let alive = self.entities[slots].iter().filter(|entry| entry.is_alive);
        spots.extend(alive.map(|entry| Spot {
            entity: entry.id,
            kind: entry.kind,
            position: self.position(entry.id.slot),
        }));
    }

    /// The entity that lives or last lived in a slot.
    pub fn id(&self, slot: Slot) -> EntityId {
        self.entities[slot.index()].id
    }

    /// The name of the player whose entity lives or last lived in a slot.
    pub fn name(&self, slot: Slot) -> Option<&Name> {
        let (entity, name) = self.names.get(&slot.0)?;
        (*entity == self.id(slot)).then_some(name)
    }

    /// The names of players with living entities, or whose entity was the last in its slot.
    pub fn names(&self) -> impl Iterator<Item = (EntityId, Name)> + '_ {
        self.names.values().cloned()
    }

    /// Newborns that are not sent to clients yet, ascending.
    pub fn unready(&self) -> &[Slot] {
        &self.unready
    }

    /// Adds what is known of newborns, and removes the names of the dead.
    pub fn note_newborns(&mut self, newborns: &Newborns, dead: &[EntityId]) {
        for entity in dead {
            self.names.remove(&entity.slot.0);
        }
        let named = newborns.named.iter().cloned();
        let named = named.map(|(entity, name)| (entity.slot.0, (entity, name)));
        self.names.extend(named);
        self.unready.clone_from(&newborns.unready);
        self.unready.sort_unstable();
    }

    /// Whether an entity may be sent to clients.
    pub fn is_ready(&self, slot: Slot) -> bool {
        self.unready.binary_search(&slot).is_err()
    }

    /// The kind of the entity that lives or last lived in a slot.
    pub fn kind(&self, slot: Slot) -> u16 {
        self.entities[slot.index()].kind
    }

    /// The columns that an entity's kind has.
    pub fn kind_columns(&self, slot: Slot) -> Columns {
        self.kinds[usize::from(self.kind(slot))]
    }

    /// The columns that an entity's kind has by audience, as bits.
    pub fn masks(&self, slot: Slot) -> &KindMasks {
        self.masks.kind(self.kind(slot))
    }

    /// The values of an entity in the columns of these bits.
    pub fn values(&self, slot: Slot, bits: u64) -> Values<'_> {
        self.masks.values(self.kind(slot), bits, self.row(slot))
    }

    /// The values of all columns.
    pub fn row(&self, slot: Slot) -> &[i32] {
        &self.rows[slot.index() * self.layout.columns..][..self.layout.columns]
    }

    /// In raw units; for an entity that died in this tick, the position of its death.
    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        let axes = &self.row(slot)[..self.layout.dimensions];
        position[..axes.len()].copy_from_slice(axes);
        position
    }

    /// The last course that an entity began.
    pub fn newest_course(&self, slot: Slot) -> &Course {
        self.courses[slot.index()].newest()
    }

    /// The course by which clients extrapolate the entity, from this tick on.
    pub fn course(&self, slot: Slot) -> Course {
        let course = self.courses[slot.index()].newest();
        course.from(self.tick, &self.layout.edges)
    }

    /// The entity's movement in datagrams of this tick: a delta for a client that had its movement
    /// in the earlier tick `base`, else in full.
    pub fn movement(&self, slot: Slot, base: Option<Tick>) -> PackedEntity {
        let entry = &self.entities[slot.index()];
        let is_new = entry.changed == self.tick && entry.columns & self.layout.position != 0;
        let place = match (base, entry.turn) {
            (None, _) => None,
            (Some(base), Some(turn)) if is_new && turn.since <= base => Some(turn.place),
            (Some(base), _) => self.difference(slot, base),
        };
        PackedEntity {
            place: place.unwrap_or_else(|| self.full(slot)),
            tail: entry.tail,
        }
    }

    fn full(&self, slot: Slot) -> EncodedPosition {
        let newest = self.courses[slot.index()].newest();
        let Layout {
            edges, movement, ..
        } = &self.layout;
        movement.full(newest.at(self.tick, edges))
    }

    fn difference(&self, slot: Slot, base: Tick) -> Option<EncodedPosition> {
        let Layout {
            edges, movement, ..
        } = &self.layout;
        let courses = &self.courses[slot.index()];
        let newest = courses.newest();
        let expected = movement.expected(courses.at(base)?, self.tick, &newest.velocity);
        movement.difference(&newest.at(self.tick, edges), &expected)
    }

    /// The changed columns that are sent to clients in this tick, as bits.
    pub fn columns_to_send(&self, slot: Slot) -> u64 {
        let entry = &self.entities[slot.index()];
        match entry.changed == self.tick {
            true => entry.columns,
            false => 0,
        }
    }

    pub fn movement_codec(&self) -> &MovementCodec {
        &self.layout.movement
    }
}

/// Valid while the mirror has not applied the tick that is matched.
impl Before for Mirror {
    fn id(&self, slot: Slot) -> EntityId {
        Mirror::id(self, slot)
    }

    fn kind(&self, slot: Slot) -> u16 {
        Mirror::kind(self, slot)
    }

    fn row(&self, slot: Slot) -> &[i32] {
        Mirror::row(self, slot)
    }
}

/// The number of entities that a thread handles in about 20 µs.
const GRAIN: usize = 1024;

#[cfg(test)]
mod tests;
