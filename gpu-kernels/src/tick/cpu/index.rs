mod patch;

use std::ops::Range;

use shared::WorldConfig;
use shared::world::attribute::bits_for;

use super::reciprocal::Reciprocal;
use super::{RadixSorter, State};
use crate::logic::within_distance;
use crate::space::Aabb;
use crate::tick::output::Changes;
use device::cpu::lanes::{Ball, Points, append_near};
use device::cpu::{BucketSorter, NO_BUCKET, Sorted, Workers, grow, ranges, take};
use patch::Patch;

/// The entities, sorted by bucket (thesis 3.5).
///
/// Buckets are numbered row by row, so the neighbours of one are a few contiguous
/// ranges of the sorted entities. Nothing is allocated per bucket in worlds with many more
/// buckets than entities: a directory about as long as the world has entities gives where runs of
/// bucket numbers begin, and a binary search finds the number within its run. Few buckets are
/// runs of their own, which counting sorts fill.
pub struct Index {
    dimensions: usize,
    /// The edge of a bucket.
    aoi: i32,
    edge: Reciprocal,
    size: [i32; 3],
    /// Buckets per axis.
    buckets: [u64; 3],
    key_bits: u32,
    /// For worlds of two and of three dimensions.
    flat_sorter: BucketSorter<2>,
    deep_sorter: BucketSorter<3>,
    sorter: RadixSorter<(u64, u32)>,
    /// By slot: its bucket, or [`NO_BUCKET`], where buckets were counted.
    keys: Vec<u32>,
    /// Whether each bucket is a run of the directory, and was counted.
    is_counted: bool,
    patch: Patch,
    len: usize,
    /// (bucket, slot), where buckets are many more than entities.
    pairs: Vec<(u64, u32)>,
    slots: Vec<u32>,
    /// Positions in the same order.
    positions: [Vec<i32>; 3],
    /// `directory[key >> shift]`: the first entity with at least that run's keys.
    directory: Vec<u32>,
    shift: u32,
    /// [`Slots::version`](super::slots::Slots::version) when it was built.
    version: u64,
}

/// A block of buckets, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    low: [u64; 3],
    high: [u64; 3],
}

impl Block {
    /// The number of rows of buckets.
    pub fn rows(&self) -> u64 {
        (self.high[1] - self.low[1] + 1) * (self.high[2] - self.low[2] + 1)
    }

    /// Whether a position is in one of the block's buckets.
    pub fn contains(&self, index: &Index, position: [i32; 3]) -> bool {
        let bucket = index.bucket_at(position);
        (0..3).all(|axis| (self.low[axis]..=self.high[axis]).contains(&bucket[axis]))
    }
}

impl Index {
    pub fn new(config: &WorldConfig) -> Index {
        let edge = config.schema.world.aoi.raw();
        let size = config.size_raw();
        let buckets = size.map(|s| (i64::from(s) - 1) as u64 / edge as u64 + 1);
        let total = buckets.iter().product::<u64>();
        let runs_max = u64::from(config.schema.world.capacity).max(16_384) * BUCKETS_PER_ENTITY;
        let shift = (0..64).find(|&s| total >> s < runs_max).unwrap_or(63);
        Index {
            dimensions: config.dimensions(),
            aoi: edge,
            edge: Reciprocal::of(edge as u32),
            size,
            buckets,
            key_bits: bits_for(total - 1),
            flat_sorter: BucketSorter::default(),
            deep_sorter: BucketSorter::default(),
            sorter: RadixSorter::new(0),
            keys: vec![],
            is_counted: false,
            patch: Patch::default(),
            len: 0,
            pairs: vec![],
            slots: vec![],
            positions: Default::default(),
            directory: vec![0; (total >> shift) as usize + 2],
            shift,
            version: 0,
        }
    }

    /// The entities by bucket, then by slot.
    pub fn slots(&self) -> &[u32] {
        &self.slots[..self.len]
    }

    /// The positions along one axis, in the order of [`Index::slots`].
    pub fn positions(&self, axis: usize) -> &[i32] {
        &self.positions[axis][..self.len]
    }

