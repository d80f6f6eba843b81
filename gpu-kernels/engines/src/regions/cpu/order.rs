use device::cpu::{Digits, RadixSorter, Workers, take};

use crate::regions::Pair;

/// Gathers the pairs that several threads found, in order.
pub struct Orderer {
    sorter: RadixSorter<Pair>,
    /// Bits of a region's number.
    number_bits: u32,
}

impl Digits for Pair {
    fn digit(self, shift: u32, bits: u32) -> usize {
        (self.bits() >> shift) as usize & ((1 << bits) - 1)
    }
}

impl Orderer {
    pub fn new(capacity: u32) -> Orderer {
        Orderer {
            sorter: RadixSorter::new(0),
            number_bits: (u32::BITS - (capacity - 1).leading_zeros()).max(1),
        }
    }

    /// Replaces `pairs` by the pairs of all parts, in order.
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
        let n = pairs.len();
        // The bits between the two numbers are 0.
        for low in [0, 32] {
            let by = low..low + self.number_bits;
            self.sorter.sort(workers, pairs, n, by);
        }
        pairs.truncate(n);
    }
}

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
