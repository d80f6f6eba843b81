//! The order in which a world's boxes are sorted: by level, within a level by the cell of
//! their low corner. So the boxes that overlap a given one are found without
//! comparing all boxes.
//!
//! A level has the boxes whose longest edge is at most the edge of its cells and more than
//! half of it. The last level also has all longer boxes. So the boxes that overlap a given
//! one are in the cells that it touches and one more on each axis.
//!
//! The region engine (`regions/cpu/layout.rs`) uses the same kind of order, but measures the
//! boxes first. Here the levels depend only on the world's configuration. So nothing has to
//! be measured, and the order is the same in each tick.

use shared::WorldConfig;

use crate::space::Aabb;

/// The levels of one world.
#[derive(Clone, Debug)]
pub struct Levels {
    size: [i32; 3],
    levels: Vec<Level>,
}

/// Boxes of about one size.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// The edge of a cell in raw units.
    pub edge: i64,
    /// The number of cells on each axis.
    pub cells: [u64; 3],
    /// The first key of the level.
    pub base: u64,
}

/// A block of a level's cells, both ends included.
pub struct Cells {
    low: [u64; 3],
    high: [u64; 3],
}

impl Levels {
    /// The levels of a world. The cells of the first level are as large as buckets, those of
    /// the last one as the world.
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

    /// The levels, smallest cells first.
    pub fn all(&self) -> &[Level] {
        &self.levels
    }

    /// The number of keys. All keys are below it.
    pub fn keys(&self) -> u64 {
        let last = self.levels.last();
        last.map_or(0, |last| last.base + last.cells.iter().product::<u64>())
    }

    /// The sort key of a box.
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

    /// The cells that can have the low corner of a level's box that overlaps this one.
    pub fn cells_around(&self, level: &Level, aabb: &Aabb<3>) -> Cells {
        let from = |axis: usize| i64::from(aabb.low[axis]) - level.edge + 1;
        let to = |axis: usize| i64::from(aabb.high[axis]) - 1;
        Cells {
            low: std::array::from_fn(|axis| self.cell(level, axis, from(axis))),
            high: std::array::from_fn(|axis| self.cell(level, axis, to(axis))),
        }
    }

    /// The cell of a position along an axis, or of the nearest position in the world.
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
    /// The number of rows along the x axis.
    pub fn rows(&self) -> u64 {
        (self.high[1] - self.low[1] + 1) * (self.high[2] - self.low[2] + 1)
    }

    /// Calls `visit` for each row of cells, with its first key and the first key after it.
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
    fn overlapping_boxes_are_in_the_cells_around() {
        let text = "[world]\nsize = [40, 25, 3]\naoi = 2.5";
        let levels = Levels::new(&world_file::parse(text, "test").unwrap());
        let mut random =
            shared::world::mix::Random::new(1, shared::Tick(2), shared::EntityId::NONE);
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
