use shared::world::mix::mix;

/// Random numbers for one purpose: SplitMix64 with the project's own hash.
pub struct Dice(pub u64);

impl Dice {
    /// A number in `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix(self.0, 1)) * bound as u128) >> 64) as usize
    }

    /// A number in `low..=high`.
    pub fn within(&mut self, (low, high): (usize, usize)) -> usize {
        low + self.below(high - low + 1)
    }
}
