use super::boxes::{Motion, SideView};
use super::matching::{Entry, Finder, Roles};
use crate::regions::RegionsConfig;
use device::cpu::{RadixSorter, Workers, grow, ranges, take};
use gpu_kernels::space::Aabb;

/// The paper's grid-based approach (III.C): each region is recorded in the list of
/// every grid cell that it touches, and each updated one is compared with those in
/// the lists of its cells. Lists are made by count, scan and store, and sorted by
/// cell, where the paper appends to them by atomic instructions.
///
/// Two regions may meet in several cells. They are compared in the first cell that
/// both touch only.
pub struct Cells<const D: usize> {
    low: [i32; D],
    high: [i32; D],
    edge: Option<u32>,
    grid: Grid<D>,
    /// Those of publications, and those of subscriptions.
    lists: [Lists; 2],
}

struct Grid<const D: usize> {
    low: [i32; D],
    edge: u32,
    cells: [u64; D],
}

/// One side's lists.
struct Lists {
    sorter: RadixSorter<(u32, u32)>,
    len: usize,
    /// (cell, entry), sorted.
    pairs: Vec<(u32, u32)>,
    /// Where each cell's list begins, and where the last one ends.
    starts: Vec<u32>,
}

/// A block of cells, both ends included. Axes beyond the grid's are 0.
#[derive(Clone, Copy)]
struct Block {
    low: [u64; 3],
    high: [u64; 3],
}

impl<const D: usize> Cells<D> {
    pub fn new(config: &RegionsConfig) -> Cells<D> {
        let dimensions = config.space.dimensions();
        let low = std::array::from_fn(|axis| dimensions[axis].low);
        let high = std::array::from_fn(|axis| dimensions[axis].high);
        Cells {
            low,
            high,
            edge: config.cell_edge,
            grid: Grid::new(low, high, u32::MAX, 1),
            lists: [Lists::new(), Lists::new()],
        }
    }

    pub fn find(&mut self, finder: &mut Finder<'_, D>) {
        let sides = finder.sides;
        let mut edge = self.edge.unwrap_or_else(|| self.cheapest_edge(&sides));
        let regions = sides
            .iter()
            .map(|side| side.motions.len() as u64)
            .sum::<u64>();
        loop {
            self.grid = Grid::new(self.low, self.high, edge, regions);
            let mapped = sides.iter().map(|side| self.grid.mapped(side)).sum::<u64>();
            if mapped <= MAPPED_MAX || self.grid.cells == [1; D] {
                break;
            }
            edge = edge.saturating_mul(2);
        }
        for (lists, side) in self.lists.iter_mut().zip(&sides) {
            lists.build(finder.workers, &self.grid, side);
        }
        self.look_up(finder, 0, Roles::PublicationFirst);
        if sides[0].still > 0 {
            self.look_up(finder, 1, Roles::SubscriptionFirst);
        }
    }

    /// Each updated region of a side is compared with those in the lists of its
    /// cells.
    fn look_up(&self, finder: &mut Finder<'_, D>, side: usize, roles: Roles) {
        let workers = finder.workers;
        let (queries, others) = (finder.sides[side], finder.sides[1 - side]);
        let (grid, lists) = (&self.grid, &self.lists[1 - side]);
        let parts = workers.parts_of(queries.updated.len(), GRAIN);
        let tasks = ranges(queries.updated.len(), parts).zip(finder.hits(parts));
        workers.run(tasks.collect(), |(range, hits)| {
            for &number in &queries.updated[range] {
                let motion = queries.motion(number);
                Entry::each(number, &motion, |entry, aabb| {
                    let block = grid.block(&aabb);
                    block.each(|cell| {
                        for &(_, other) in lists.of(grid.number(cell)) {
                            let other = Entry::from_bits(other);
                            if roles == Roles::SubscriptionFirst
                                && others.is_updated(other.number())
                            {
                                continue;
                            }
                            let other_motion = others.motion(other.number());
                            let first = block.first_common(grid, &other.aabb(&other_motion));
                            if first == cell {
                                hits.compare(roles, (entry, &motion), (other, &other_motion));
                            }
                        }
                    });
                });
            }
        });
    }

    /// The edge for which recording and comparing the regions would cost least if they
    /// were spread evenly and all had their mean size (the paper's reference [7]).
    fn cheapest_edge(&self, sides: &[SideView<'_, D>; 2]) -> u32 {
        let mut total = [0u64; D];
        let mut count = 0u64;
        for Motion { now: aabb, .. } in sides.iter().flat_map(|side| side.motions) {
            if !aabb.is_nowhere() {
                count += 1;
                for (axis, total) in total.iter_mut().enumerate() {
                    *total += u64::from(aabb.extent(axis));
                }
            }
        }
        let count = count.max(1) as f64;
        let updated = sides.iter().map(|side| side.updated.len()).sum::<usize>() as f64;
        let cost = |edge: f64| {
            let (mut touched, mut cells) = (1.0, 1.0);
            for (axis, &total) in total.iter().enumerate() {
                touched *= total as f64 / count / edge + 1.0;
                let range = f64::from(self.high[axis]) - f64::from(self.low[axis]);
                cells *= (range / edge).max(1.0);
            }
            let listed = count / 2.0 * touched / cells;
            count * touched * COST_RECORD + updated * touched * (COST_CELL + listed * COST_COMPARE)
        };
        let edges = (0..31).map(|bit| 1u32 << bit);
        edges
            .min_by(|&one, &other| cost(one.into()).total_cmp(&cost(other.into())))
            .unwrap_or(1)
    }
}

impl<const D: usize> Grid<D> {
    /// A grid with this edge, doubled until there are not too many cells.
    fn new(low: [i32; D], high: [i32; D], edge: u32, regions: u64) -> Grid<D> {
        let mut edge = edge;
        let cells_max = (regions * CELLS_PER_REGION).clamp(CELLS_FEW, CELLS_MAX);
        loop {
            let cells: [u64; D] = std::array::from_fn(|axis| {
                let range = high[axis].wrapping_sub(low[axis]) as u32;
                u64::from(range.div_ceil(edge))
            });
            let all = cells.iter().try_fold(1, |all: u64, &n| all.checked_mul(n));
            if all.is_some_and(|all| all <= cells_max) {
                return Grid { low, edge, cells };
            }
            edge = edge.saturating_mul(2);
        }
    }

