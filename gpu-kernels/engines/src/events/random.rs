//! Random draws. They depend only on (seed, process, number), so the order in which
//! processes are handled doesn't matter.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use shared::world::mix::mix;

/// The random numbers of one draw of one process: xoshiro256++, seeded through
/// SplitMix64.
pub struct Draw(Xoshiro256PlusPlus);

impl Draw {
    #[inline]
    pub fn new(seed: u64, process: u32, number: u32) -> Draw {
        let key = mix(seed, u64::from(process) << 32 | u64::from(number));
        Draw(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// An exponentially distributed number of ticks, by 32 random bits.
///
/// Its mean may be up to 2^32 - 1 ticks; it is never more than 23 means, and
/// rounded down to whole ticks.
#[inline]
pub fn exponential(mean: u32, bits: u32) -> u64 {
    (u64::from(mean) * u64::from(negative_logarithm(bits))) >> 27
}

/// −ln((bits + ½) / 2^32) with 27 bits behind the point, wrong by less than
/// 2·10^-7. Whole numbers only, so that it is the same everywhere.
#[inline]
pub fn negative_logarithm(bits: u32) -> u32 {
    // v / 2^33 is the argument; it is 2^(k - 33) (1 + f), with f in 32 bits.
    let v = u64::from(bits) * 2 + 1;
    let k = 63 - v.leading_zeros();
    let f = i64::from((v << 32 >> k) as u32);
    // ln(1 + f) = f q(f). Both ends are exact, so the pieces meet.
    let q = Q.iter().rev().fold(0, |sum, c| c + ((sum * f) >> 32));
    let logarithm = i64::from(33 - k) * LN_2 - ((q * f) >> 32);
    (logarithm.max(0) >> 3) as u32
}

/// ln 2 with 30 bits behind the point.
const LN_2: i64 = 744_261_118;
/// The polynomial through ln(1 + f) / f at eight Chebyshev-Lobatto points of
/// [0, 1], lowest power first, with 30 bits behind the point.
const Q: [i64; 8] = [
    1_073_741_824,
    -536_857_400,
    357_456_198,
    -263_710_513,
    191_889_141,
    -116_878_325,
    47_827_181,
    -9_206_988,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_close_to_the_real_one() {
        let every = (0..u32::MAX - 10_007).step_by(10_007);
        let ends = (0..5000).chain(u32::MAX - 5000..=u32::MAX);
        for bits in every.chain(ends) {
            let expected = -((f64::from(bits) + 0.5) / 4_294_967_296.0).ln();
            let found = f64::from(negative_logarithm(bits)) / f64::from(1 << 27);
            assert!(
                (found - expected).abs() < 2e-7,
                "{bits}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn draws_are_exponentially_distributed() {
        // Kolmogorov-Smirnov: the greatest distance exceeds 1.95 / sqrt(n) once in
        // a thousand seeds; this seed is not one of those.
        let (n, mean) = (100_000u32, 65_536u32);
        let mut samples: Vec<u64> = (0..n)
            .map(|number| exponential(mean, (Draw::new(7, 3, number).bits() >> 32) as u32))
            .collect();
        samples.sort_unstable();
        let distance = samples.iter().enumerate().map(|(i, &sample)| {
            // A sample stands for the middle of its tick.
            let expected = 1.0 - (-(sample as f64 + 0.5) / f64::from(mean)).exp();
            (expected - (i as f64 + 0.5) / f64::from(n)).abs()
        });
        let greatest = distance.fold(0.0, f64::max);
        assert!(greatest < 1.95 / f64::from(n).sqrt(), "{greatest}");
    }
}
