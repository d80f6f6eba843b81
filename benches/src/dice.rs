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

/// Draws places by Zipf's law: the n-th is drawn in proportion to n to the power of -z.
pub struct Zipf {
    /// By place: how likely it is to be this one or one before.
    cumulated: Vec<f64>,
}

impl Zipf {
    pub fn new(places: usize, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        let weights = (1..=places).map(|place| (place as f64).powf(-exponent));
        let sums: Vec<f64> = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let cumulated = sums.into_iter().map(|so_far| so_far / sum).collect();
        Zipf { cumulated }
    }

    /// The place that a random number stands for.
    pub fn of(&self, random: u64) -> usize {
        let share = (random >> 11) as f64 / (1u64 << 53) as f64;
        let place = self.cumulated.partition_point(|&so_far| so_far <= share);
        place.min(self.cumulated.len() - 1)
    }
}
