//! Numbers of 64 bits: their operators, their bounds, and what changes them.

use shared::world::attribute::halves;
use syn::spanned::Spanned;

use super::{Checked, Lower};
use crate::arith;
use crate::ir::{Binary, Half, Inst, Operand, Unary, Wide, WriteOp};
use crate::types::{Type, Value};

impl<'a> Lower<'a> {
    /// Half of the result of an operator.
    fn half(&mut self, op: Wide, half: Half, a: Value, b: Value) -> Operand {
        if let (Some(a), Some(b)) = (a.long(), b.long()) {
            let [low, high] = halves(arith::wide(op, a, b));
            return match half {
                Half::Low => low.into(),
                Half::High => high.into(),
            };
        }
        let ([a_low, a_high], [b_low, b_high]) = (a.halves(), b.halves());
        self.set(|reg| Inst::Wide(reg, op, half, [a_low, a_high, b_low, b_high]))
    }

    /// The number that an operator gives.
    pub(super) fn wide(&mut self, op: Wide, a: Value, b: Value) -> Value {
        let low = self.half(op, Half::Low, a, b);
        let high = self.half(op, Half::High, a, b);
        Value::of_halves([low, high])
    }

    /// The truth that a comparison gives.
    fn wide_truth(&mut self, op: Wide, a: Value, b: Value) -> Operand {
        self.half(op, Half::Low, a, b)
    }

    /// A number of 32 bits as one of 64.
    pub(super) fn widened(&mut self, word: Operand) -> Value {
        let sign = self.binary(Binary::Shr, word, 31.into());
        Value::of_halves([word, sign])
    }

    /// An operator of two numbers.
    pub(super) fn wide_operator(
        &mut self,
        op: syn::BinOp,
        a: Value,
        b: Value,
        at: &dyn Spanned,
    ) -> Checked<Value> {
        use syn::BinOp;
        let truth = |operand| Value::scalar(Type::Bool, operand);
        Ok(match op {
            BinOp::Add(_) => self.wide(Wide::Add, a, b),
            BinOp::Sub(_) => self.wide(Wide::Sub, a, b),
            BinOp::Mul(_) => self.wide(Wide::Mul, a, b),
            BinOp::Div(_) => self.wide(Wide::Div, a, b),
            BinOp::Rem(_) => self.wide(Wide::Rem, a, b),
            BinOp::Shl(_) => self.wide(Wide::Shl, a, b),
            BinOp::Shr(_) => self.wide(Wide::Shr, a, b),
            BinOp::BitAnd(_) => self.wide(Wide::And, a, b),
            BinOp::BitOr(_) => self.wide(Wide::Or, a, b),
            BinOp::BitXor(_) => self.wide(Wide::Xor, a, b),
            BinOp::Eq(_) => truth(self.wide_truth(Wide::Eq, a, b)),
            BinOp::Ne(_) => {
                let is_equal = self.wide_truth(Wide::Eq, a, b);
                truth(self.unary(Unary::Not, is_equal))
            }
            BinOp::Lt(_) => truth(self.wide_truth(Wide::Lt, a, b)),
            BinOp::Le(_) => truth(self.wide_truth(Wide::Le, a, b)),
            BinOp::Gt(_) => truth(self.wide_truth(Wide::Lt, b, a)),
            BinOp::Ge(_) => truth(self.wide_truth(Wide::Le, b, a)),
            _ => {
                let label = "it has `+`, `-`, `*`, `/`, `%`, shifts, `&`, `|`, `^` and comparisons";
                let message = "`i64` doesn't have this operator";
                return Err(self.problem(at.span(), message, label));
            }
        })
    }

    pub(super) fn wide_negative(&mut self, a: Value) -> Value {
        self.wide(Wide::Sub, Value::long_constant(0), a)
    }

    pub(super) fn wide_absolute(&mut self, a: Value) -> Value {
        let sign = self.wide(Wide::Shr, a, Value::long_constant(63));
        let flipped = self.wide(Wide::Xor, a, sign);
        self.wide(Wide::Sub, flipped, sign)
    }

    /// A number within the bounds of the attribute in a column.
    pub(super) fn wide_within_bounds(&mut self, column: u16, value: Value) -> Value {
        let (min, max) = self.unit.schema.wide_bounds()[usize::from(column)];
        let mut within = value;
        if min > i64::MIN {
            within = self.wide(Wide::Max, within, Value::long_constant(min));
        }
        if max < i64::MAX {
            within = self.wide(Wide::Min, within, Value::long_constant(max));
        }
        within
    }

    /// A change by an atomic command, at once: a write of each half, which none clamps.
    pub(super) fn write_wide(&mut self, slot: Operand, column: u16, op: WriteOp, by: Value) {
        let before = self.wide_at(slot, column);
        let (exact, nearest) = match op {
            WriteOp::Set => (by, by),
            WriteOp::Add => (
                self.wide(Wide::Add, before, by),
                self.wide(Wide::AddWithin, before, by),
            ),
            WriteOp::Sub => (
                self.wide(Wide::Sub, before, by),
                self.wide(Wide::SubWithin, before, by),
            ),
        };
        let within = self.wide_within_bounds(column, nearest);
        if self.atomic.as_ref().is_some_and(|atomic| atomic.fits) {
            let fits = self.wide_truth(Wide::Eq, within, exact);
            // Nothing is written of an entity that lacks the attribute.
            let has = self.set(|reg| Inst::Has(reg, slot, column));
            let exceeds = self.unary(Unary::Not, fits);
            let is_refused = self.binary(Binary::And, has, exceeds);
            let refusal = self.refusal();
            self.emit(Inst::JumpIf(is_refused, refusal));
        }
        for (column, half) in (column..).zip(within.halves()) {
            self.change(slot, column, WriteOp::Set, half);
        }
    }

    /// The attribute in a column and the next; 0 where there is none.
    pub(super) fn wide_at(&mut self, slot: Operand, column: u16) -> Value {
        let low = self.set(|reg| Inst::Read(reg, slot, column));
        let high = self.set(|reg| Inst::Read(reg, slot, column + 1));
        Value::of_halves([low, high])
    }

    /// `entity.attribute.min(value)` and `….max(value)`.
    pub(super) fn wide_limit(&mut self, slot: Operand, column: u16, op: Binary, value: Value) {
        if self.atomic.is_none() {
            for (column, half) in (column..).zip(value.halves()) {
                self.change(slot, column, WriteOp::Set, half);
            }
            return;
        }
        let before = self.wide_at(slot, column);
        let op = match op {
            Binary::Min => Wide::Min,
            _ => Wide::Max,
        };
        let limited = self.wide(op, before, value);
        self.write_wide(slot, column, WriteOp::Set, limited);
    }

    /// The literal of a number that 32 bits do not hold, or that says it has 64; negative, if
    /// `is_negative`.
    pub(super) fn wide_literal(literal: &syn::LitInt, is_negative: bool) -> Option<Value> {
        let suffix = literal.suffix();
        if !["", "i64"].contains(&suffix) {
            return None;
        }
        let number = literal.base10_parse::<u64>().ok()?;
        let number = match is_negative {
            true => 0i64.checked_sub_unsigned(number)?,
            false => i64::try_from(number).ok()?,
        };
        let is_short = i32::try_from(number).is_ok();
        (suffix == "i64" || !is_short).then(|| Value::long_constant(number))
    }
}
