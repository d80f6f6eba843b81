//! Random numbers.

use shared::world::mix::mix;

#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(mix(seed, 0xd1ce))
    }

    /// Below a bound, which is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = mix(self.0, 1);
        self.0 % bound.max(1)
    }

    /// The same for a place in a list.
    pub fn index(&mut self, bound: usize) -> usize {
        index(self.below(bound as u64))
    }

    pub fn one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// A number as a place in a list.
pub fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
