//! Walls: entities that end a tick in none of them, whatever has moved them.

use device::cpu::{Workers, ranges, take};
use shared::world::layer::Layers;
use shared::{Slot, WorldConfig};

use super::{Merge, State};
use crate::tick::output::Changes;
use crate::tick::state::{Snapshot, attribute, part};

/// Keeps entities out of walls, whatever moves them: one that is in a wall after its changes, and one
/// that several updates move along an axis, goes from where it was as far as walls leave it. One
/// command alone may take an entity behind a wall.
pub struct Walls {
    /// By slot: where its entity was before the tick.
    last: Vec<[i32; 2]>,
    /// One for each part of the work.
    parts: Vec<Vec<Held>>,
}

/// A coordinate that walls limit.
struct Held {
    slot: u32,
    /// The place of the change among the tick's.
    change: usize,
    axis: usize,
    value: i32,
}

/// One part's entities, and the slots from `first` on.
struct Share<'a> {
    entities: std::ops::Range<usize>,
    first: usize,
    last: &'a mut [[i32; 2]],
    held: &'a mut Vec<Held>,
}

impl Walls {
    /// `None` in worlds without walls.
    pub fn new(config: &WorldConfig) -> Option<Walls> {
        config.schema.layers.blocked()?;
        Some(Walls {
            last: vec![[0; 2]; config.schema.world.capacity as usize],
            parts: vec![],
        })
    }

    pub fn restore(&mut self, snapshot: &Snapshot, columns: usize) {
        let rows = snapshot.rows.chunks_exact(columns);
        for (last, row) in self.last.iter_mut().zip(rows) {
            *last = [row[0], row[1]];
        }
    }

    /// An entity was born here.
    pub fn mark_birth(&mut self, slot: Slot, row: &[i32]) {
        self.last[slot.index()] = [row[0], row[1]];
    }

    /// Looks at all entities that moved.
    pub fn hold(
        &mut self,
        workers: &Workers,
        state: &mut State,
        merge: &Merge,
        changes: &mut Changes,
    ) {
        let entities = changes.slots.len();
        let count = workers.parts(entities);
        if self.parts.len() < count {
            self.parts.resize_with(count, Vec::new);
        }
        let slot_at = |entity: usize| match changes.slots.get(entity) {
            Some(&slot) => slot as usize,
            None => self.last.len(),
        };
        let mut first = slot_at(0);
        let cuts: Vec<_> = ranges(entities, count)
            .map(|range| (range.clone(), slot_at(range.end)))
            .collect();
        let mut last = &mut self.last[first..];
        let mut shares = vec![];
        for ((entities, end), held) in cuts.into_iter().zip(&mut self.parts) {
            shares.push(Share {
                entities,
                first,
                last: take(&mut last, end - first),
                held,
            });
            first = end;
        }
        let (rows, columns) = (&state.rows, state.columns);
        let (layers, read) = (&state.layers, &*changes);
        workers.run(shares, |share| {
            share.run(layers, (rows, columns), merge, read)
        });
        for held in self.parts[..count].iter().flatten() {
            let place = held.slot as usize * columns + held.axis;
            let before = std::mem::replace(&mut state.rows[place], held.value);
            let part = part::COLUMNS + held.axis;
            state.subtract(part, attribute(held.slot, before));
            state.add(part, attribute(held.slot, held.value));
            changes.values[held.change] = held.value;
        }
    }
}

impl Share<'_> {
    fn run(
        self,
        layers: &Layers,
        (rows, columns): (&[i32], usize),
        merge: &Merge,
        changes: &Changes,
    ) {
        self.held.clear();
        for entity in self.entities {
            let slot = changes.slots[entity];
            let start = changes.offsets[entity] as usize;
            let end = changes.offsets[entity + 1] as usize;
            // The position comes first.
            if changes.columns[start] > 1 {
                continue;
            }
            let row = slot as usize * columns;
            let here = [rows[row], rows[row + 1]];
            let last = &mut self.last[slot as usize - self.first];
            let before = std::mem::replace(last, here);
            let flat = |[x, y]: [i32; 2]| [x, y, 0];
            let by_several = merge.moved_by_several(slot);
            let [x, y, _] = layers.held(flat(before), flat(here), by_several);
            *last = [x, y];
            for change in start..end.min(start + 2) {
                let axis = usize::from(changes.columns[change]);
                if axis < 2 && last[axis] != here[axis] {
                    self.held.push(Held {
                        slot,
                        change,
                        axis,
                        value: last[axis],
                    });
                }
            }
        }
    }
}
