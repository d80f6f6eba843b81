//! The world on the host, for the fan-out: kept up to date from the outputs of ticks.

mod courses;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Before;
use shared::wire::movement::{MovementCodec, Tail, Told};
use shared::{Audience, Course, EntityId, Slot, Tick, WorldConfig};

use courses::Courses;

/// The mirror that the tick and the shards share. The tick writes it only when no shard
/// reads: after all reports on one tick, before the publication of the next.
#[derive(Clone)]
pub struct SharedMirror(Arc<RwLock<Mirror>>);

/// Every entity's attributes, and the form in which datagrams carry it.
pub struct Mirror {
    columns: usize,
    dimensions: usize,
    /// The largest coordinates.
    edges: [i32; 3],
    /// The columns of the position, as bits.
    position: u64,
    /// Whether ticks say whose course is told anew.
    has_courses: bool,
    movement: MovementCodec,
    pub masks: AudienceMasks,
    /// By kind: the columns it has, as bits.
    kinds: Vec<u64>,
    entities: Vec<Entry>,
    courses: Courses,
    rows: Vec<i32>,
    /// The last tick that was taken in.
    tick: Tick,
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
    /// What datagrams carry of it beside its position.
    tail: Tail,
    /// The last tick of which clients are told, and the columns that they are told of.
    changed: Tick,
    columns: u64,
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
            tail: Tail::default(),
            changed: Tick(0),
            columns: 0,
        };
        Mirror {
            columns: schema.attributes.len(),
            dimensions: schema.dimensions(),
            edges: config.size_raw().map(|size| size - 1),
            position: (1 << schema.dimensions()) - 1,
            has_courses: config.motion.is_some(),
            movement,
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
            entities: vec![empty; capacity],
            courses: Courses::new(capacity),
            rows: vec![0; capacity * schema.attributes.len()],
            tick: Tick(0),
        }
    }

    /// Takes in a tick's births, changes and courses. Packs each entity of whose movement
    /// clients are told once.
    pub fn apply(&mut self, output: &TickOutput) {
        self.tick = output.tick;
        let newborns = output
            .births
            .iter()
            .filter_map(|b| Some((b.kind, b.entity?)));
        for ((kind, id), row) in newborns.zip(output.birth_rows.chunks_exact(self.columns)) {
            self.rows[id.slot.index() * self.columns..][..self.columns].copy_from_slice(row);
            let entry = &mut self.entities[id.slot.index()];
            (entry.id, entry.kind) = (id, kind);
            (entry.changed, entry.columns) = (output.tick, u64::MAX);
            let course = Course {
                tick: self.tick,
                position: self.position(id.slot),
                velocity: [0; 3],
            };
            self.courses.restart(id.slot, course);
            self.pack(id.slot);
        }
        for (slot, columns, values) in output.changes.iter() {
            let row = &mut self.rows[slot.index() * self.columns..][..self.columns];
            let mut mask = 0;
            for (&column, &value) in columns.iter().zip(values) {
                row[usize::from(column)] = value;
                mask |= 1 << column;
            }
            // Courses say which changes of a position are told.
            if self.has_courses {
                mask &= !self.position;
            } else if mask & self.position != 0 {
                self.set_course(slot, &[]);
            }
            let entry = &mut self.entities[slot.index()];
            entry.changed = output.tick;
            entry.columns = mask;
            if mask & self.masks.movement != 0 {
                self.pack(slot);
            }
        }
        for (slot, velocity) in output.courses.iter() {
            let entry = &mut self.entities[slot.index()];
            if entry.changed != output.tick {
                entry.changed = output.tick;
                entry.columns = 0;
            }
            entry.columns |= self.position;
            self.set_course(slot, velocity);
            self.pack(slot);
        }
    }

    /// Begins a course where the entity is, as far as steps go; it rests on axes without a
    /// velocity.
    fn set_course(&mut self, slot: Slot, given: &[i32]) {
        let mut velocity = [0; 3];
        velocity[..given.len()].copy_from_slice(given);
        let before = self.courses.newest(slot);
        let expected = self.movement.expected(before, self.tick, &velocity);
        let course = Course {
            tick: self.tick,
            position: self.movement.told(self.position(slot), expected),
            velocity,
        };
        self.courses.push(slot, course);
    }

    fn pack(&mut self, slot: Slot) {
        let velocity = &self.courses.newest(slot).velocity;
        let tail = self
            .movement
            .tail(self.kind(slot), velocity, self.row(slot));
        self.entities[slot.index()].tail = tail;
    }

    /// The entity that lives or last lived in a slot.
    pub fn id(&self, slot: Slot) -> EntityId {
        self.entities[slot.index()].id
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
        &self.rows[slot.index() * self.columns..][..self.columns]
    }

    /// In raw units; for an entity that died in this tick, the place of its death.
    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        let axes = &self.row(slot)[..self.dimensions];
        position[..axes.len()].copy_from_slice(axes);
        position
    }

    /// What clients take the entity's movement for, from this tick on.
    pub fn course(&self, slot: Slot) -> Course {
        let course = self.courses.newest(slot);
        Course {
            tick: self.tick,
            position: course.at(self.tick, &self.edges),
            velocity: course.velocity,
        }
    }

    /// The entity's movement as datagrams of this tick carry it to a client that knew in the
    /// tick `base` how it moved.
    pub fn told(&self, slot: Slot, base: Option<Tick>) -> Told {
        let course = self.courses.newest(slot);
        let known = base.and_then(|base| self.courses.at(slot, base));
        let expected =
            known.map(|known| self.movement.expected(known, self.tick, &course.velocity));
        Told {
            position: course.at(self.tick, &self.edges),
            expected,
            tail: self.entities[slot.index()].tail,
        }
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
        &self.movement
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
