//! Counting sorts of points by bucket.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::disjoint::DisjointWriter;
use super::workers::{Workers, grow, ranges, take};
use crate::tuning::CPU_BUCKETS_OF_A_PASS;

/// Sorts points by bucket. Few buckets take a single pass: each point goes to its place at once.
/// Many are cut into bands of neighbouring buckets: a pass brings each band's points together,
/// and another sorts those of a band, which fit a fast cache.
#[derive(Default)]
pub struct BucketSorter<const AXES: usize> {
    /// Per part and bucket: the number of items, then the place of the next one.
    counts: Vec<AtomicU32>,
    /// The same per part and band; then, per part, those of the buckets of one band.
    band_counts: Vec<u32>,
    /// Start of each band, and the end of the last.
    band_starts: Vec<u32>,
    /// The items that have a point, by band.
    entries: Vec<Entry<AXES>>,
}

#[derive(Clone, Copy)]
struct Entry<const AXES: usize> {
    bucket: u32,
    item: u32,
    point: [i32; AXES],
}

/// Items with a place in the order of buckets.
pub struct Sorted<'a, const AXES: usize> {
    /// Start of each bucket, and the end of the last.
    pub starts: &'a mut [u32],
    pub items: &'a mut [u32],
    /// By axis.
    pub positions: [&'a mut [i32]; AXES],
}

impl<const AXES: usize> Sorted<'_, AXES> {
    fn buckets(&self) -> usize {
        self.starts.len() - 1
    }
}

impl<const AXES: usize> BucketSorter<AXES> {
    /// Sorts the items that have a point, by bucket, then by item. Writes their buckets to `keys`,
    /// of which there is one for each item; [`NO_BUCKET`] is that of an item without a point. The
    /// buckets are one less than the starts.
    pub fn sort(
        &mut self,
        workers: &Workers,
        keys: &mut [u32],
        point_of: impl Fn(usize) -> Option<[i32; AXES]> + Sync,
        bucket_of: impl Fn([i32; AXES]) -> u32 + Sync,
        sorted: Sorted<'_, AXES>,
    ) {
        let items = keys.len();
        // Each part of the work counts all buckets.
        let counters = sorted.buckets() * workers.parts(items);
        if sorted.buckets() <= CPU_BUCKETS_OF_A_PASS && counters <= items {
            self.sort_at_once(workers, keys, point_of, bucket_of, sorted);
        } else {
            self.sort_by_band(workers, keys, point_of, bucket_of, sorted);
        }
    }

    fn sort_at_once(
        &mut self,
        workers: &Workers,
        keys: &mut [u32],
        point_of: impl Fn(usize) -> Option<[i32; AXES]> + Sync,
        bucket_of: impl Fn([i32; AXES]) -> u32 + Sync,
        sorted: Sorted<'_, AXES>,
    ) {
        let (items, buckets) = (keys.len(), sorted.buckets());
        let parts = workers.parts(items);
        if self.counts.len() < parts * buckets {
            self.counts.resize_with(parts * buckets, AtomicU32::default);
        }
        let counts = &mut self.counts[..parts * buckets];
        let mut rest = &mut *keys;
        let tasks = ranges(items, parts)
            .zip(counts.chunks_exact_mut(buckets))
            .map(|(range, counts)| (take(&mut rest, range.len()), range, counts));
        workers.run(tasks.collect(), |(keys, range, counts)| {
            counts.fill_with(AtomicU32::default);
            for (key, item) in keys.iter_mut().zip(range) {
                *key = point_of(item).map_or(NO_BUCKET, &bucket_of);
                if *key != NO_BUCKET {
                    *counts[*key as usize].get_mut() += 1;
                }
            }
        });
        scan(workers, &self.counts[..parts * buckets], sorted.starts);
        let to_items = DisjointWriter::new(sorted.items);
        let to_positions = sorted.positions.map(DisjointWriter::new);
        let counts = &mut self.counts[..parts * buckets];
        let tasks = ranges(items, parts).zip(counts.chunks_exact_mut(buckets));
        workers.run(tasks.collect(), |(range, cursors)| {
            for item in range {
                let key = keys[item];
                let point = match key {
                    NO_BUCKET => None,
                    _ => point_of(item),
                };
                let Some(point) = point else {
                    continue;
                };
                let cursor = cursors[key as usize].get_mut();
                let place = *cursor as usize;
                *cursor += 1;
                // SAFETY: the scan gave each (bucket, part) its own interval, as long as its
                // count, and the cursor walks it once.
                #[allow(unsafe_code)]
                unsafe {
                    to_items.write(place, item as u32);
                    for (to, along) in to_positions.iter().zip(point) {
                        to.write(place, along);
                    }
                }
            }
        });
    }

