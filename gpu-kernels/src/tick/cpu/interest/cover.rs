//! The union of a client's subscriptions, visited once however many of them overlap.

use std::ops::Range;

use crate::space::Aabb;
use crate::tick::cpu::{Boxes, Index};

/// The boxes of one client's subscriptions, together.
#[derive(Default)]
pub struct Cover {
    /// Without those within another.
    boxes: Vec<Aabb<3>>,
    /// The rows of buckets that they touch, by key.
    rows: Vec<Row>,
    /// The rows that touch the keys which are being visited.
    active: Vec<Row>,
    seen: NumberSet,
}

/// A row of buckets that a box touches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    from: u64,
    to: u64,
    /// Its place among the boxes; [`ALL`] where a box has all positions of the row.
    place: u32,
}

impl Cover {
    /// Replaces the boxes. Their order stays; of two equal ones the first stays.
    pub fn set(&mut self, boxes: impl Iterator<Item = Aabb<3>>) {
        self.boxes.clear();
        for aabb in boxes {
            if !self.boxes.iter().any(|other| is_within(&aabb, other)) {
                self.boxes.push(aabb);
            }
        }
    }

    /// Removes the boxes within a later one, too. Not where their order matters.
    pub fn simplify(&mut self) {
        for i in (0..self.boxes.len()).rev() {
            let rest = &self.boxes[i + 1..];
            if rest.iter().any(|other| is_within(&self.boxes[i], other)) {
                self.boxes.swap_remove(i);
            }
        }
    }

    pub fn boxes(&self) -> &[Aabb<3>] {
        &self.boxes
    }

    fn contains(&self, position: [i32; 3]) -> bool {
        self.boxes.iter().any(|aabb| aabb.contains(position))
    }

    /// Calls `visit` for the place of each entity whose position is in any of the boxes, each
    /// once, in index order.
    pub fn in_any(&mut self, index: &Index, mut visit: impl FnMut(usize)) {
        if let [one] = &self.boxes[..] {
            return index.in_box(one, visit);
        }
        let blocks = self.boxes.iter().map(|aabb| index.block_of_box(aabb));
        let rows = blocks.clone().map(|block| block.rows()).sum::<u64>();
        // Then it is cheaper to check all entities.
        if rows > index.slots().len() as u64 {
            for at in 0..index.slots().len() {
                if self.contains(index.position(at)) {
                    visit(at);
                }
            }
            return;
        }
        self.rows.clear();
        let within = self
            .boxes
            .iter()
            .filter_map(|aabb| index.block_within(aabb));
        let within = within.map(|block| (block, ALL));
        for (block, place) in blocks.zip(0..).chain(within) {
            index.each_row(block, |keys| {
                self.rows.push(Row {
                    from: keys.start,
                    to: keys.end,
                    place,
                });
            });
        }
        self.rows.sort_unstable();
        let (boxes, active) = (&self.boxes, &mut self.active);
        let mut rows = self.rows.iter().copied().peekable();
        active.clear();
        let mut reached: Range<u64> = 0..0;
        let mut end = 0;
        loop {
            active.retain(|row| row.to > reached.end);
            let from = match (active.is_empty(), rows.peek()) {
                (true, None) => return,
                (true, Some(row)) => row.from,
                (false, _) => reached.end,
            };
            while let Some(row) = rows.next_if(|row| row.from <= from) {
                active.push(row);
            }
            let ends = active.iter().map(|row| row.to);
            let to = ends.chain(rows.peek().map(|row| row.from)).min();
            let to = to.unwrap_or(from);
            let start = match from == reached.end {
                true => end,
                false => index.lower_bound(from),
            };
            end = index.lower_bound(to);
            reached = from..to;
            if active.iter().any(|row| row.place == ALL) {
                (start..end).for_each(&mut visit);
                continue;
            }
            for at in start..end {
                let position = index.position(at);
                if active
                    .iter()
                    .any(|row| boxes[row.place as usize].contains(position))
                {
                    visit(at);
                }
            }
        }
    }

    /// Calls `visit` with the number of each of `others` that overlaps any of the boxes, each
    /// once. `numbers_max` is above all of these numbers.
    pub fn overlapping(&mut self, others: &Boxes, numbers_max: usize, mut visit: impl FnMut(u32)) {
        self.seen.begin(numbers_max);
        for aabb in &self.boxes {
            others.each_overlapping(aabb, |number| {
                if self.seen.is_new(number) {
                    visit(number);
                }
            });
        }
    }

    /// Calls `visit` as [`Cover::overlapping`] does, for those whose position is in none of the
    /// boxes.
    pub fn overlapping_outside(
        &mut self,
        others: &Boxes,
        numbers_max: usize,
        position: impl Fn(u32) -> [i32; 3],
        mut visit: impl FnMut(u32, [i32; 3]),
    ) {
        self.seen.begin(numbers_max);
        for aabb in &self.boxes {
            others.each_overlapping(aabb, |number| {
                if !self.seen.is_new(number) {
                    return;
                }
                let position = position(number);
                if !self.boxes.iter().any(|aabb| aabb.contains(position)) {
                    visit(number, position);
                }
            });
        }
    }
}

/// The place of a row of which a box has all positions.
const ALL: u32 = u32::MAX;

/// Whether a box is within another.
fn is_within(aabb: &Aabb<3>, other: &Aabb<3>) -> bool {
    (0..3).all(|axis| other.low[axis] <= aabb.low[axis] && aabb.high[axis] <= other.high[axis])
}

