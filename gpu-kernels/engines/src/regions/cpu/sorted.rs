use std::ops::Range;

use super::boxes::{Hits, Motion, SideView};
use super::layout::{Layout, Statistics};
use super::matching::{Entry, Finder, Roles};
use device::cpu::{RadixSorter, Workers, grow, ranges, take};
use gpu_kernels::space::Aabb;

/// Our approach: the updated regions of each side are sorted into a [`Layout`],
/// and every region looks up those of the other side.
///
/// Nothing is kept from step to step, so a step with few updates sorts few regions, and
/// the regions that stay look up a small index.
pub struct Sorted<const D: usize> {
    /// Those of publications, and those of subscriptions.
    indexes: [Index<D>; 2],
}

/// Updated regions, sorted by key.
struct Index<const D: usize> {
    layout: Layout<D>,
    sorter: RadixSorter<(u32, u32)>,
    len: usize,
    /// (key, entry).
    pairs: Vec<(u32, u32)>,
    /// The entries' boxes, in the same order.
    motions: Vec<Motion<D>>,
    /// `directory[key >> shift]`: the first entry with at least that run's keys.
    directory: Vec<u32>,
    shift: u32,
}

impl<const D: usize> Sorted<D> {
    pub fn new() -> Sorted<D> {
        Sorted {
            indexes: [Index::new(), Index::new()],
        }
    }

