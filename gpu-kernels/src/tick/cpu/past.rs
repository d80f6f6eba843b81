//! Where entities were after the latest ticks, for scripts that judge by a client's view.

use device::cpu::{Workers, ranges, take};
use script::arith::ticks_back;
use script::native::{Rows, View};
use shared::{Slot, Tick, WorldConfig};

use super::State;
use crate::tick::state::{part, past};

/// A ring of the positions of the latest ticks. An entity that dies leaves none, so those of a
/// slot are always of the entity that lives there.
pub struct Past {
    /// 0: none are kept.
    ticks: u32,
    dimensions: usize,
    /// [`Snapshot::past`](crate::Snapshot::past).
    positions: Vec<i32>,
}

impl Past {
    pub fn new(config: &WorldConfig) -> Past {
        let (ticks, dimensions) = (config.limits.rewind_ticks, config.dimensions());
        let slots = config.schema.world.capacity as usize;
        Past {
            ticks,
            dimensions,
            positions: vec![0; ticks as usize * slots * dimensions],
        }
    }

    pub fn positions(&self) -> &[i32] {
        &self.positions
    }

    pub fn restore(&mut self, positions: &[i32]) {
        self.positions.copy_from_slice(positions);
    }

    /// The view with the ticks that are kept.
    pub fn seen_by<'a>(&'a self, view: View<'a>) -> View<'a> {
        view.with_past(&self.positions, self.ticks, self.dimensions)
    }

    /// The same for commands that change the rows.
    pub fn seen_in<'a>(&'a self, rows: Rows<'a>) -> Rows<'a> {
        rows.with_past(&self.positions, self.ticks, self.dimensions)
    }

    /// [`World::past`](script::interpreter::World::past).
    pub fn coordinate(&self, now: Tick, slot: Slot, axis: usize, tick: i32) -> i32 {
        if self.ticks == 0 {
            return -1;
        }
        let back = ticks_back(now.low().cast_signed(), tick, self.ticks);
        let place = self.place(now, back);
        self.positions[place * self.stride() + slot.index() * self.dimensions + axis] - 1
    }

    /// The place of the positions after so many ticks before this one, at most as many as are
    /// kept.
    fn place(&self, now: Tick, back: u32) -> usize {
        let ticks = u64::from(self.ticks);
        ((now.0 % ticks + ticks - u64::from(back)) % ticks) as usize
    }

    /// The numbers of one tick.
    fn stride(&self) -> usize {
        self.positions.len() / self.ticks as usize
    }
}

impl State {
    /// Keeps where the living are, in place of where they were after the oldest tick.
    pub(super) fn keep_past(&mut self, workers: &Workers) {
        if self.past.ticks == 0 {
            return;
        }
        let (used, columns) = (self.slots.used(), self.columns);
        let (place, stride) = (self.past.place(self.tick, 0), self.past.stride());
        let dimensions = self.past.dimensions;
        let mut kept = &mut self.past.positions[place * stride..][..used * dimensions];
        let (slots, rows) = (&self.slots, &self.rows);
        let parts = workers.parts(used);
        let mut hashes = vec![0u64; parts];
        let tasks = ranges(used, parts).zip(&mut hashes).map(|(range, hash)| {
            let own = take(&mut kept, range.len() * dimensions);
            (range, own, hash)
        });
        workers.run(tasks.collect(), |(range, own, hash)| {
            for (slot, to) in range.zip(own.chunks_exact_mut(dimensions)) {
                if !slots.is_live(slot) {
                    continue;
                }
                let here = &rows[slot * columns..][..dimensions];
                for (axis, (to, here)) in to.iter_mut().zip(here).enumerate() {
                    let at = place * stride + slot * dimensions + axis;
                    let before = past(at, std::mem::replace(to, here + 1));
                    *hash = hash.wrapping_add(past(at, *to)).wrapping_sub(before);
                }
            }
        });
        for hash in hashes {
            self.add(part::TRACKS, hash);
        }
    }

    /// Forgets where an entity was that dies.
    pub(super) fn bury_past(&mut self, slot: Slot) {
        let dimensions = self.past.dimensions;
        for place in 0..self.past.ticks as usize {
            let at = place * self.past.stride() + slot.index() * dimensions;
            for at in at..at + dimensions {
                let before = std::mem::take(&mut self.past.positions[at]);
                self.subtract(part::TRACKS, past(at, before));
            }
        }
    }
}
