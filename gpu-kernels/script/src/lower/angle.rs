//! Angles, in degrees. They are computed by polynomials of whole numbers, from instructions that all
//! backends have, so they have the same bits everywhere.

use super::{Checked, Lower};
use crate::ir::{Binary, Operand, Unary};
use crate::types::{Type, Value};

/// Parts of a turn, as raw `Fixed`.
const QUARTER: i32 = 90 << 12;
const HALF: i32 = 180 << 12;
const WHOLE: i32 = 360 << 12;

/// The sine of 90° · t is t · (`SINE[0]` + `SINE[1]` · t² + …): the best fit for t from 0 to 1. With
/// 24 bits of fraction.
const SINE: [i32; 4] = [26_353_500, -10_836_284, 1_332_687, -72_697];
/// The angle whose tangent is t is 45° · t · (`ARC[0]` + `ARC[1]` · t² + …), likewise.
const ARC: [i32; 6] = [
    21_360_928, -7_105_294, 4_134_296, -2_487_034, 1_124_622, -250_337,
];
/// What makes 90°, as raw `Fixed`, 1 with 30 bits of fraction: 2^42 by that angle.
const OF_QUARTER: i32 = 11_930_465;

impl<'a> Lower<'a> {
    /// The sine of an angle, at most 1/4096 off.
    pub(super) fn sine(&mut self, degrees: Operand) -> Operand {
        let signed = self.binary(Binary::Rem, degrees, WHOLE.into());
        let raised = self.binary(Binary::Add, signed, WHOLE.into());
        let angle = self.binary(Binary::Rem, raised, WHOLE.into());
        let is_below = self.binary(Binary::Le, HALF.into(), angle);
        let half = self.binary(Binary::Mul, is_below, HALF.into());
        let up = self.binary(Binary::Sub, angle, half);
        let down = self.binary(Binary::Sub, HALF.into(), up);
        let part = self.binary(Binary::Min, up, down);
        let part = self.binary(Binary::MulFixed, part, OF_QUARTER.into());
        let sine = self.odd_polynomial(part, &SINE);
        let rounded = self.binary(Binary::Add, sine, (1 << 17).into());
        let sine = self.binary(Binary::Shr, rounded, 18.into());
        self.mirrored(sine, is_below, 0)
    }

    pub(super) fn cosine(&mut self, degrees: Operand) -> Operand {
        // Near its ends a `Fixed` would wrap around, which is no whole number of turns.
        let angle = self.binary(Binary::Rem, degrees, WHOLE.into());
        let ahead = self.binary(Binary::Add, angle, QUARTER.into());
        self.sine(ahead)
    }

    /// The direction from a place to another in the plane of `x` and `y`: above 0 towards higher
    /// `y`, from -180° to 180°, at most 2/4096 off. It is 0 where they are the same.
    pub(super) fn angle(&mut self, from: &'a syn::Expr, to: &'a syn::Expr) -> Checked<Value> {
        let (from, to) = (self.place_of(from)?, self.place_of(to)?);
        let [(x, along), (y, across)] = [0, 1].map(|axis| {
            let way = self.binary(Binary::Sub, to[axis], from[axis]);
            // Only the lowest number has no opposite.
            let way = self.binary(Binary::Max, way, (-i32::MAX).into());
            (way, self.unary(Unary::Abs, way))
        });
        let long = self.binary(Binary::Max, along, across);
        let short = self.binary(Binary::Min, along, across);
        // A long division: 24 bits of the fraction, and 6 that are 0.
        let first = self.binary(Binary::DivFixed, short, long);
        let shifted = self.binary(Binary::Shl, short, 12.into());
        let taken = self.binary(Binary::Mul, first, long);
        let rest = self.binary(Binary::Sub, shifted, taken);
        let second = self.binary(Binary::DivFixed, rest, long);
        let high = self.binary(Binary::Shl, first, 18.into());
        let low = self.binary(Binary::Shl, second, 6.into());
        let tangent = self.binary(Binary::Add, high, low);
        let part = self.odd_polynomial(tangent, &ARC);
        let part = self.binary(Binary::Shr, part, 6.into());
        let degrees = self.binary(Binary::Mul, part, 45.into());
        let rounded = self.binary(Binary::Add, degrees, (1 << 11).into());
        let mut angle = self.binary(Binary::Shr, rounded, 12.into());
        let is_steep = self.binary(Binary::Lt, along, across);
        angle = self.mirrored(angle, is_steep, QUARTER);
        let is_back = self.binary(Binary::Lt, x, Operand::ZERO);
        angle = self.mirrored(angle, is_back, HALF);
        let is_below = self.binary(Binary::Lt, y, Operand::ZERO);
        angle = self.mirrored(angle, is_below, 0);
        Ok(Value::scalar(Type::Fixed, angle))
    }

    /// An offset, turned in the plane of `x` and `y`, from `x` towards `y`.
    pub(super) fn turn(&mut self, offset: &'a syn::Expr, degrees: &'a syn::Expr) -> Checked<Value> {
        let [x, y, z] = self.expression_of(offset, Type::Point)?.operands;
        let degrees = self.expression_of(degrees, Type::Fixed)?.operand();
        let (sine, cosine) = (self.sine(degrees), self.cosine(degrees));
        let mut product = |a, b| self.binary(Binary::MulFixed, a, b);
        let (x_along, y_along) = (product(x, cosine), product(y, sine));
        let (x_across, y_across) = (product(x, sine), product(y, cosine));
        let turned = [
            self.binary(Binary::Sub, x_along, y_along),
            self.binary(Binary::Add, x_across, y_across),
            z,
        ];
        Ok(Value::new(Type::Point, turned))
    }

    /// `t · (c[0] + c[1] · t² + …)` of a `t` from 0 to 1, with 30 bits of fraction, as `t` has. Those
    /// of the coefficients are 24.
    fn odd_polynomial(&mut self, t: Operand, coefficients: &[i32]) -> Operand {
        // A product of `Fixed` drops 12 bits: 21 + 21 bits become 30, 18 + 24 likewise.
        let fine = self.binary(Binary::Shr, t, 9.into());
        let square = self.binary(Binary::MulFixed, fine, fine);
        let square = self.binary(Binary::Shr, square, 12.into());
        let mut sum = Operand::ZERO;
        for &coefficient in coefficients.iter().rev() {
            let product = self.binary(Binary::MulFixed, square, sum);
            let product = self.binary(Binary::Shr, product, 6.into());
            sum = self.binary(Binary::Add, product, coefficient.into());
        }
        let coarse = self.binary(Binary::Shr, t, 12.into());
        self.binary(Binary::MulFixed, coarse, sum)
    }

    /// `end - a` if a condition is 1, else `a`.
    fn mirrored(&mut self, a: Operand, condition: Operand, end: i32) -> Operand {
        let double = self.binary(Binary::Shl, a, 1.into());
        let change = self.binary(Binary::Sub, end.into(), double);
        let change = self.binary(Binary::Mul, condition, change);
        self.binary(Binary::Add, a, change)
    }
}
