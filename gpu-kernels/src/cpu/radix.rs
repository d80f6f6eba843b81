use super::disjoint::DisjointWriter;
use super::workers::{Workers, grow, ranges};

/// A stable sort of (key, value) pairs by the low bits of the key: a counting
/// sort per digit, least significant first (thesis 3.2). Pairs stay together, so
/// that a scatter keeps as few cache lines open as there are digits.
pub struct RadixSorter<K> {
    pairs: Vec<(K, u32)>,
    /// Per part and digit: how many, then where the next one goes.
    counts: Vec<u32>,
}

/// A sort key.
pub trait Key: Copy + Default + Ord + Send + Sync {
    /// `bits` bits from `shift` on.
    fn digit(self, shift: u32, bits: u32) -> usize;
}

impl Key for u32 {
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self >> shift) as usize & ((1 << bits) - 1)
    }
}

impl Key for u64 {
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self >> shift) as usize & ((1 << bits) - 1)
    }
}

impl<K: Key> RadixSorter<K> {
    /// Room for sorting `capacity` pairs.
    pub fn new(capacity: usize) -> RadixSorter<K> {
        RadixSorter {
            pairs: Vec::with_capacity(capacity),
            counts: vec![],
        }
    }

    /// Sorts the first `n` pairs by the low `key_bits` bits of their keys. The
    /// buffer may be exchanged for the sorter's own.
    pub fn sort(&mut self, workers: &Workers, pairs: &mut Vec<(K, u32)>, n: usize, key_bits: u32) {
        grow(&mut self.pairs, pairs.len());
        // A digit's counters should stay fewer than the pairs they count.
        let digit_max = (usize::BITS - n.leading_zeros()).clamp(4, DIGIT_BITS);
        let passes = key_bits.div_ceil(digit_max);
        for pass in 0..passes {
            let shift = key_bits * pass / passes;
            let bits = key_bits * (pass + 1) / passes - shift;
            self.pass(workers, &pairs[..n], shift, bits);
            std::mem::swap(pairs, &mut self.pairs);
        }
    }

    fn pass(&mut self, workers: &Workers, pairs: &[(K, u32)], shift: u32, bits: u32) {
        let digits = 1 << bits;
        let parts = workers.parts(pairs.len());
        grow(&mut self.counts, parts * digits);
        let counts = &mut self.counts[..parts * digits];
        let tasks = ranges(pairs.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, counts)| {
            counts.fill(0);
            for (key, _) in &pairs[range] {
                counts[key.digit(shift, bits)] += 1;
            }
        });
        let mut next = 0;
        for digit in 0..digits {
            for part in 0..parts {
                let count = &mut counts[part * digits + digit];
                next += std::mem::replace(count, next);
            }
        }
        let sorted = DisjointWriter::new(&mut self.pairs[..]);
        let tasks = ranges(pairs.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, cursors)| {
            for &pair in &pairs[range] {
                let cursor = &mut cursors[pair.0.digit(shift, bits)];
                let place = *cursor as usize;
                *cursor += 1;
                // SAFETY: the scan gave each (digit, part) its own interval, as
                // long as its count, and the cursor walks it once.
                #[allow(unsafe_code)]
                unsafe {
                    sorted.write(place, pair);
                }
            }
        });
    }
}

/// 2,048 counters: they and the open cache lines of a scatter fit the L1 and L2
/// caches of common CPUs.
const DIGIT_BITS: u32 = 11;

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
            RadixSorter::new(n).sort(&workers, &mut pairs, n, 13);
            prop_assert_eq!(pairs, expected);
        }
    }
}