/// A set of numbers that is cleared in the time that filling it took.
#[derive(Default)]
pub struct NumberSet {
    bits: Vec<u64>,
    numbers: Vec<u32>,
}

impl NumberSet {
    /// Removes all numbers, and makes room for those below `numbers_max`.
    pub fn begin(&mut self, numbers_max: usize) {
        for number in self.numbers.drain(..) {
            self.bits[number as usize / 64] = 0;
        }
        let words = numbers_max.div_ceil(64);
        if self.bits.len() < words {
            self.bits.resize(words, 0);
        }
    }

    /// Adds a number; false if it was there already.
    pub fn is_new(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.bits[number as usize / 64], 1 << (number % 64));
        let is_new = *word & bit == 0;
        if is_new {
            *word |= bit;
            self.numbers.push(number);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use shared::{Slot, Tick, WorldConfig};

    use super::*;
    use crate::tick::cpu::CpuBackend;
    use crate::tick::frame::Frame;
    use crate::{Backend, Holder, Region, RegionChange};

    const UNIT: i32 = 4096;

    /// 3,000 entities, of which every third is published in a box around it.
    fn field(size: &str, aoi: u32) -> (WorldConfig, CpuBackend) {
        let text = format!(
            "[world]\nsize = {size}\naoi = {aoi}\ncapacity = 3000\n[limits]\nclients = 1\n\
             regions_per_client = 64\nentity_regions = true\nregion_edge_max = 100\n\
             [[kind]]\nname = \"sheep\"\npopulation = 3000\n"
        );
        let config = world_file::parse(&text, "test").unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        backend.tick(&frame).unwrap();
        frame.reset(Tick(1));
        for slot in (0..3000).step_by(3) {
            let entity = shared::EntityId::new(slot, 1);
            frame.regions.push(RegionChange {
                holder: Holder::Publication(entity),
                region: Some(Region::around(entity, [4 * UNIT; 3])),
            });
        }
        backend.tick(&frame).unwrap();
        (config, backend)
    }

    /// Boxes within a world of 100 units, some within others, many that overlap.
    fn boxes(seed: u64, count: u64, dimensions: usize) -> Vec<Aabb<3>> {
        let dice = |i: u64, n: u64| (shared::world::mix::mix(seed, i) % n) as i32;
        let one = |i: u64| {
            let low = [0, 1, 2].map(|axis| dice(8 * i + axis, 100) * UNIT - 5 * UNIT);
            let edge = [3, 4, 5].map(|axis| dice(8 * i + axis, 30) * UNIT + 1);
            Aabb {
                low: std::array::from_fn(|axis| if axis < dimensions { low[axis] } else { 0 }),
                high: std::array::from_fn(|axis| match axis < dimensions {
                    true => low[axis] + edge[axis],
                    false => 1,
                }),
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn what_any_box_covers_is_visited_once_in_index_order() {
        for (size, aoi, dimensions) in [("[100, 100]", 5, 2), ("[100, 100, 100]", 9, 3)] {
            let (_, backend) = field(size, aoi);
            let index = &backend.index;
            let mut cover = Cover::default();
            for seed in 0..60 {
                let boxes = boxes(seed, [1, 2, 5, 20, 64][seed as usize % 5], dimensions);
                cover.set(boxes.iter().copied());
                if seed % 2 == 0 {
                    cover.simplify();
                }
                let is_in = |p| boxes.iter().any(|aabb| aabb.contains(p));
                let mut found = vec![];
                cover.in_any(index, |at| found.push(at));
                let all = 0..index.slots().len();
                let expected: Vec<usize> = all.filter(|&at| is_in(index.position(at))).collect();
                assert_eq!(found, expected, "seed {seed}");

                let position = |slot| backend.state.position(Slot(slot), dimensions);
                let mut outside = vec![];
                let mut touched = vec![];
                let published = &backend.published;
                cover.overlapping_outside(published, 3000, position, |slot, p| {
                    assert_eq!(p, position(slot));
                    outside.push(slot);
                });
                cover.overlapping(published, 3000, |slot| touched.push(slot));
                outside.sort_unstable();
                touched.sort_unstable();
                let overlaps = |slot: &u32| {
                    let own = backend.state.publication(*slot, dimensions);
                    own.is_some_and(|own| boxes.iter().any(|aabb| aabb.overlaps(&own)))
                };
                let expected: Vec<u32> = (0..3000).filter(overlaps).collect();
                assert_eq!(touched, expected, "seed {seed}");
                let expected: Vec<u32> = expected
                    .into_iter()
                    .filter(|&slot| !is_in(position(slot)))
                    .collect();
                assert_eq!(outside, expected, "seed {seed}");
            }
        }
    }

    #[test]
    fn boxes_within_others_cost_nothing() {
        let inner = boxes(3, 60, 2);
        let hull = inner.iter().fold(Aabb::NOWHERE, |hull, b| hull.hull(b));
        let mut cover = Cover::default();
        cover.set(std::iter::once(hull).chain(inner.iter().copied()));
        assert_eq!(cover.boxes(), [hull]);
        cover.set(inner.iter().copied().chain([hull, hull]));
        assert!(cover.boxes().len() > 1);
        cover.simplify();
        assert_eq!(cover.boxes(), [hull]);
    }
}
