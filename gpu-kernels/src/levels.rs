//! How the boxes of a world are sorted, so that who overlaps one of them is found
//! without looking at all: by level, within a level by the cell of their low corner.
//!
//! A level holds boxes whose longest edge is at most its cells' and more than half
//! of it; the last one holds all that are longer too. So those that overlap a box lie
//! in the cells that it touches and one more on each axis. It is the order of the
//! region engine (`regions/cpu/layout.rs`), but the same in each tick whatever there
//! is: nothing has to be measured first, and who remembers nothing is told in an
//! order that can be stated.

use shared::WorldConfig;

use crate::regions::Aabb;

/// The levels of one world.
#[derive(Clone, Debug)]
pub struct Levels {
    size: [i32; 3],
    levels: Vec<Level>,
}

/// Boxes of about one size.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Of a cell, in raw units.
    pub edge: i64,
    /// Cells on each axis.
    pub cells: [u64; 3],
    /// The first of its keys.
    pub base: u64,
}

/// A block of a level's cells, both ends included.
pub struct Cells {
    low: [u64; 3],
    high: [u64; 3],
}

impl Levels {
    /// The first level's cells are as large as buckets, the last one's as the world.
    pub fn new(config: &WorldConfig) -> Levels {
        let size = config.size_raw();
        let longest = size.into_iter().max().unwrap_or(1);
        let mut edge = i64::from(config.schema.world.aoi.raw());
        let mut base = 0;
        let mut levels = vec![];
        loop {
            let cells = size.map(|size| ((i64::from(size) - 1) / edge) as u64 + 1);
            levels.push(Level { edge, cells, base });
            base += cells.iter().product::<u64>();
            if edge >= i64::from(longest) {
                return Levels { size, levels };
            }
            edge *= 2;
        }
    }

    pub fn all(&self) -> &[Level] {
        &self.levels
    }

    /// Keys are below this.
    pub fn keys(&self) -> u64 {
        let last = self.levels.last();
        last.map_or(0, |last| last.base + last.cells.iter().product::<u64>())
    }

    /// Where a box is sorted.
    pub fn key(&self, aabb: &Aabb<3>) -> u64 {
        let longest = (0..3).map(|axis| i64::from(aabb.extent(axis))).max();
        let fits = |level: &&Level| longest.is_none_or(|longest| longest <= level.edge);
        let level = self.levels.iter().find(fits).or(self.levels.last());
        level.map_or(0, |level| {
            let cell: [u64; 3] =
                std::array::from_fn(|axis| self.cell(level, axis, aabb.low[axis].into()));
            level.row(cell[1], cell[2]) + cell[0]
        })
    }

    /// The cells in which the low corners of boxes of a level can lie that overlap
    /// this one.
    pub fn cells_around(&self, level: &Level, aabb: &Aabb<3>) -> Cells {
        let from = |axis: usize| i64::from(aabb.low[axis]) - level.edge + 1;
        let to = |axis: usize| i64::from(aabb.high[axis]) - 1;
        Cells {
            low: std::array::from_fn(|axis| self.cell(level, axis, from(axis))),
            high: std::array::from_fn(|axis| self.cell(level, axis, to(axis))),
        }
    }

    /// Of the nearest point inside the world.
    fn cell(&self, level: &Level, axis: usize, position: i64) -> u64 {
        let inside = position.clamp(0, i64::from(self.size[axis]) - 1);
        (inside / level.edge) as u64
    }
}

impl Level {
    /// The key of a row's first cell.
    fn row(&self, y: u64, z: u64) -> u64 {
        self.base + (z * self.cells[1] + y) * self.cells[0]
    }
}

impl Cells {
    pub fn rows(&self) -> u64 {
        (self.high[1] - self.low[1] + 1) * (self.high[2] - self.low[2] + 1)
    }

    /// Calls `visit` with the first key of each row of cells, and the first after it.
    pub fn each_row(&self, level: &Level, mut visit: impl FnMut(u64, u64)) {
        for z in self.low[2]..=self.high[2] {
            for y in self.low[1]..=self.high[1] {
                let row = level.row(y, z);
                visit(row + self.low[0], row + self.high[0] + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_overlaps_lies_in_the_cells_around() {
        let text = "[world]\nsize = [40, 25, 3]\naoi = 2.5";
        let levels = Levels::new(&WorldConfig::parse(text, "test").unwrap());
        let mut random = shared::mix::Random::new(1, shared::Tick(2), shared::EntityId::NONE);
        let mut overlaps = 0;
        let mut any = |below: u32| random.below(below) as i32;
        for _ in 0..200_000 {
            let mut aabb = || {
                let low = [any(200_000) - 20_000, any(150_000) - 20_000, any(20_000)];
                let edge = 1 << any(18);
                let edges = [0; 3].map(|_| 1 + any(edge));
                let high = std::array::from_fn(|axis| low[axis] + edges[axis]);
                Aabb { low, high }
            };
            let (a, b) = (aabb(), aabb());
            let key = levels.key(&b);
            assert!(key < levels.keys());
            if !a.overlaps(&b) {
                continue;
            }
            overlaps += 1;
            let mut found = 0;
            for level in levels.all() {
                levels.cells_around(level, &a).each_row(level, |from, to| {
                    found += u32::from((from..to).contains(&key))
                });
            }
            assert_eq!(found, 1, "{a:?} {b:?}");
        }
        assert!(overlaps > 1000, "{overlaps}");
    }
}
