//! A counting sort of points by bucket, for fewer buckets than points.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::disjoint::DisjointWriter;
use super::workers::{Workers, grow, ranges, take};

/// Sorts points in a single pass: each goes to its place at once, whatever the number of bits
/// of a bucket's number. Each part of the work has counters of all buckets, which should be fewer
/// than the points.
#[derive(Default)]
pub struct BucketSorter {
    /// By item: its bucket, or [`NONE`].
    keys: Vec<u32>,
    /// Per part and bucket: the number of items, then the place of the next one.
    counts: Vec<AtomicU32>,
}

/// Items with a place in the order of buckets.
pub struct Sorted<'a, const AXES: usize> {
    /// Start of each bucket, and the end of the last.
    pub starts: &'a mut [u32],
    pub items: &'a mut [u32],
    /// By axis.
    pub positions: [&'a mut [i32]; AXES],
}

impl BucketSorter {
    /// Sorts the items below `items` that have a point, by bucket, then by item. The buckets are
    /// one less than the starts.
    pub fn sort<const AXES: usize>(
        &mut self,
        workers: &Workers,
        items: usize,
        point_of: impl Fn(usize) -> Option<[i32; AXES]> + Sync,
        bucket_of: impl Fn([i32; AXES]) -> u32 + Sync,
        sorted: Sorted<'_, AXES>,
    ) {
        let buckets = sorted.starts.len() - 1;
        let parts = workers.parts(items);
        grow(&mut self.keys, items);
        if self.counts.len() < parts * buckets {
            self.counts.resize_with(parts * buckets, AtomicU32::default);
        }
        let counts = &mut self.counts[..parts * buckets];
        let mut keys = &mut self.keys[..items];
        let tasks = ranges(items, parts)
            .zip(counts.chunks_exact_mut(buckets))
            .map(|(range, counts)| (take(&mut keys, range.len()), range, counts));
        workers.run(tasks.collect(), |(keys, range, counts)| {
            counts.fill_with(AtomicU32::default);
            for (key, item) in keys.iter_mut().zip(range) {
                *key = point_of(item).map_or(NONE, &bucket_of);
                if *key != NONE {
                    *counts[*key as usize].get_mut() += 1;
                }
            }
        });
        scan(workers, &self.counts[..parts * buckets], sorted.starts);
        let keys = &self.keys[..items];
        let to_items = DisjointWriter::new(sorted.items);
        let to_positions = sorted.positions.map(DisjointWriter::new);
        let counts = &mut self.counts[..parts * buckets];
        let tasks = ranges(items, parts).zip(counts.chunks_exact_mut(buckets));
        workers.run(tasks.collect(), |(range, cursors)| {
            for item in range {
                let key = keys[item];
                let point = match key {
                    NONE => None,
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
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn points_come_by_bucket_and_item_for_any_number_of_threads(
            points in prop::collection::vec(prop::option::of([0i32..100, 0i32..100]), 0..60_000),
            threads in 1usize..5,
        ) {
            let bucket_of = |[x, y]: [i32; 2]| (y / 9 * 12 + x / 9) as u32;
            let somewhere = |item: usize| points[item].map(|point| (bucket_of(point), item, point));
            let mut expected: Vec<_> = (0..points.len()).filter_map(somewhere).collect();
            expected.sort_unstable();
            let workers = Workers::new(threads).unwrap();
            let mut sorter = BucketSorter::default();
            // What is left of the first time makes no difference.
            for _ in 0..2 {
                let mut starts = vec![7; 145];
                let n = expected.len();
                let (mut items, mut x, mut y) = (vec![7; n], vec![7; n], vec![7; n]);
                let sorted = Sorted {
                    starts: &mut starts,
                    items: &mut items,
                    positions: [&mut x, &mut y],
                };
                sorter.sort(&workers, points.len(), |item| points[item], bucket_of, sorted);
                for (i, &(bucket, item, point)) in expected.iter().enumerate() {
                    prop_assert_eq!((items[i] as usize, [x[i], y[i]]), (item, point));
                    let range = starts[bucket as usize]..starts[bucket as usize + 1];
                    prop_assert!(range.contains(&(i as u32)));
                }
                prop_assert_eq!((starts[0], starts[144]), (0, n as u32));
            }
        }
    }
}
