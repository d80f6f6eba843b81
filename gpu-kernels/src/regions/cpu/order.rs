use std::mem::swap;

use crate::cpu::disjoint::DisjointWriter;
use crate::cpu::workers::{Workers, grow, ranges, take};
use crate::regions::Pair;

/// Gathers what several threads found, and puts it in order: a counting sort per
/// digit, least significant first.
pub struct Orderer {
    scratch: Vec<Pair>,
    counts: Vec<u32>,
    /// Low bits that tell the numbers of one side apart.
    number_bits: u32,
}

impl Orderer {
    pub fn new(capacity: u32) -> Orderer {
        Orderer {
            scratch: vec![],
            counts: vec![],
            number_bits: (u32::BITS - (capacity - 1).leading_zeros()).max(1),
        }
    }

    /// Replaces what is in `pairs` by what is in all parts, in order.
    pub fn gather(&mut self, workers: &Workers, parts: &[&Vec<Pair>], pairs: &mut Vec<Pair>) {
        let n = parts.iter().map(|part| part.len()).sum();
        pairs.resize(n, Pair::default());
        let mut rest = &mut pairs[..];
        let copies: Vec<_> = parts
            .iter()
            .map(|part| (part, take(&mut rest, part.len())))
            .collect();
        workers.run(copies, |(from, to)| to.copy_from_slice(from));
        // Approaches that go through the regions by number find pairs in order.
        if !pairs.is_sorted() {
            self.sort(workers, pairs);
        }
    }

    pub fn sort(&mut self, workers: &Workers, pairs: &mut Vec<Pair>) {
        self.scratch.resize(pairs.len(), Pair::default());
        let passes = self.number_bits.div_ceil(DIGIT_BITS);
        for half in [0, 32] {
            for pass in 0..passes {
                let shift = self.number_bits * pass / passes;
                let bits = self.number_bits * (pass + 1) / passes - shift;
                self.pass(workers, pairs, half + shift, bits);
                swap(pairs, &mut self.scratch);
            }
        }
    }

    fn pass(&mut self, workers: &Workers, pairs: &[Pair], shift: u32, bits: u32) {
        let digits = 1 << bits;
        let digit = |pair: Pair| (pair.bits() >> shift) as usize & (digits - 1);
        let parts = workers.parts(pairs.len());
        grow(&mut self.counts, parts * digits);
        let counts = &mut self.counts[..parts * digits];
        let tasks = ranges(pairs.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, counts)| {
            counts.fill(0);
            for &pair in &pairs[range] {
                counts[digit(pair)] += 1;
            }
        });
        let mut next = 0;
        for value in 0..digits {
            for part in 0..parts {
                let count = &mut counts[part * digits + value];
                next += std::mem::replace(count, next);
            }
        }
        let sorted = DisjointWriter::new(&mut self.scratch[..]);
        let tasks = ranges(pairs.len(), parts).zip(counts.chunks_exact_mut(digits));
        workers.run(tasks.collect(), |(range, cursors)| {
            for &pair in &pairs[range] {
                let cursor = &mut cursors[digit(pair)];
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

/// As many counters as fit the first-level cache.
const DIGIT_BITS: u32 = 11;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pairs_come_out_in_order_for_any_number_of_threads(
            numbers in prop::collection::vec((0u32..70_000, 0u32..70_000), 0..40_000),
            threads in 1usize..5,
        ) {
            let found: Vec<Pair> = numbers.iter().map(|&(p, s)| Pair::new(p, s)).collect();
            let (one, other) = found.split_at(found.len() / 3);
            let workers = Workers::new(threads).unwrap();
            let mut pairs = vec![];
            let parts = [&one.to_vec(), &other.to_vec()];
            Orderer::new(70_000).gather(&workers, &parts, &mut pairs);
            let mut expected = numbers;
            expected.sort_unstable();
            let numbers = pairs.iter().map(|p| (p.publication(), p.subscription()));
            prop_assert_eq!(numbers.collect::<Vec<_>>(), expected);
        }
    }
}
