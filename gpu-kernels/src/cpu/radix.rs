use super::disjoint::DisjointWriter;
use super::workers::{Workers, grow, ranges};

/// A stable sort of (key, value) pairs by the low bits of the key: a counting
/// sort per digit, least significant first (thesis 3.2).
pub struct RadixSorter<K> {
    keys: Vec<K>,
    values: Vec<u32>,
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
            keys: Vec::with_capacity(capacity),
            values: Vec::with_capacity(capacity),
            counts: vec![],
        }
    }

    /// Sorts the first `n` pairs by the low `key_bits` bits of their keys. The
    /// buffers may be exchanged for the sorter's own.
    pub fn sort(
        &mut self,
        workers: &Workers,
        keys: &mut Vec<K>,
        values: &mut Vec<u32>,
        n: usize,
        key_bits: u32,
    ) {
        grow(&mut self.keys, keys.len());
        grow(&mut self.values, values.len());
        // A digit's counters should stay fewer than the pairs they count.
        let digit_max = (usize::BITS - n.leading_zeros()).clamp(4, DIGIT_BITS);
        let passes = key_bits.div_ceil(digit_max);
        for pass in 0..passes {
            let shift = key_bits * pass / passes;
            let bits = key_bits * (pass + 1) / passes - shift;
            self.pass(workers, &keys[..n], &values[..n], shift, bits);
            std::mem::swap(keys, &mut self.keys);
            std::mem::swap(values, &mut self.values);
        }
    }

    fn pass(&mut self, workers: &Workers, keys: &[K], values: &[u32], shift: u32, bits: u32) {
        let digits = 1 << bits;
        let parts = workers.parts(keys.len());
        grow(&mut self.counts, parts * digits);
        let counts = &mut self.counts[..parts * digits];
        let tasks = ranges(keys.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, counts)| {
            counts.fill(0);
            for key in &keys[range] {
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
        let sorted_keys = DisjointWriter::new(&mut self.keys[..]);
        let sorted_values = DisjointWriter::new(&mut self.values[..]);
        let tasks = ranges(keys.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, cursors)| {
            for (&key, &value) in keys[range.clone()].iter().zip(&values[range]) {
                let cursor = &mut cursors[key.digit(shift, bits)];
                let place = *cursor as usize;
                *cursor += 1;
                // SAFETY: the scan gave each (digit, part) its own interval, as
                // long as its count, and the cursor walks it once.
                #[allow(unsafe_code)]
                unsafe {
                    sorted_keys.write(place, key);
                    sorted_values.write(place, value);
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
            let mut expected: Vec<(u32, u32)> = keys.iter().copied().zip(0..).collect();
            expected.sort_by_key(|&(key, _)| key);
            let workers = Workers::new(threads).unwrap();
            let (mut sorted, mut values) = (keys, (0..n as u32).collect::<Vec<_>>());
            RadixSorter::new(n).sort(&workers, &mut sorted, &mut values, n, 13);
            let found: Vec<(u32, u32)> = sorted.into_iter().zip(values).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