    fn sort_by_band(
        &mut self,
        workers: &Workers,
        keys: &mut [u32],
        point_of: impl Fn(usize) -> Option<[i32; AXES]> + Sync,
        bucket_of: impl Fn([i32; AXES]) -> u32 + Sync,
        sorted: Sorted<'_, AXES>,
    ) {
        let (items, buckets) = (keys.len(), sorted.buckets());
        // About as many bands as buckets of a band.
        let shift = (usize::BITS - buckets.leading_zeros()).div_ceil(2);
        let bands = ((buckets - 1) >> shift) + 1;
        let parts = workers.parts(items);
        grow(&mut self.band_counts, parts * bands.max(1 << shift));
        let mut rest = &mut *keys;
        let tasks = ranges(items, parts)
            .zip(self.band_counts.chunks_exact_mut(bands))
            .map(|(range, counts)| (take(&mut rest, range.len()), range, counts));
        workers.run(tasks.collect(), |(keys, range, counts)| {
            counts.fill(0);
            for (key, item) in keys.iter_mut().zip(range) {
                *key = point_of(item).map_or(NO_BUCKET, &bucket_of);
                if *key != NO_BUCKET {
                    counts[*key as usize >> shift] += 1;
                }
            }
        });
        self.band_starts.clear();
        let mut next = 0;
        for band in 0..bands {
            self.band_starts.push(next);
            for part in 0..parts {
                let count = &mut self.band_counts[part * bands + band];
                next += std::mem::replace(count, next);
            }
        }
        self.band_starts.push(next);
        let found = next as usize;
        if self.entries.len() < found {
            self.entries.resize(found, Entry::NONE);
        }
        let to_entries = DisjointWriter::new(&mut self.entries[..found]);
        let tasks = ranges(items, parts).zip(self.band_counts.chunks_exact_mut(bands));
        workers.run(tasks.collect(), |(range, cursors)| {
            for item in range {
                let bucket = keys[item];
                let point = match bucket {
                    NO_BUCKET => None,
                    _ => point_of(item),
                };
                let Some(point) = point else {
                    continue;
                };
                let cursor = &mut cursors[bucket as usize >> shift];
                let place = *cursor as usize;
                *cursor += 1;
                let entry = Entry {
                    bucket,
                    item: item as u32,
                    point,
                };
                // SAFETY: the loop above gave each (band, part) its own interval, as long as
                // its count, and the cursor walks it once.
                #[allow(unsafe_code)]
                unsafe {
                    to_entries.write(place, entry);
                }
            }
        });
        self.sort_bands(workers, shift, sorted);
    }

    /// Sorts the entries of each band.
    fn sort_bands(&mut self, workers: &Workers, shift: u32, sorted: Sorted<'_, AXES>) {
        let bands = self.band_starts.len() - 1;
        let found = self.band_starts[bands] as usize;
        let Sorted {
            starts,
            mut items,
            mut positions,
        } = sorted;
        let buckets = starts.len() - 1;
        let (mut starts, last) = starts.split_at_mut(buckets);
        last[0] = found as u32;
        let parts = workers.parts(found);
        // Parts have about as many entries.
        let cut = |part: usize| match part {
            _ if part == parts => bands,
            _ => {
                let before = |&start: &u32| (start as usize) < found * part / parts;
                self.band_starts.partition_point(before).min(bands)
            }
        };
        let start = |band: usize| self.band_starts[band] as usize;
        let counters = self.band_counts.chunks_exact_mut(1 << shift);
        let tasks = (0..parts).zip(counters).map(|(part, counters)| {
            let bands = cut(part)..cut(part + 1);
            let own = start(bands.end) - start(bands.start);
            let end = (bands.end << shift).min(buckets);
            let sorted = Sorted {
                starts: take(&mut starts, end - (bands.start << shift).min(end)),
                items: take(&mut items, own),
                positions: positions.each_mut().map(|axis| take(axis, own)),
            };
            (bands, counters, sorted)
        });
        let tasks = tasks.collect();
        workers.run(tasks, |(bands, counters, sorted)| {
            let first = start(bands.start);
            let Sorted {
                mut starts,
                items,
                mut positions,
            } = sorted;
            for band in bands {
                let range = start(band)..start(band + 1);
                let entries = &self.entries[range.clone()];
                let here = range.start - first..range.end - first;
                let items = &mut items[here.clone()];
                let positions = positions.each_mut().map(|axis| &mut axis[here.clone()]);
                let width = starts.len().min(1 << shift);
                let starts = take(&mut starts, width);
                if entries.is_empty() {
                    starts.fill(range.start as u32);
                    continue;
                }
                let counters = &mut counters[..width];
                let sorted = Sorted {
                    starts,
                    items,
                    positions,
                };
                sort_band(entries, counters, range.start as u32, sorted);
            }
        });
    }
}