    fn block(&self, aabb: &Aabb<D>) -> Block {
        let mut block = Block {
            low: [0; 3],
            high: [0; 3],
        };
        for axis in 0..D {
            let cell = |at: i32| u64::from(at.wrapping_sub(self.low[axis]) as u32 / self.edge);
            block.low[axis] = cell(aabb.low[axis]);
            block.high[axis] = cell(aabb.high[axis] - 1);
        }
        block
    }

    fn number(&self, cell: [u64; 3]) -> usize {
        let number = (0..D)
            .rev()
            .fold(0, |n, axis| n * self.cells[axis] + cell[axis]);
        number as usize
    }

    /// Records of a side's regions in all lists.
    fn mapped(&self, side: &SideView<'_, D>) -> u64 {
        let mut mapped = 0;
        each_entry(side, 0..side.motions.len() as u32, |_, aabb| {
            mapped += self.block(&aabb).cells();
        });
        mapped
    }
}

impl Block {
    fn cells(&self) -> u64 {
        (0..3)
            .map(|axis| self.high[axis] - self.low[axis] + 1)
            .product()
    }

    fn each(&self, mut visit: impl FnMut([u64; 3])) {
        for z in self.low[2]..=self.high[2] {
            for y in self.low[1]..=self.high[1] {
                for x in self.low[0]..=self.high[0] {
                    visit([x, y, z]);
                }
            }
        }
    }

    /// The lowest cell that another box touches too, if there is one.
    fn first_common<const D: usize>(&self, grid: &Grid<D>, aabb: &Aabb<D>) -> [u64; 3] {
        let other = grid.block(aabb);
        std::array::from_fn(|axis| self.low[axis].max(other.low[axis]))
    }
}

/// Calls `visit` with all entries of a range of numbers: those of the updated
/// regions, and those that stay.
fn each_entry<const D: usize>(
    side: &SideView<'_, D>,
    numbers: std::ops::Range<u32>,
    mut visit: impl FnMut(Entry, Aabb<D>),
) {
    for number in numbers {
        let now = side.motions[number as usize].now;
        if side.is_updated(number) {
            Entry::each(number, &side.motion(number), &mut visit);
        } else if !now.is_nowhere() {
            visit(Entry::still(number), now);
        }
    }
}

impl Lists {
    fn new() -> Lists {
        Lists {
            sorter: RadixSorter::new(0),
            len: 0,
            pairs: vec![],
            starts: vec![],
        }
    }

    fn build<const D: usize>(&mut self, workers: &Workers, grid: &Grid<D>, side: &SideView<'_, D>) {
        let numbers = side.motions.len();
        let parts = workers.parts(numbers);
        let mut counts = vec![0; parts];
        let tasks = ranges(numbers, parts).zip(&mut counts);
        workers.run(tasks.collect(), |(range, count)| {
            each_entry(side, range.start as u32..range.end as u32, |_, aabb| {
                *count += grid.block(&aabb).cells() as usize;
            });
        });
        self.len = counts.iter().sum();
        grow(&mut self.pairs, self.len);
        let mut rest = &mut self.pairs[..self.len];
        let tasks = ranges(numbers, parts)
            .zip(&counts)
            .map(|(range, &count)| (range, take(&mut rest, count)));
        workers.run(tasks.collect(), |(range, pairs)| {
            let mut next = pairs.iter_mut();
            each_entry(side, range.start as u32..range.end as u32, |entry, aabb| {
                grid.block(&aabb).each(|cell| {
                    if let Some(pair) = next.next() {
                        *pair = (grid.number(cell) as u32, entry.bits());
                    }
                });
            });
        });
        let cells = grid.cells.iter().product::<u64>();
        let bits = u64::BITS - (cells - 1).leading_zeros();
        self.sorter
            .sort(workers, &mut self.pairs, self.len, 0..bits);
        self.starts.clear();
        let pairs = &self.pairs[..self.len];
        let mut place = 0;
        for cell in 0..=cells as u32 {
            while place < pairs.len() && pairs[place].0 < cell {
                place += 1;
            }
            self.starts.push(place as u32);
        }
    }

    fn of(&self, cell: usize) -> &[(u32, u32)] {
        &self.pairs[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }
}

/// Every step makes a list for each cell, so there may not be many more cells than
/// regions, even if the configured edge would make more.
const CELLS_PER_REGION: u64 = 16;
const CELLS_FEW: u64 = 1 << 10;
const CELLS_MAX: u64 = 1 << 22;
/// Records of both sides together; with more, the cells are made larger.
const MAPPED_MAX: u64 = 1 << 26;
/// Rough costs in nanoseconds; only their ratios matter.
const COST_RECORD: f64 = 12.0;
const COST_CELL: f64 = 6.0;
const COST_COMPARE: f64 = 3.0;
/// Queries below which a second thread isn't worth its wake-up.
const GRAIN: usize = 512;
