/// A divisor that is known in advance. The tick divides by a bucket's edge and by the
/// number of columns for every entity, and multiplying is faster than dividing.
#[derive(Clone, Copy)]
pub struct Reciprocal {
    divisor: u32,
    /// 2^64 divided by the divisor, rounded up.
    factor: u64,
}

impl Reciprocal {
    /// `divisor` must be at least 2.
    pub fn of(divisor: u32) -> Reciprocal {
        assert!(divisor >= 2);
        Reciprocal {
            divisor,
            factor: u64::MAX / u64::from(divisor) + 1,
        }
    }

    /// Exactly `n / divisor`, since both are below 2^32 (Lemire, Kaser and Kurz
    /// 2019, theorem 1).
    #[inline]
    pub fn divide(self, n: u32) -> u32 {
        ((u128::from(self.factor) * u128::from(n)) >> 64) as u32
    }

    /// `(n / divisor, n % divisor)`.
    #[inline]
    pub fn divide_with_rest(self, n: u32) -> (u32, u32) {
        let quotient = self.divide(n);
        (quotient, n - quotient * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_divides_as_division_does(n: u32, divisor in 2u32..) {
            let expected = (n / divisor, n % divisor);
            prop_assert_eq!(Reciprocal::of(divisor).divide_with_rest(n), expected);
        }

        #[test]
        fn it_is_exact_around_multiples(factor in 1u32..1 << 16, divisor in 2u32..1 << 16) {
            for n in [factor * divisor - 1, factor * divisor, u32::MAX] {
                prop_assert_eq!(Reciprocal::of(divisor).divide(n), n / divisor);
            }
        }
    }
}
