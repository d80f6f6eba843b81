//! What the operators of scripts give, for all operands. Every backend computes the same.

use shared::world::attribute::{halves, joined};
use shared::world::fixed::Fixed;
use shared::world::mix::{mix, order_key};
use shared::{EntityId, Tick};

use crate::ir::{Binary, Half, Unary, Wide};

/// The result of an operator with one operand.
pub fn unary(op: Unary, a: i32) -> i32 {
    match op {
        Unary::Neg => a.wrapping_neg(),
        Unary::Not => i32::from(a == 0),
        Unary::BitNot => !a,
        Unary::Abs => a.wrapping_abs(),
        Unary::Whole => a / Fixed::ONE.raw(),
        Unary::ToFixed => a.wrapping_shl(Fixed::FRACTION_BITS),
        Unary::Sqrt => (a.max(0) as u32).isqrt() as i32,
        Unary::SqrtFixed => ((a.max(0) as u64) << Fixed::FRACTION_BITS).isqrt() as i32,
    }
}

/// The result of an operator with two operands.
pub fn binary(op: Binary, a: i32, b: i32) -> i32 {
    match op {
        Binary::Add => a.wrapping_add(b),
        Binary::Sub => a.wrapping_sub(b),
        Binary::Mul => a.wrapping_mul(b),
        Binary::Div if b == 0 => 0,
        Binary::Div => a.wrapping_div(b),
        Binary::Rem if b == 0 => 0,
        Binary::Rem => a.wrapping_rem(b),
        Binary::MulFixed => ((i64::from(a) * i64::from(b)) >> Fixed::FRACTION_BITS) as i32,
        Binary::DivFixed if b == 0 => 0,
        Binary::DivFixed => ((i64::from(a) << Fixed::FRACTION_BITS) / i64::from(b)) as i32,
        Binary::And => a & b,
        Binary::Or => a | b,
        Binary::Xor => a ^ b,
        Binary::Shl => a.wrapping_shl(b as u32),
        Binary::Shr => a.wrapping_shr(b as u32),
        Binary::Min => a.min(b),
        Binary::Max => a.max(b),
        Binary::Eq => i32::from(a == b),
        Binary::Ne => i32::from(a != b),
        Binary::Lt => i32::from(a < b),
        Binary::Le => i32::from(a <= b),
    }
}

/// The result of an operator of 64 bits.
pub fn wide(op: Wide, a: i64, b: i64) -> i64 {
    match op {
        Wide::Add => a.wrapping_add(b),
        Wide::Sub => a.wrapping_sub(b),
        Wide::AddWithin => a.saturating_add(b),
        Wide::SubWithin => a.saturating_sub(b),
        Wide::Mul => a.wrapping_mul(b),
        Wide::Div | Wide::Rem if b == 0 => 0,
        Wide::Div => a.wrapping_div(b),
        Wide::Rem => a.wrapping_rem(b),
        Wide::And => a & b,
        Wide::Or => a | b,
        Wide::Xor => a ^ b,
        Wide::Shl => a.wrapping_shl(b as u32),
        Wide::Shr => a.wrapping_shr(b as u32),
        Wide::Min => a.min(b),
        Wide::Max => a.max(b),
        Wide::Eq => i64::from(a == b),
        Wide::Lt => i64::from(a < b),
        Wide::Le => i64::from(a <= b),
    }
}

/// Half of the result of an operator of 64 bits, from the halves of its operands.
pub fn wide_half(op: Wide, half: Half, [a_low, a_high, b_low, b_high]: [i32; 4]) -> i32 {
    let [low, high] = halves(wide(op, joined([a_low, a_high]), joined([b_low, b_high])));
    match half {
        Half::Low => low,
        Half::High => high,
    }
}

/// The square of the distance of two points. Along each axis at most 2^31 - 1 counts, so
/// that points which clients invent can't overflow it.
pub fn squared_distance(a: [i32; 3], b: [i32; 3]) -> u64 {
    let along = |axis: usize| {
        let difference = (i64::from(a[axis]) - i64::from(b[axis])).unsigned_abs();
        let limited = difference.min(i32::MAX as u64);
        limited * limited
    };
    along(0) + along(1) + along(2)
}

/// The distance of two points, rounded down; at most `i32::MAX`.
pub fn distance(a: [i32; 3], b: [i32; 3]) -> i32 {
    squared_distance(a, b).isqrt().min(i32::MAX as u64) as i32
}

/// Whether two points are at most `radius` apart; never, if `radius` is negative.
pub fn is_within(a: [i32; 3], b: [i32; 3], radius: i32) -> bool {
    radius >= 0 && squared_distance(a, b) <= (i64::from(radius) * i64::from(radius)) as u64
}

/// How many ticks before `now` a tick is, both by their low bits: at least 1, as the present one
/// has not ended, and at most `kept`.
pub fn ticks_back(now: i32, tick: i32, kept: u32) -> u32 {
    let back = now.wrapping_sub(tick).max(1).cast_unsigned();
    back.min(kept)
}

/// The random numbers of one run of a command: no state but how many were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    key: u64,
    drawn: u32,
}

impl Random {
    /// The numbers depend on all arguments. `sequence` tells apart the commands of one kind
    /// that an entity gives in one tick.
    pub const fn new(seed: u64, tick: Tick, entity: EntityId, kind: u16, sequence: u32) -> Random {
        Random {
            key: random_key(seed, tick, entity, kind, sequence),
            drawn: 0,
        }
    }