/// Sorts one band's entries, of which the first one's place among all is `first`.
fn sort_band<const AXES: usize>(
    entries: &[Entry<AXES>],
    counters: &mut [u32],
    first: u32,
    sorted: Sorted<'_, AXES>,
) {
    let Sorted {
        starts,
        items,
        mut positions,
    } = sorted;
    // A band begins at a multiple of a power of two, so these are the low bits.
    let mask = counters.len().next_power_of_two() - 1;
    counters.fill(0);
    for entry in entries {
        counters[entry.bucket as usize & mask] += 1;
    }
    let mut next = 0;
    for (start, counter) in starts.iter_mut().zip(&mut *counters) {
        *start = first + next;
        next += std::mem::replace(counter, next);
    }
    for entry in entries {
        let cursor = &mut counters[entry.bucket as usize & mask];
        let place = *cursor as usize;
        *cursor += 1;
        items[place] = entry.item;
        for (axis, &coordinate) in positions.iter_mut().zip(&entry.point) {
            axis[place] = coordinate;
        }
    }
}

impl<const AXES: usize> Entry<AXES> {
    const NONE: Entry<AXES> = Entry {
        bucket: NO_BUCKET,
        item: 0,
        point: [0; AXES],
    };
}

/// Turns the numbers of items into their places: by bucket, then by part.
fn scan(workers: &Workers, counts: &[AtomicU32], starts: &mut [u32]) {
    let buckets = starts.len() - 1;
    let parts = counts.len() / buckets.max(1);
    let count = |part: usize, bucket: usize| &counts[part * buckets + bucket];
    let sum = |range: Range<usize>| {
        let own = (0..parts).flat_map(|part| range.clone().map(move |bucket| count(part, bucket)));
        own.map(|count| count.load(Ordering::Relaxed)).sum::<u32>()
    };
    let pieces = workers.parts(counts.len()).min(buckets.max(1));
    let mut sums = vec![0; pieces];
    let tasks = ranges(buckets, pieces).zip(&mut sums);
    workers.run(tasks.collect(), |(range, to)| *to = sum(range));
    let (mut rest, mut first) = (&mut starts[..], 0);
    let tasks = ranges(buckets, pieces).zip(&sums).map(|(range, sum)| {
        let start = first;
        first += sum;
        (take(&mut rest, range.len()), range, start)
    });
    workers.run(tasks.collect(), |(starts, range, mut next)| {
        for (start, bucket) in starts.iter_mut().zip(range) {
            *start = next;
            for part in 0..parts {
                let count = count(part, bucket);
                let items = count.load(Ordering::Relaxed);
                count.store(next, Ordering::Relaxed);
                next += items;
            }
        }
    });
    starts[buckets] = first;
}

/// The bucket of an item without a point.
pub const NO_BUCKET: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn points_come_by_bucket_and_item_for_any_number_of_threads(
            points in prop::collection::vec(prop::option::of([0i32..100, 0i32..100]), 0..60_000),
            threads in 1usize..5,
            // Few buckets, and so many that they are cut into bands.
            edge in prop::sample::select(vec![1, 9]),
        ) {
            let side = 99 / edge + 1;
            let buckets = (side * side) as usize;
            prop_assert_eq!(edge == 1, buckets > CPU_BUCKETS_OF_A_PASS);
            let bucket_of = |[x, y]: [i32; 2]| (y / edge * side + x / edge) as u32;
            let somewhere = |item: usize| points[item].map(|point| (bucket_of(point), item, point));
            let mut expected: Vec<_> = (0..points.len()).filter_map(somewhere).collect();
            expected.sort_unstable();
            let workers = Workers::new(threads).unwrap();
            let mut sorter = BucketSorter::default();
            // What is left of the first time makes no difference.
            for _ in 0..2 {
                let mut starts = vec![7; buckets + 1];
                let n = expected.len();
                let (mut items, mut x, mut y) = (vec![7; n], vec![7; n], vec![7; n]);
                let sorted = Sorted {
                    starts: &mut starts,
                    items: &mut items,
                    positions: [&mut x, &mut y],
                };
                let mut keys = vec![7; points.len()];
                sorter.sort(&workers, &mut keys, |item| points[item], bucket_of, sorted);
                for (i, &(bucket, item, point)) in expected.iter().enumerate() {
                    prop_assert_eq!((items[i] as usize, [x[i], y[i]]), (item, point));
                    let range = starts[bucket as usize]..starts[bucket as usize + 1];
                    prop_assert!(range.contains(&(i as u32)));
                }
                let keys_are = points.iter().map(|point| point.map_or(NO_BUCKET, bucket_of));
                prop_assert!(keys_are.eq(keys));
                prop_assert_eq!((starts[0], starts[buckets]), (0, n as u32));
            }
        }
    }
}
