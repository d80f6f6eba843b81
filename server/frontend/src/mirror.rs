//! The world on the host, for the fan-out: kept up to date from the outputs of ticks.

mod courses;
mod part;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use device::cpu::{Workers, ranges};
use gpu_kernels::listen::Before;
use gpu_kernels::{Snapshot, TickOutput};
use shared::wire::movement::{MovementCodec, PackedEntity, Place, Tail};
use shared::{Audience, Course, EntityId, Name, Slot, Tick, WorldConfig};

use courses::Courses;
use part::Part;

/// The mirror that the tick and the shards share. The tick writes it only when no shard
/// reads: after all reports on one tick, before the publication of the next.
#[derive(Clone)]
pub struct SharedMirror(Arc<RwLock<Mirror>>);

/// Every entity's attributes, and the form in which datagrams carry it.
pub struct Mirror {
    layout: Layout,
    /// By slot: what players of living entities are called.
    names: HashMap<u32, (EntityId, Name)>,
    pub masks: AudienceMasks,
    /// By kind: the columns it has, as bits.
    kinds: Vec<u64>,
    entities: Vec<Entry>,
    courses: Vec<Courses>,
    rows: Vec<i32>,
    /// Newborns of whom clients are not told yet, ascending: the next tick completes them.
    unready: Vec<Slot>,
    /// The last tick that was taken in.
    tick: Tick,
}

/// What the entities of a world have in common.
struct Layout {
    columns: usize,
    dimensions: usize,
    /// The largest coordinates.
    edges: [i32; 3],
    /// The columns of the position, as bits.
    position: u64,
    /// Whether ticks say whose course is told anew.
    has_courses: bool,
    movement: MovementCodec,
}

/// Columns by audience, as bits.
#[derive(Clone, Copy, Debug)]
pub struct AudienceMasks {
    pub movement: u64,
    pub state: u64,
    pub private: u64,
}

#[derive(Clone, Copy)]
struct Entry {
    id: EntityId,
    kind: u16,
    is_alive: bool,
    /// What datagrams carry of it beside its position.
    tail: Tail,
    /// Of the tick `changed`, if a new course began in it.
    turn: Option<Turn>,
    /// The last tick of which clients are told, and the columns that they are told of.
    changed: Tick,
    columns: u64,
}

/// Where a living entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub entity: EntityId,
    pub kind: u16,
    /// In raw units.
    pub position: [i32; 3],
}

