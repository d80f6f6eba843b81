//! The world on the host, for the fan-out: kept up to date from the outputs of ticks.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Before;
use shared::wire::movement::{MovementCodec, Packed};
use shared::{Audience, EntityId, Schema, Slot, Tick};

/// The mirror that the tick and the shards share. The tick writes it only when no shard
/// reads: after all reports on one tick, before the publication of the next.
#[derive(Clone)]
pub struct SharedMirror(Arc<RwLock<Mirror>>);

/// Every entity's attributes, and the form in which datagrams carry it.
pub struct Mirror {
    columns: usize,
    dimensions: usize,
    movement: MovementCodec,
    pub masks: AudienceMasks,
    /// By kind: the columns it has, as bits.
    kinds: Vec<u64>,
    entities: Vec<Entry>,
    rows: Vec<i32>,
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
    packed: Packed,
    /// The last tick that changed it, and the columns it changed.
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
    pub fn new(schema: &Schema, movement: MovementCodec) -> Mirror {
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
            packed: Packed::default(),
            changed: Tick(0),
            columns: 0,
        };
        Mirror {
            columns: schema.attributes.len(),
            dimensions: schema.dimensions(),
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
            rows: vec![0; capacity * schema.attributes.len()],
        }
    }

    /// Takes in a tick's births and changes. Packs each changed entity once.
    pub fn apply(&mut self, output: &TickOutput) {
        let newborns = output
            .births
            .iter()
            .filter_map(|b| Some((b.kind, b.entity?)));
        for ((kind, id), row) in newborns.zip(output.birth_rows.chunks_exact(self.columns)) {
            let slot = id.slot.index();
            self.rows[slot * self.columns..][..self.columns].copy_from_slice(row);
            self.entities[slot] = Entry {
                id,
                kind,
                packed: self.movement.pack(kind, row),
                changed: output.tick,
                columns: u64::MAX,
            };
        }
        for (slot, columns, values) in output.changes.iter() {
            let row = &mut self.rows[slot.index() * self.columns..][..self.columns];
            let mut mask = 0;
            for (&column, &value) in columns.iter().zip(values) {
                row[usize::from(column)] = value;
                mask |= 1 << column;
            }
            let entry = &mut self.entities[slot.index()];
            entry.changed = output.tick;
            entry.columns = mask;
            if mask & self.masks.movement != 0 {
                entry.packed = self.movement.pack(entry.kind, row);
            }
        }
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

    /// The entity's movement as datagrams carry it.
    pub fn packed(&self, slot: Slot) -> Packed {
        self.entities[slot.index()].packed
    }

    /// The columns that this tick changed, as bits. All of them if it changed none: then
    /// the delivery is for a client that is catching up.
    pub fn changed_columns(&self, slot: Slot, tick: Tick) -> u64 {
        let entry = &self.entities[slot.index()];
        if entry.changed == tick {
            entry.columns
        } else {
            u64::MAX
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
