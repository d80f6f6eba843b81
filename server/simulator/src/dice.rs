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

    pub fn one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}
