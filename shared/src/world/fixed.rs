//! Fixed-point numbers: `i32` with 12 fractional bits.
//!
//! Integers give the same bits on every machine and in every order of execution;
//! floating point does not.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number from -524,288 to just under 524,288 in steps of 1/4096.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct Fixed(i32);

impl Fixed {
    /// How many of the 32 bits are behind the point.
    pub const FRACTION_BITS: u32 = 12;
    /// 1.0.
    pub const ONE: Fixed = Fixed(1 << Self::FRACTION_BITS);
    /// The smallest step, 1/4096.
    pub const EPSILON: Fixed = Fixed(1);
    /// The largest number, 524,287.99975….
    pub const MAX: Fixed = Fixed(i32::MAX);

    /// The number whose raw representation is `raw`, in steps of 1/4096.
    pub const fn from_raw(raw: i32) -> Fixed {
        Fixed(raw)
    }

    /// The raw representation, in steps of 1/4096.
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// The nearest representable number, or `None` outside the range or for NaN.
    pub fn from_f64(value: f64) -> Option<Fixed> {
        let raw = (value * f64::from(Self::ONE.0)).round();
        (raw >= f64::from(i32::MIN) && raw <= f64::from(i32::MAX)).then_some(Fixed(raw as i32))
    }

    /// The same number in floating point: exact, for showing and measuring only.
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::ONE.0)
    }
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_comes_back() {
        assert_eq!(Fixed::from_f64(1.25).map(Fixed::raw), Some(5120));
        assert_eq!(Fixed::from_raw(-2048).to_f64(), -0.5);
    }

    #[test]
    fn a_number_that_does_not_fit_is_rejected() {
        assert_eq!(Fixed::from_f64(524_288.0), None);
        assert_eq!(Fixed::from_f64(f64::NAN), None);
        assert_eq!(Fixed::from_f64(f64::INFINITY), None);
    }
}