    pub const fn from_key(key: u64) -> Random {
        Random { key, drawn: 0 }
    }

    /// A number in `low..=high`; `low` if there is none. Its bias is under 2^-32 times the
    /// length of the range.
    pub fn within(&mut self, low: i32, high: i32) -> i32 {
        // Steps of the golden ratio: neighbouring numbers give unrelated products.
        let step = u64::from(self.drawn).wrapping_mul(RANDOM_STEP);
        let seed = self.key.wrapping_add(step);
        let bits = (mix(seed, seed) >> 32) as u32;
        self.drawn = self.drawn.wrapping_add(1);
        if high <= low {
            return low;
        }
        let count = (i64::from(high) - i64::from(low) + 1) as u64;
        low.wrapping_add(((u64::from(bits) * count) >> 32) as i32)
    }
}

/// What is added to the seed from one random number to the next: 2^64 by the golden ratio.
pub const RANDOM_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number from which a run's random numbers follow.
pub const fn random_key(seed: u64, tick: Tick, entity: EntityId, kind: u16, sequence: u32) -> u64 {
    // The complement, so that chance and order don't come from the same number.
    let own = (kind as u64) << 32 | sequence as u64;
    mix(!order_key(seed, tick, entity), own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_defined_for_every_operand() {
        assert_eq!(binary(Binary::Add, i32::MAX, 1), i32::MIN);
        assert_eq!(binary(Binary::Div, 7, 0), 0);
        assert_eq!(binary(Binary::Rem, 7, 0), 0);
        assert_eq!(binary(Binary::Div, i32::MIN, -1), i32::MIN);
        assert_eq!(binary(Binary::Rem, i32::MIN, -1), 0);
        assert_eq!(binary(Binary::Shl, 1, 33), 2);
        assert_eq!(binary(Binary::Shr, -8, 1), -4);
        assert_eq!(binary(Binary::MulFixed, 6144, 8192), 12_288, "1.5 × 2");
        assert_eq!(binary(Binary::MulFixed, -1, 1), -1, "rounds down");
        assert_eq!(binary(Binary::DivFixed, -1, 8192), 0, "truncates");
        assert_eq!(binary(Binary::DivFixed, 4096, 0), 0);
        assert_eq!(binary(Binary::DivFixed, i32::MAX, 1), -4096, "low 32 bits");
        assert_eq!(unary(Unary::Abs, i32::MIN), i32::MIN);
        assert_eq!(unary(Unary::Whole, -6144), -1, "truncates");
        assert_eq!(unary(Unary::Sqrt, -5), 0);
        assert_eq!(unary(Unary::SqrtFixed, 9 << 12), 3 << 12);
    }

    #[test]
    fn numbers_of_64_bits_have_the_same_rules() {
        assert_eq!(wide(Wide::Add, i64::MAX, 1), i64::MIN);
        assert_eq!(wide(Wide::AddWithin, i64::MAX, 1), i64::MAX);
        assert_eq!(wide(Wide::SubWithin, i64::MIN, 1), i64::MIN);
        assert_eq!(wide(Wide::Div, 7, 0), 0);
        assert_eq!(wide(Wide::Rem, 7, 0), 0);
        assert_eq!(wide(Wide::Div, i64::MIN, -1), i64::MIN);
        assert_eq!(wide(Wide::Rem, i64::MIN, -1), 0);
        assert_eq!(wide(Wide::Shl, 1, 65), 2);
        assert_eq!(wide(Wide::Shr, -8, 1), -4);
        // 4,294,967,295 + 1 carries into the high half.
        let sum = |half| wide_half(Wide::Add, half, [-1, 0, 1, 0]);
        assert_eq!([sum(Half::Low), sum(Half::High)], [0, 1]);
    }

    #[test]
    fn invented_points_have_a_distance() {
        let (low, high) = ([i32::MIN; 3], [i32::MAX; 3]);
        assert_eq!(distance(low, high), i32::MAX);
        assert!(!is_within(low, high, i32::MAX));
        assert!(is_within([0; 3], [3, 4, 0], 5));
        assert!(!is_within([0; 3], [0; 3], -1));
    }

    #[test]
    fn random_numbers_fill_their_range() {
        let mut random = Random::new(1, Tick(2), EntityId::new(3, 4), 5, 6);
        let drawn: Vec<i32> = (0..1000).map(|_| random.within(-2, 2)).collect();
        for value in -2..=2 {
            assert!(drawn.iter().filter(|&&d| d == value).count() > 130);
        }
        assert_eq!(random.within(3, 1), 3);
        random.within(i32::MIN, i32::MAX);
    }

    #[test]
    fn neighbouring_numbers_are_independent() {
        // Pairs of draws fall into 64 cells; chi-square with 63 degrees of freedom is beyond
        // 130 once in a million.
        for key in 1..=50 {
            let mut random = Random::from_key(mix(key, 7));
            let mut cells = [0f64; 64];
            for _ in 0..2048 {
                let pair = random.within(0, 7) * 8 + random.within(0, 7);
                cells[pair as usize] += 1.0;
            }
            let chi: f64 = cells.iter().map(|n| (n - 32.0) * (n - 32.0) / 32.0).sum();
            assert!(chi < 150.0, "{key}: {chi}");
        }
    }
}