    /// Some entities in the order of [`Index::slots`], each with a word.
    #[inline]
    pub fn points<'a, const AXES: usize>(
        &'a self,
        places: Range<usize>,
        words: &'a [u32],
    ) -> Points<'a, AXES> {
        let mut axes = [&[][..]; AXES];
        for (axis, positions) in axes.iter_mut().enumerate() {
            *positions = &self.positions[axis][places.clone()];
        }
        Points { axes, words }
    }

    /// Sorts the live entities again, unless few have moved, come or gone.
    pub fn update(&mut self, workers: &Workers, state: &State, changes: &Changes) {
        let dimensions = self.dimensions as u16;
        let has_moved = || changes.columns.iter().any(|&column| column < dimensions);
        if self.version != state.slots.version() || has_moved() {
            if !self.is_counted || !self.patch(workers, state, changes) {
                return self.build(workers, state);
            }
            self.version = state.slots.version();
        }
    }

    /// Sorts the live entities.
    pub fn build(&mut self, workers: &Workers, state: &State) {
        self.version = state.slots.version();
        self.len = state.slots.live();
        grow(&mut self.slots, self.len);
        for positions in &mut self.positions[..self.dimensions] {
            grow(positions, self.len);
        }
        let buckets = self.directory.len() - 2;
        self.is_counted = self.shift == 0 && buckets <= BUCKETS_PER_ENTITY as usize * self.len;
        if self.is_counted {
            if self.dimensions == 2 {
                let mut sorter = std::mem::take(&mut self.flat_sorter);
                self.count(workers, state, &mut sorter);
                self.flat_sorter = sorter;
            } else {
                let mut sorter = std::mem::take(&mut self.deep_sorter);
                self.count(workers, state, &mut sorter);
                self.deep_sorter = sorter;
            }
            return;
        }
        grow(&mut self.pairs, self.len);
        self.collect(workers, state);
        let n = self.len;
        self.sorter
            .sort(workers, &mut self.pairs, n, 0..self.key_bits);
        self.gather(workers, state);
        self.fill_directory(workers);
    }

    /// Sorts them where each bucket is a run.
    fn count<const AXES: usize>(
        &mut self,
        workers: &Workers,
        state: &State,
        sorter: &mut BucketSorter<AXES>,
    ) {
        let (edge, buckets) = (self.edge, self.buckets);
        let point_of = |slot: usize| {
            let row = &state.rows[slot * state.columns..][..AXES];
            let is_somewhere = state.slots.is_somewhere(slot);
            is_somewhere.then(|| std::array::from_fn(|axis| row[axis]))
        };
        let bucket_of = |point: [i32; AXES]| key_of(edge, buckets, &point) as u32;
        let used = state.slots.used();
        self.keys.resize(used, NO_BUCKET);
        let mut positions = self.positions.iter_mut();
        let sorted = Sorted {
            starts: &mut self.directory,
            items: &mut self.slots[..self.len],
            positions: std::array::from_fn(|_| match positions.next() {
                Some(axis) => &mut axis[..self.len],
                None => &mut [],
            }),
        };
        sorter.sort(workers, &mut self.keys, point_of, bucket_of, sorted);
    }

    fn collect(&mut self, workers: &Workers, state: &State) {
        let used = state.slots.used();
        let parts = workers.parts(used);
        let live = |range: Range<usize>| range.filter(|&slot| state.slots.is_somewhere(slot));
        let mut counts = vec![0; parts];
        let tasks = ranges(used, parts).zip(&mut counts);
        workers.run(tasks.collect(), |(range, count)| {
            *count = live(range).count()
        });
        let (edge, buckets) = (self.edge, self.buckets);
        let dimensions = self.dimensions;
        let mut pairs = &mut self.pairs[..self.len];
        let tasks = ranges(used, parts)
            .zip(&counts)
            .map(|(range, &count)| (range, take(&mut pairs, count)));
        workers.run(tasks.collect(), |(range, pairs)| {
            for (i, slot) in live(range).enumerate() {
                let row = &state.rows[slot * state.columns..][..dimensions];
                pairs[i] = (key_of(edge, buckets, row), slot as u32);
            }
        });
    }

    fn gather(&mut self, workers: &Workers, state: &State) {
        let pairs = &self.pairs[..self.len];
        let dimensions = self.dimensions;
        let parts = workers.parts(self.len);
        let mut slots = &mut self.slots[..];
        let mut rest = self.positions.each_mut().map(|axis| &mut axis[..]);
        let tasks = ranges(self.len, parts).map(|range| {
            let len = range.len();
            let out = take_axes(&mut rest[..dimensions], len);
            (range, take(&mut slots, len), out)
        });
        workers.run(tasks.collect(), |(range, slots, mut out)| {
            for (i, &(_, slot)) in pairs[range].iter().enumerate() {
                slots[i] = slot;
                let row = &state.rows[slot as usize * state.columns..][..dimensions];
                for (out, &position) in out.iter_mut().zip(row) {
                    out[i] = position;
                }
            }
        });
    }

    fn fill_directory(&mut self, workers: &Workers) {
        let pairs = &self.pairs[..self.len];
        let parts = workers.parts(self.len);
        let run = |i: usize| (pairs[i].0 >> self.shift) as usize;
        // Each part fills the runs after the previous part, up to its own last run.
        let mut rest = &mut self.directory[..];
        let mut filled = 0;
        let tasks = ranges(self.len, parts).map(|range| {
            let first = filled;
            if !range.is_empty() {
                filled = run(range.end - 1) + 1;
            }
            let entries = take(&mut rest, filled - first);
            (range, first, entries)
        });
        workers.run(tasks.collect(), |(range, first, entries)| {
            let mut next = 0;
            for i in range {
                while first + next <= run(i) {
                    entries[next] = i as u32;
                    next += 1;
                }
            }
        });
        rest.fill(self.len as u32);
    }

    /// The bucket of a point, by axis; for a point outside the world, the nearest bucket.
    #[inline]
    fn bucket_at(&self, point: [i32; 3]) -> [u64; 3] {
        let mut bucket = [0; 3];
        for axis in 0..self.dimensions {
            let inside = point[axis].clamp(0, self.size[axis] - 1);
            bucket[axis] = u64::from(self.edge.divide(inside as u32));
        }
        bucket
    }

    /// The buckets that a box of half the given width around a point touches.
    #[inline]
    pub fn block_around(&self, center: [i32; 3], reach: i32) -> Block {
        let (mut low, mut high) = (center, center);
        for axis in 0..3 {
            low[axis] = low[axis].saturating_sub(reach);
            high[axis] = high[axis].saturating_add(reach);
        }
        Block {
            low: self.bucket_at(low),
            high: self.bucket_at(high),
        }
    }

    /// The box of a block's buckets. Buckets at the world's faces extend beyond the world.
    pub fn box_of_block(&self, block: &Block) -> Aabb<3> {
        let edge = i64::from(self.aoi);
        let corner = |bucket: u64| (bucket as i64 * edge).min(i64::from(i32::MAX)) as i32;
        Aabb {
            low: block.low.map(corner),
            high: block.high.map(|bucket| corner(bucket + 1)),
        }
    }

    /// A point's bucket and its neighbours; at the world's edge there are fewer.
    #[inline]
    pub fn block_of_neighbours(&self, center: [i32; 3]) -> Block {
        let own = self.bucket_at(center);
        let mut block = Block {
            low: own,
            high: own,
        };
        for (axis, &buckets) in self.buckets.iter().enumerate() {
            block.low[axis] = own[axis].saturating_sub(1);
            block.high[axis] = (own[axis] + 1).min(buckets - 1);
        }
        block
    }

    /// Calls `visit` with the range of a block's entities in each row of buckets.
    #[inline]
    pub fn each_range(&self, block: Block, mut visit: impl FnMut(Range<usize>)) {
        self.each_row(block, |keys| {
            visit(self.lower_bound(keys.start)..self.lower_bound(keys.end));
        });
    }

    /// In a flat world: the ranges of the entities in a point's bucket and in its neighbours, for
    /// each row of buckets, as (start, end). Rows outside the world have none.
    #[inline]
    pub fn ranges_around(&self, center: [i32; 3]) -> [(u32, u32); 3] {
        let [x, y, _] = self.bucket_at(center);
        let [columns, rows, _] = self.buckets;
        let (low, high) = (x.saturating_sub(1), (x + 2).min(columns));
        std::array::from_fn(|row| {
            // One more, so that it isn't negative.
            let above = y + row as u64;
            if above == 0 || above > rows {
                return (0, 0);
            }
            let first = (above - 1) * columns;
            let bound = |key| self.lower_bound(key) as u32;
            (bound(first + low), bound(first + high))
        })
    }

    /// Calls `visit` with the range of a block's keys in each row of buckets, ascending.
    #[inline]
    pub fn each_row(&self, block: Block, mut visit: impl FnMut(Range<u64>)) {
        let Block { low, high } = block;
        for z in low[2]..high[2] + 1 {
            for y in low[1]..high[1] + 1 {
                let row = (z * self.buckets[1] + y) * self.buckets[0];
                visit(row + low[0]..row + high[0] + 1);
            }
        }
    }

    /// The buckets that a box touches.
    pub fn block_of_box(&self, aabb: &Aabb<3>) -> Block {
        Block {
            low: self.bucket_at(aabb.low),
            high: self.bucket_at(aabb.high.map(|high| high - 1)),
        }
    }

    /// The buckets of which a box has all positions; none if there are none.
    pub fn block_within(&self, aabb: &Aabb<3>) -> Option<Block> {
        let Block { mut low, mut high } = self.block_of_box(aabb);
        for axis in 0..self.dimensions {
            let edge = i64::from(self.aoi);
            let size = i64::from(self.size[axis]);
            let is_cut_low = i64::from(aabb.low[axis]) > low[axis] as i64 * edge;
            low[axis] += u64::from(is_cut_low);
            let end = ((high[axis] as i64 + 1) * edge).min(size);
            if i64::from(aabb.high[axis]) < end {
                high[axis] = high[axis].checked_sub(1)?;
            }
            if low[axis] > high[axis] {
                return None;
            }
        }
        Some(Block { low, high })
    }

    /// The first entity whose bucket is at least this one.
    #[inline]
    pub fn lower_bound(&self, key: u64) -> usize {
        let run = (key >> self.shift) as usize;
        let start = self.directory[run] as usize;
        if self.shift == 0 {
            return start;
        }
        let end = self.directory[run + 1] as usize;
        start + self.pairs[start..end].partition_point(|&(k, _)| k < key)
    }

    /// Appends the slot of each entity within `radius` of a point, in index order.
    pub fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        match self.dimensions {
            2 => self.near_along::<2>(center, radius, slots),
            _ => self.near_along::<3>(center, radius, slots),
        }
    }

    fn near_along<const AXES: usize>(&self, center: [i32; 3], radius: i32, out: &mut Vec<u32>) {
        let ball = Ball::<AXES>::without_shells(center, radius);
        // Squared distances from farther away might not fit.
        let mut sides = center.iter().zip(self.size);
        let is_inside = sides.all(|(c, size)| (0..size).contains(c));
        let look_at = |range: Range<usize>| {
            let slots = &self.slots[range.clone()];
            if is_inside {
                return append_near(self.points::<AXES>(range, slots), &ball, out);
            }
            let within = |&i: &usize| within_distance(self.position(i), center, radius);
            out.extend(range.filter(within).map(|i| self.slots[i]));
        };
        let block = self.block_around(center, radius);
        self.each_range_or_all(block, look_at);
    }

    /// Calls `visit` as [`Index::each_range`] does. A block can touch more rows of buckets than
    /// there are entities; then it is cheaper to visit all entities, and the order is the same.
    fn each_range_or_all(&self, block: Block, mut visit: impl FnMut(Range<usize>)) {
        if block.rows() > self.len as u64 {
            visit(0..self.len);
        } else {
            self.each_range(block, visit);
        }
    }

    /// Calls `visit` for the place of each entity whose position is in a box, in
    /// index order.
    pub fn in_box(&self, aabb: &Aabb<3>, mut visit: impl FnMut(usize)) {
        self.each_range_or_all(self.block_of_box(aabb), |range| {
            for i in range {
                if aabb.contains(self.position(i)) {
                    visit(i);
                }
            }
        });
    }

    /// The position of the i-th entity in index order.
    pub fn position(&self, i: usize) -> [i32; 3] {
        let mut position = [0; 3];
        for (axis, p) in position.iter_mut().take(self.dimensions).enumerate() {
            *p = self.positions[axis][i];
        }
        position
    }
}

/// Counting visits all buckets: with so many more than entities, it is no longer quicker.
const BUCKETS_PER_ENTITY: u64 = 4;

/// Takes the first `n` positions off along each axis that there is.
fn take_axes<'a>(rest: &mut [&'a mut [i32]], n: usize) -> [&'a mut [i32]; 3] {
    let mut axes: [&mut [i32]; 3] = Default::default();
    for (axis, rest) in axes.iter_mut().zip(rest) {
        *axis = take(rest, n);
    }
    axes
}

/// The number of the bucket that has a position.
fn key_of(edge: Reciprocal, buckets: [u64; 3], position: &[i32]) -> u64 {
    let along = position.iter().zip(buckets).rev();
    along.fold(0, |key, (&position, buckets)| {
        key * buckets + u64::from(edge.divide(position as u32))
    })
}