/// Where a new course begins, for clients that know the one before.
#[derive(Clone, Copy)]
struct Turn {
    /// The first tick of the course before.
    since: Tick,
    place: Place,
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
        let mask = |audience: Audience| {
            let with_audience = |(_, a): &(usize, &shared::Attribute)| a.audience == audience;
            schema
                .attributes
                .iter()
                .enumerate()
                .filter(with_audience)
                .fold(0, |mask, (column, _)| mask | 1 << column)
        };
        let empty = Entry {
            id: EntityId::NONE,
            kind: 0,
            is_alive: false,
            tail: Tail::default(),
            turn: None,
            changed: Tick(0),
            columns: 0,
        };
        Mirror {
            layout: Layout {
                columns: schema.attributes.len(),
                dimensions: schema.dimensions(),
                edges: config.schema.world.edges(),
                position: (1 << schema.dimensions()) - 1,
                has_courses: config.motion.is_some(),
                movement,
            },
            masks: AudienceMasks {
                movement: mask(Audience::Movement),
                state: mask(Audience::State),
                private: mask(Audience::Private),
            },
            kinds: schema
                .kinds
                .iter()
                .map(|k| k.attributes.iter().fold(0, |mask, a| mask | 1 << a.column))
                .collect(),
            names: HashMap::new(),
            entities: vec![empty; capacity],
            courses: vec![Courses::default(); capacity],
            rows: vec![0; capacity * schema.attributes.len()],
            unready: vec![],
            tick: Tick(0),
        }
    }

    /// The mirror of a world that goes on from a snapshot.
    pub fn restore(&mut self, workers: &Workers, snapshot: &Snapshot) {
        self.tick = Tick(snapshot.tick.0.wrapping_sub(1));
        self.rows.copy_from_slice(&snapshot.rows);
        let parts = workers.parts_of(self.entities.len(), GRAIN);
        let mut rest = self.part();
        let mut tasks = Vec::with_capacity(parts);
        for range in ranges(snapshot.states.len(), parts) {
            let (part, later) = rest.split_at(range.end);
            tasks.push(part);
            rest = later;
        }
        workers.run(tasks, |mut part| part.restore(snapshot));
    }

    /// Takes in a tick's births, changes and courses. Packs each entity of whose movement
    /// clients are told once.
    pub fn apply(&mut self, workers: &Workers, output: &TickOutput) {
        self.tick = output.tick;
        self.part().take_births(output);
        // Nothing dies in the tick of its birth.
        for entity in &output.deaths {
            self.entities[entity.slot.index()].is_alive = false;
        }
        let (changed, told) = (output.changes.slots.len(), output.courses.slots.len());
        // Slots ascend in both lists, so a range of slots is a range of either.
        let parts = workers.parts_of(changed.max(told), GRAIN);
        let longer = match changed >= told {
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
    }

    /// All entities.
    fn part(&mut self) -> Part<'_> {
        Part {
            layout: &self.layout,
            masks: self.masks,
            tick: self.tick,
            first: 0,
            entities: &mut self.entities,
            courses: &mut self.courses,
            rows: &mut self.rows,
        }
    }

    /// The last tick that was taken in.
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

    /// What the player of the entity is called that lives or last lived in a slot.
    pub fn name(&self, slot: Slot) -> Option<&Name> {
        let (entity, name) = self.names.get(&slot.0)?;
        (*entity == self.id(slot)).then_some(name)
    }

    /// Takes in what newborn players are called, and forgets the dead.
    pub fn name_players(
        &mut self,
        named: impl Iterator<Item = (EntityId, Name)>,
        dead: &[EntityId],
    ) {
        for entity in dead {
            self.names.remove(&entity.slot.0);
        }
        let named = named.map(|(entity, name)| (entity.slot.0, (entity, name)));
        self.names.extend(named);
    }

    /// Clients are not told of these newborns in this tick.
    pub fn set_unready(&mut self, mut unready: Vec<Slot>) {
        unready.sort_unstable();
        self.unready = unready;
    }

    /// Whether clients may be told of an entity.
    pub fn is_ready(&self, slot: Slot) -> bool {
        self.unready.binary_search(&slot).is_err()
    }

    /// The kind of the entity that lives or last lived in a slot.
    pub fn kind(&self, slot: Slot) -> u16 {
        self.entities[slot.index()].kind
    }

    /// The columns that an entity's kind has, as bits.
    pub fn kind_columns(&self, slot: Slot) -> u64 {
        self.kinds[usize::from(self.kind(slot))]
    }

    /// The values of all columns.
    pub fn row(&self, slot: Slot) -> &[i32] {
        &self.rows[slot.index() * self.layout.columns..][..self.layout.columns]
    }

    /// In raw units; for an entity that died in this tick, the place of its death.
    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        let axes = &self.row(slot)[..self.layout.dimensions];
        position[..axes.len()].copy_from_slice(axes);
        position
    }

    /// What clients take the entity's movement for, from this tick on.
    pub fn course(&self, slot: Slot) -> Course {
        let course = self.courses[slot.index()].newest();
        course.from(self.tick, &self.layout.edges)
    }

    /// The entity's movement as datagrams of this tick carry it to a client that knew in the
    /// tick `base`, an earlier one, how it moved.
    pub fn told(&self, slot: Slot, base: Option<Tick>) -> PackedEntity {
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

    fn full(&self, slot: Slot) -> Place {
        let newest = self.courses[slot.index()].newest();
        let Layout {
            edges, movement, ..
        } = &self.layout;
        movement.full(newest.at(self.tick, edges))
    }

    fn difference(&self, slot: Slot, base: Tick) -> Option<Place> {
        let Layout {
            edges, movement, ..
        } = &self.layout;
        let courses = &self.courses[slot.index()];
        let newest = courses.newest();
        let expected = movement.expected(courses.at(base)?, self.tick, &newest.velocity);
        movement.difference(&newest.at(self.tick, edges), &expected)
    }

    /// The columns of which clients are told in this tick, as bits.
    pub fn told_columns(&self, slot: Slot) -> u64 {
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

/// Holds while the mirror has not taken in the tick that is listened to.
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

/// The number of entities that take a thread about 20 µs.
const GRAIN: usize = 1024;

#[cfg(test)]
mod tests;
