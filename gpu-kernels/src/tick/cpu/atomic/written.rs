/// Which keys were written: a bit each, so that their order takes no sort.
#[derive(Default)]
pub struct Written {
    /// By 64 keys.
    bits: Vec<u64>,
    /// A bit for each word of `bits` that is not 0.
    words: Vec<u64>,
    /// By word of `bits` that is not 0: how many keys are in those before.
    ranks: Vec<u32>,
}

impl Written {
    /// Notes these keys, which are below `bound`. Returns how many different ones there are.
    pub fn collect(&mut self, bound: usize, keys: impl Iterator<Item = u32>) -> usize {
        let words = bound.div_ceil(64);
        self.bits.resize(words, 0);
        self.ranks.resize(words, 0);
        self.words.resize(words.div_ceil(64), 0);
        for key in keys {
            let word = key as usize / 64;
            self.bits[word] |= 1 << (key % 64);
            self.words[word / 64] |= 1 << (word % 64);
        }
        let mut count = 0;
        let Written { bits, words, ranks } = self;
        each_bit(words, |word| {
            ranks[word] = count;
            count += bits[word].count_ones();
        });
        count as usize
    }

    /// The place of a key that was noted, among all in order.
    #[inline]
    pub fn rank(&self, key: u32) -> usize {
        let word = key as usize / 64;
        let before = self.bits[word] & ((1 << (key % 64)) - 1);
        (self.ranks[word] + before.count_ones()) as usize
    }

    /// Forgets all keys, and gives them in order.
    pub fn drain(&mut self, mut then: impl FnMut(u32)) {
        let Written { bits, words, .. } = self;
        each_bit(words, |word| {
            let own = std::mem::take(&mut bits[word]);
            each_bit(&[own], |bit| then((word * 64 + bit) as u32));
        });
        words.fill(0);
    }
}

/// Calls a function with the place of each bit, in order.
fn each_bit(words: &[u64], mut then: impl FnMut(usize)) {
    for (i, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            then(i * 64 + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_numbered_in_their_order_each_once() {
        let mut written = Written::default();
        let keys = [70_000, 3, 64, 3, 63, 99_999, 64];
        assert_eq!(written.collect(100_000, keys.into_iter()), 5);
        let ranks = keys.map(|key| written.rank(key));
        assert_eq!(ranks, [3, 0, 2, 0, 1, 4, 2]);
        let mut drained = vec![];
        written.drain(|key| drained.push(key));
        assert_eq!(drained, [3, 63, 64, 70_000, 99_999]);
        assert_eq!(written.collect(100_000, [65].into_iter()), 1);
        assert_eq!(written.rank(65), 0);
    }
}