    /// Sorts both sides, which [`Sorted::find`] and [`Sorted::candidates`] rely on.
    pub fn build(&mut self, workers: &Workers, sides: &[SideView<'_, D>; 2]) {
        for (index, side) in self.indexes.iter_mut().zip(sides) {
            index.build(workers, side);
        }
    }

    /// About how many comparisons [`Sorted::find`] would take, from a sample.
    pub fn candidates(&self, sides: &[SideView<'_, D>; 2]) -> u64 {
        let [publications, subscriptions] = &self.indexes;
        let mut sampled = 0;
        let stride = publications.len.div_ceil(SAMPLES).max(1);
        let queries = (0..publications.len).step_by(stride);
        let samples = queries.len() as u64;
        for i in queries {
            let (entry, motion) = publications.entry(i);
            subscriptions.look_up(&entry.aabb(motion), |range, _, _| {
                sampled += range.len() as u64
            });
        }
        // Regions that stay are assumed to be like those that are updated.
        let queries = sides[0].regions() as u64;
        match samples {
            0 => 0,
            _ => sampled * queries / samples,
        }
    }

    pub fn find(&self, finder: &mut Finder<'_, D>) {
        let [publications, subscriptions] = &self.indexes;
        let sides = finder.sides;
        if subscriptions.len > 0 {
            publications.each_looks_up(finder, subscriptions);
            if sides[0].still > 0 {
                still_look_up(finder, &sides[0], subscriptions, Roles::PublicationFirst);
            }
        }
        if publications.len > 0 && sides[1].still > 0 {
            still_look_up(finder, &sides[1], publications, Roles::SubscriptionFirst);
        }
    }
}

/// All regions of a side that were not updated look up an index.
fn still_look_up<const D: usize>(
    finder: &mut Finder<'_, D>,
    side: &SideView<'_, D>,
    index: &Index<D>,
    roles: Roles,
) {
    let workers = finder.workers;
    let parts = workers.parts_of(side.motions.len(), GRAIN);
    let tasks = ranges(side.motions.len(), parts).zip(finder.hits(parts));
    workers.run(tasks.collect(), |(range, hits)| {
        for number in range.start as u32..range.end as u32 {
            let now = side.motions[number as usize].now;
            if now.is_nowhere() || side.is_updated(number) {
                continue;
            }
            let motion = Motion { before: now, now };
            index.compare(hits, roles, Entry::still(number), &motion, &now);
        }
    });
}

impl<const D: usize> Index<D> {
    fn new() -> Index<D> {
        Index {
            layout: Layout::new(&Statistics::NONE),
            sorter: RadixSorter::new(0),
            len: 0,
            pairs: vec![],
            motions: vec![],
            directory: vec![],
            shift: 0,
        }
    }

    fn build(&mut self, workers: &Workers, side: &SideView<'_, D>) {
        let parts = workers.parts(side.updated.len());
        let mut statistics = vec![Statistics::NONE; parts];
        let tasks = ranges(side.updated.len(), parts).zip(&mut statistics);
        workers.run(tasks.collect(), |(range, statistics)| {
            for &number in &side.updated[range] {
                Entry::each(number, &side.motion(number), |_, aabb| {
                    statistics.add(&aabb)
                });
            }
        });
        let counts: Vec<usize> = statistics.iter().map(Statistics::entries).collect();
        let mut all = Statistics::NONE;
        for part in &statistics {
            all.merge(part);
        }
        let layout = Layout::new(&all);
        self.len = all.entries();
        grow(&mut self.pairs, self.len);
        let mut rest = &mut self.pairs[..self.len];
        let tasks = ranges(side.updated.len(), parts)
            .zip(&counts)
            .map(|(range, &count)| (range, take(&mut rest, count)));
        workers.run(tasks.collect(), |(range, pairs)| {
            let mut next = pairs.iter_mut();
            for &number in &side.updated[range] {
                Entry::each(number, &side.motion(number), |entry, aabb| {
                    if let Some(pair) = next.next() {
                        *pair = (layout.key(&aabb), entry.bits());
                    }
                });
            }
        });
        let bits = u64::BITS - layout.keys().saturating_sub(1).leading_zeros();
        self.layout = layout;
        self.sorter
            .sort(workers, &mut self.pairs, self.len, 0..bits);
        self.gather(workers, side);
        self.fill_directory(workers);
    }

    fn gather(&mut self, workers: &Workers, side: &SideView<'_, D>) {
        if self.motions.len() < self.len {
            self.motions.resize(self.len, Motion::NOWHERE);
        }
        let parts = workers.parts(self.len);
        let mut rest = &mut self.motions[..self.len];
        let pairs = &self.pairs;
        let tasks = ranges(self.len, parts).map(|range| {
            let n = range.len();
            (range, take(&mut rest, n))
        });
        workers.run(tasks.collect(), |(range, motions)| {
            for (motion, &(_, entry)) in motions.iter_mut().zip(&pairs[range]) {
                *motion = side.motion(Entry::from_bits(entry).number());
            }
        });
    }

    fn fill_directory(&mut self, workers: &Workers) {
        let keys = self.layout.keys();
        let runs_max = (self.len as u64 * 2).max(64);
        self.shift = (0..32).find(|&s| keys >> s <= runs_max).unwrap_or(31);
        let runs = (keys >> self.shift) as usize + 2;
        grow(&mut self.directory, runs);
        let parts = workers.parts(runs);
        let mut rest = &mut self.directory[..runs];
        let (pairs, shift) = (&self.pairs[..self.len], self.shift);
        let tasks = ranges(runs, parts).map(|range| {
            let n = range.len();
            (range, take(&mut rest, n))
        });
        workers.run(tasks.collect(), |(range, directory)| {
            let first = (range.start as u64) << shift;
            let mut place = pairs.partition_point(|pair| u64::from(pair.0) < first);
            for (run, start) in range.zip(directory) {
                let first = (run as u64) << shift;
                while place < pairs.len() && u64::from(pairs[place].0) < first {
                    place += 1;
                }
                *start = place as u32;
            }
        });
    }

    fn entry(&self, i: usize) -> (Entry, &Motion<D>) {
        (Entry::from_bits(self.pairs[i].1), &self.motions[i])
    }

    /// Where the sorted keys reach `key`.
    fn lower_bound(&self, key: u64) -> usize {
        let run = (key >> self.shift) as usize;
        let (start, end) = (
            self.directory[run] as usize,
            self.directory[run + 1] as usize,
        );
        start + self.pairs[start..end].partition_point(|pair| u64::from(pair.0) < key)
    }

    /// Calls `visit` with ranges of entries that hold all that a box may overlap, and
    /// with the first and the last key that count: a range may have other keys at its
    /// ends.
    fn look_up(&self, aabb: &Aabb<D>, mut visit: impl FnMut(Range<usize>, u32, u32)) {
        self.layout.rows(aabb, |first, last| {
            let start = self.directory[(first >> self.shift) as usize] as usize;
            let end = self.directory[(last >> self.shift) as usize + 1] as usize;
            match end - start {
                0 => {}
                // Comparing a few too many costs less than finding the ends.
                1..=RANGE_SHORT => visit(start..end, first, last),
                _ => {
                    let start = self.lower_bound(first.into());
                    visit(start..self.lower_bound(u64::from(last) + 1), first, last);
                }
            }
        });
    }

    fn compare(
        &self,
        hits: &mut Hits,
        roles: Roles,
        entry: Entry,
        motion: &Motion<D>,
        aabb: &Aabb<D>,
    ) {
        self.look_up(aabb, |range, first, last| {
            let keys = &self.pairs[range.clone()];
            for (other, &(key, bits)) in self.motions[range].iter().zip(keys) {
                if let Some(gained) = motion.change(other)
                    && (first..=last).contains(&key)
                {
                    hits.note(roles, entry, Entry::from_bits(bits), gained);
                }
            }
        });
    }

    /// The updated publications look up the updated subscriptions, in the order of their
    /// keys: neighbours look up the same entries.
    fn each_looks_up(&self, finder: &mut Finder<'_, D>, others: &Index<D>) {
        let workers = finder.workers;
        let parts = workers.parts_of(self.len, GRAIN);
        let tasks = ranges(self.len, parts).zip(finder.hits(parts));
        workers.run(tasks.collect(), |(range, hits)| {
            for i in range {
                let (entry, motion) = self.entry(i);
                let aabb = entry.aabb(motion);
                others.compare(hits, Roles::PublicationFirst, entry, motion, &aabb);
            }
        });
    }
}

const SAMPLES: usize = 256;
const RANGE_SHORT: usize = 16;
/// Queries below which a second thread isn't worth its wake-up.
const GRAIN: usize = 512;
