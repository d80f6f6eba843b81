use std::ops::Range;

use shared::WorldConfig;
use shared::world::attribute::bits_for;

use crate::space::Aabb;
use crate::space::levels::Levels;
use device::cpu::RadixSorter;
use device::cpu::Workers;

/// Boxes sorted by level and cell, searchable by overlap.
pub struct Boxes {
    levels: Levels,
    key_bits: u32,
    sorter: RadixSorter<(u64, u32)>,
    /// Numbers and boxes, as given.
    given: Vec<(u32, Aabb<3>)>,
    /// (key, place in `given`), by key.
    pairs: Vec<(u64, u32)>,
    /// The entries of `given`, by key.
    sorted: Vec<(u32, Aabb<3>)>,
    /// By level: the range of its boxes in `sorted`.
    places: Vec<Range<usize>>,
}

impl Boxes {
    pub fn new(config: &WorldConfig) -> Boxes {
        let levels = Levels::new(config);
        Boxes {
            key_bits: bits_for(levels.keys() - 1),
            places: vec![0..0; levels.all().len()],
            levels,
            sorter: RadixSorter::new(0),
            given: vec![],
            pairs: vec![],
            sorted: vec![],
        }
    }

    /// Replaces all boxes. Those in one cell keep the order in which they are given.
    pub fn build(&mut self, workers: &Workers, all: impl Iterator<Item = (u32, Aabb<3>)>) {
        self.given.clear();
        self.given.extend(all);
        self.pairs.clear();
        let keyed = self.given.iter().zip(0..);
        self.pairs
            .extend(keyed.map(|((_, aabb), i)| (self.levels.key(aabb), i)));
        let n = self.given.len();
        if n > 0 {
            self.sorter
                .sort(workers, &mut self.pairs, n, 0..self.key_bits);
        }
        self.pairs.truncate(n);
        self.sorted.clear();
        let order = self.pairs.iter();
        self.sorted
            .extend(order.map(|&(_, i)| self.given[i as usize]));
        let pairs = &self.pairs;
        for (level, places) in self.levels.all().iter().zip(&mut self.places) {
            let end = level.base + level.cells.iter().product::<u64>();
            let reach = |key| pairs.partition_point(|pair| pair.0 < key);
            *places = reach(level.base)..reach(end);
        }
    }

    /// Calls `visit` with the number of each box that overlaps this one, by level,
    /// cell, and the order in which they were given.
    pub fn each_overlapping(&self, aabb: &Aabb<3>, mut visit: impl FnMut(u32)) {
        let mut compare = |places: Range<usize>| {
            for (number, other) in &self.sorted[places] {
                if other.overlaps(aabb) {
                    visit(*number);
                }
            }
        };
        for (level, places) in self.levels.all().iter().zip(&self.places) {
            if places.is_empty() {
                continue;
            }
            let cells = self.levels.cells_around(level, aabb);
            if cells.rows() > places.len() as u64 {
                compare(places.clone());
                continue;
            }
            let keys = &self.pairs[places.clone()];
            cells.each_row(level, |from, to| {
                let reach = |key| places.start + keys.partition_point(|pair| pair.0 < key);
                compare(reach(from)..reach(to));
            });
        }
    }
}
