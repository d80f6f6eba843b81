//! The hash function and the random generator of the tick.
//!
//! Both consist of a few integer operations, so that every backend gives the same bits.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::id::{EntityId, Tick};

/// Mixes two words into one: multiplies them to 128 bits and combines the halves (the
/// step of wyhash).
pub const fn mix(a: u64, b: u64) -> u64 {
    let product = (a ^ 0xa076_1d64_78bd_642f) as u128 * (b ^ 0xe703_7ed1_a0b4_28db) as u128;
    product as u64 ^ (product >> 64) as u64
}

/// A hash of bytes, of which those of each 8 and their number count.
pub fn hash_of(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(0x6d79_7269_6164, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash, u64::from_le_bytes(word) ^ (chunk.len() as u64) << 56)
    })
}

/// The key by which the commands of a tick are ordered by entity. The order favours no
/// entity and does not depend on how clients are spread over shards.
pub const fn order_key(world_seed: u64, tick: Tick, entity: EntityId) -> u64 {
    mix(mix(world_seed, tick.0), entity.to_bits())
}

/// The random numbers of one entity in one tick.
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// xoshiro256++, seeded through SplitMix64. The seed is the complement of
    /// [`order_key`], so that chance and order don't come from the same number.
    pub fn new(world_seed: u64, tick: Tick, entity: EntityId) -> Random {
        Random(Xoshiro256PlusPlus::seed_from_u64(!order_key(
            world_seed, tick, entity,
        )))
    }

    /// A number in `0..bound`, by multiplication: its bias is under `bound / 2^32`.
    pub fn below(&mut self, bound: u32) -> u32 {
        ((u64::from((self.0.next_u64() >> 32) as u32) * u64::from(bound)) >> 32) as u32
    }

    /// A number in `-reach..=reach`; `reach` at most 2^30.
    pub fn around_zero(&mut self, reach: i32) -> i32 {
        let reach = reach.clamp(0, 1 << 30);
        self.below(2 * reach as u32 + 1) as i32 - reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_numbers() {
        // First outputs of xoshiro256++ seeded by SplitMix64 from 0, as the
        // authors' C code (prng.di.unimi.it) gives them.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        assert_eq!(rng.next_u64(), 0x53175d61490b23df);
        assert_eq!(rng.next_u64(), 0x61da6f3dc380d507);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut random = Random::new(1, Tick(2), EntityId::new(3, 4));
        for _ in 0..1000 {
            assert!(random.below(7) < 7);
            assert!((-5..=5).contains(&random.around_zero(5)));
        }
        assert_eq!(random.below(0), 0);
    }
}
