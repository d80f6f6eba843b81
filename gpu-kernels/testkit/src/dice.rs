//! Random choices from a seed.

use std::io::Write;
use std::ops::RangeInclusive;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A random generator.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// Creates a generator; the same seed gives the same choices.
    pub fn new(seed: u64) -> Dice {
        Dice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number in `0..bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    /// A number in the range, ends included.
    pub fn within(&mut self, range: RangeInclusive<i32>) -> i32 {
        let (low, high) = (i64::from(*range.start()), i64::from(*range.end()));
        (low + (self.0.next_u64() % (high - low + 1) as u64) as i64) as i32
    }

    /// Any number.
    pub fn any(&mut self) -> i32 {
        self.0.next_u64() as i32
    }

    /// True with probability 1 / `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Picks one of these items; there must be at least one.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Puts the items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Prints the seed of a random world if the thread panics while this is in scope.
pub struct Seed(pub u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // A second panic would end the process.
            let _ = writeln!(std::io::stderr(), "the failing seed is {}", self.0);
        }
    }
}
