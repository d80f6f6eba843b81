use std::ops::Range;

use super::disjoint::DisjointWriter;
use super::workers::{Workers, grow, ranges};
use crate::tuning::CPU_DIGIT_BITS;

/// A stable sort by some bits of each item: a counting sort per digit, least
/// significant first (thesis 3.2). A key and its value are one item, so that a scatter
/// keeps as few cache lines open as there are digits.
#[derive(Default)]
pub struct RadixSorter<T> {
    items: Vec<T>,
    /// Per part and digit: the number of items, then the place of the next one.
    counts: Vec<u32>,
}

/// A type that can be sorted by its bits.
pub trait Digits: Copy + Default + Send + Sync {
    /// Returns `bits` bits from `shift` on.
    fn digit(self, shift: u32, bits: u32) -> usize;
}

/// A key and its value.
impl Digits for (u32, u32) {
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self.0 >> shift) as usize & ((1 << bits) - 1)
    }
}

/// A key and its value.
impl Digits for (u64, u32) {
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self.0 >> shift) as usize & ((1 << bits) - 1)
    }
}

impl<T: Digits> RadixSorter<T> {
    /// Creates a sorter for up to `capacity` items.
    pub fn new(capacity: usize) -> RadixSorter<T> {
        RadixSorter {
            items: Vec::with_capacity(capacity),
            counts: vec![],
        }
    }

    /// Sorts the first `n` items by the bits `by`. It may swap the buffer with the sorter's own.
    pub fn sort(&mut self, workers: &Workers, items: &mut Vec<T>, n: usize, by: Range<u32>) {
        grow(&mut self.items, items.len());
        // A digit should have fewer counters than there are items.
        let digit_max = (usize::BITS - n.leading_zeros()).clamp(4, CPU_DIGIT_BITS);
        let bits = by.end - by.start;
        let passes = bits.div_ceil(digit_max);
        for pass in 0..passes {
            let reach = |pass| by.start + bits * pass / passes;
            let (from, to) = (reach(pass), reach(pass + 1));
            let digit = |item: T| item.digit(from, to - from);
            self.pass(workers, &[&items[..n]], 1 << (to - from), digit, |_| ());
            std::mem::swap(items, &mut self.items);
        }
    }

    /// Brings the items of each group together, those of one list after those of the one before,
    /// without changing their order. `starts` gets the start of each group, and the end.
    pub fn group(
        &mut self,
        workers: &Workers,
        lists: &[&[T]],
        groups: usize,
        group_of: impl Fn(T) -> usize + Sync,
        starts: &mut Vec<u32>,
    ) -> &[T] {
        let n = lists.iter().map(|list| list.len()).sum();
        grow(&mut self.items, n);
        starts.clear();
        let note = |start| starts.push(start);
        self.pass(workers, lists, groups, group_of, note);
        starts.push(n as u32);
        &self.items[..n]
    }

    fn pass(
        &mut self,
        workers: &Workers,
        lists: &[&[T]],
        digits: usize,
        digit_of: impl Fn(T) -> usize + Sync,
        mut note_start: impl FnMut(u32),
    ) {
        let n = lists.iter().map(|list| list.len()).sum();
        let parts = workers.parts(n);
        // Counters of one digit fall into all sets of a cache, not into a few.
        let stride = (digits.div_ceil(LINE) | 1) * LINE;
        grow(&mut self.counts, parts * stride);
        let counts = &mut self.counts[..parts * stride];
        let tasks = ranges(n, parts).zip(counts.chunks_exact_mut(stride));
        workers.run(tasks.collect(), |(range, counts)| {
            counts[..digits].fill(0);
            for items in within(lists, range) {
                for &item in items {
                    counts[digit_of(item)] += 1;
                }
            }
        });
        let mut next = 0;
        for digit in 0..digits {
            note_start(next);
            for part in 0..parts {
                let count = &mut counts[part * stride + digit];
                next += std::mem::replace(count, next);
            }
        }
        let sorted = DisjointWriter::new(&mut self.items[..]);
        let tasks = ranges(n, parts).zip(counts.chunks_exact_mut(stride));
        workers.run(tasks.collect(), |(range, cursors)| {
            for items in within(lists, range) {
                for &item in items {
                    let cursor = &mut cursors[digit_of(item)];
                    let place = *cursor as usize;
                    *cursor += 1;
                    // SAFETY: the scan gave each (digit, part) its own interval, as
                    // long as its count, and the cursor walks it once.
                    #[allow(unsafe_code)]
                    unsafe {
                        sorted.write(place, item);
                    }
                }
            }
        });
    }
}

/// Counters in a line of the cache.
const LINE: usize = 16;

/// What lists, one behind the other, have in a range.
fn within<'a, T>(lists: &'a [&'a [T]], range: Range<usize>) -> impl Iterator<Item = &'a [T]> + 'a {
    let mut end = 0;
    lists.iter().filter_map(move |list| {
        let first = end;
        end += list.len();
        let (from, to) = (range.start.max(first), range.end.min(end));
        (from < to).then(|| &list[from - first..to - first])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn sorting_is_stable_for_any_number_of_threads(
            keys in prop::collection::vec(0u32..5000, 0..60_000),
            threads in 1usize..5,
        ) {
            let n = keys.len();
            let mut pairs: Vec<(u32, u32)> = keys.into_iter().zip(0..).collect();
            let mut expected = pairs.clone();
            expected.sort_by_key(|&(key, _)| key);
            let workers = Workers::new(threads).unwrap();
            RadixSorter::new(n).sort(&workers, &mut pairs, n, 0..13);
            prop_assert_eq!(pairs, expected);
        }

        #[test]
        fn groups_keep_their_order_for_any_number_of_threads(
            keys in prop::collection::vec(0u32..5000, 0..60_000),
            threads in 1usize..5,
            lists in 1usize..5,
        ) {
            let n = keys.len();
            let pairs: Vec<(u32, u32)> = keys.into_iter().zip(0..).collect();
            let group_of = |(key, _)| key as usize / 77;
            let mut expected = pairs.clone();
            expected.sort_by_key(|&pair| group_of(pair));
            let workers = Workers::new(threads).unwrap();
            let mut starts = vec![7; 3];
            let lists: Vec<_> = ranges(n, lists).map(|range| &pairs[range]).collect();
            let mut sorter = RadixSorter::new(n);
            let grouped = sorter.group(&workers, &lists, 65, group_of, &mut starts);
            prop_assert_eq!(starts.len(), 66);
            for (group, range) in starts.windows(2).enumerate() {
                let own = &grouped[range[0] as usize..range[1] as usize];
                prop_assert!(own.iter().all(|&pair| group_of(pair) == group));
            }
            prop_assert_eq!(grouped, expected);
        }
    }
}
