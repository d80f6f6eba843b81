//! Operators: what [`arith`](crate::arith) gives.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value};
use shared::world::attribute::joined;
use shared::world::fixed::Fixed;

use super::Emit;
use crate::arith::RANDOM_STEP;
use crate::ir::{Binary, Half, Operand, Point, Unary, Wide};

impl Emit<'_, '_> {
    pub(super) fn unary(&mut self, op: Unary, a: Value) -> Value {
        match op {
            Unary::Neg => self.b.ins().ineg(a),
            Unary::Not => {
                let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, a, 0);
                self.b.ins().uextend(I32, is_zero)
            }
            Unary::BitNot => self.b.ins().bnot(a),
            Unary::Abs => self.b.ins().iabs(a),
            Unary::Whole => {
                // A shift rounds down, a division to 0.
                let sign = self.b.ins().sshr_imm_u(a, 31);
                let round = (self.b.ins()).ushr_imm_u(sign, 32 - FRACTION_BITS);
                let a = self.b.ins().iadd(a, round);
                self.b.ins().sshr_imm_u(a, FRACTION_BITS)
            }
            Unary::ToFixed => self.b.ins().ishl_imm_u(a, FRACTION_BITS),
            Unary::Sqrt => {
                let a = self.root_operand(a);
                self.root(a)
            }
            Unary::SqrtFixed => {
                let a = self.root_operand(a);
                let a = self.b.ins().ishl_imm_u(a, FRACTION_BITS);
                self.root(a)
            }
        }
    }

    pub(super) fn binary(&mut self, op: Binary, a: Operand, b: Operand) -> Value {
        let divisor = b.constant();
        let (a, b) = (self.get(a), self.get(b));
        match op {
            Binary::Add => self.b.ins().iadd(a, b),
            Binary::Sub => self.b.ins().isub(a, b),
            Binary::Mul => self.b.ins().imul(a, b),
            Binary::Div => {
                let a = self.b.ins().sextend(I64, a);
                self.divide(a, b, divisor)
            }
            Binary::Rem => {
                let a = self.b.ins().sextend(I64, a);
                // For 0 by 1, as that also leaves 0.
                let b = self.divisor(b, divisor);
                let rest = self.b.ins().srem(a, b);
                self.b.ins().ireduce(I32, rest)
            }
            Binary::MulFixed => {
                let (a, b) = (self.b.ins().sextend(I64, a), self.b.ins().sextend(I64, b));
                let product = self.b.ins().imul(a, b);
                let product = self.b.ins().sshr_imm_u(product, FRACTION_BITS);
                self.b.ins().ireduce(I32, product)
            }
            Binary::DivFixed => {
                let a = self.b.ins().sextend(I64, a);
                let a = self.b.ins().ishl_imm_u(a, FRACTION_BITS);
                self.divide(a, b, divisor)
            }
            Binary::And => self.b.ins().band(a, b),
            Binary::Or => self.b.ins().bor(a, b),
            Binary::Xor => self.b.ins().bxor(a, b),
            // Like `arith`, these take the amount modulo 32.
            Binary::Shl => self.b.ins().ishl(a, b),
            Binary::Shr => self.b.ins().sshr(a, b),
            Binary::Min => self.b.ins().smin(a, b),
            Binary::Max => self.b.ins().smax(a, b),
            Binary::Eq => self.compare(IntCC::Equal, a, b),
            Binary::Ne => self.compare(IntCC::NotEqual, a, b),
            Binary::Lt => self.compare(IntCC::SignedLessThan, a, b),
            Binary::Le => self.compare(IntCC::SignedLessThanOrEqual, a, b),
        }
    }

    /// Half of the result of an operator of 64 bits. The other half costs nothing more, as the
    /// compiler finds that they have the rest in common.
    pub(super) fn wide(&mut self, op: Wide, half: Half, words: [Operand; 4]) -> Value {
        let [a_low, a_high, b_low, b_high] = words;
        let a = self.joined(a_low, a_high);
        let b = self.joined(b_low, b_high);
        let result = match op {
            Wide::Add => self.b.ins().iadd(a, b),
            Wide::Sub => self.b.ins().isub(a, b),
            Wide::AddWithin => {
                let sum = self.b.ins().iadd(a, b);
                let (of_a, of_b) = (self.b.ins().bxor(a, sum), self.b.ins().bxor(b, sum));
                self.within(a, sum, of_a, of_b)
            }
            Wide::SubWithin => {
                let rest = self.b.ins().isub(a, b);
                let (of_a, of_b) = (self.b.ins().bxor(a, rest), self.b.ins().bxor(a, b));
                self.within(a, rest, of_a, of_b)
            }
            Wide::Mul => self.b.ins().imul(a, b),
            Wide::Div => {
                let (divisor, is_zero, is_minus_one) = self.wide_divisor(b);
                let quotient = self.b.ins().sdiv(a, divisor);
                let opposite = self.b.ins().ineg(a);
                let quotient = (self.b.ins()).select(is_minus_one, opposite, quotient);
                let zero = self.b.ins().iconst(I64, 0);
                self.b.ins().select(is_zero, zero, quotient)
            }
            Wide::Rem => {
                // By 1, 0 is left, as by 0 and -1.
                let (divisor, ..) = self.wide_divisor(b);
                self.b.ins().srem(a, divisor)
            }
            Wide::And => self.b.ins().band(a, b),
            Wide::Or => self.b.ins().bor(a, b),
            Wide::Xor => self.b.ins().bxor(a, b),
            // Like `arith`, these take the amount modulo 64.
            Wide::Shl => self.b.ins().ishl(a, b),
            Wide::Shr => self.b.ins().sshr(a, b),
            Wide::Min => self.b.ins().smin(a, b),
            Wide::Max => self.b.ins().smax(a, b),
            Wide::Eq => self.compare_wide(IntCC::Equal, a, b),
            Wide::Lt => self.compare_wide(IntCC::SignedLessThan, a, b),
            Wide::Le => self.compare_wide(IntCC::SignedLessThanOrEqual, a, b),
        };
        let result = match half {
            Half::Low => result,
            Half::High => self.b.ins().ushr_imm_u(result, 32),
        };
        self.b.ins().ireduce(I32, result)
    }

    fn joined(&mut self, low: Operand, high: Operand) -> Value {
        if let (Some(low), Some(high)) = (low.constant(), high.constant()) {
            return self.b.ins().iconst(I64, joined([low, high]));
        }
        let (low, high) = (self.get(low), self.get(high));
        let low = self.b.ins().uextend(I64, low);
        let high = self.b.ins().uextend(I64, high);
        let high = self.b.ins().ishl_imm_u(high, 32);
        self.b.ins().bor(high, low)
    }

    /// A sum or difference of `a`, or the end of the range that it went beyond: where the signs of
    /// both others are set.
    fn within(&mut self, a: Value, result: Value, of_a: Value, of_b: Value) -> Value {
        let both = self.b.ins().band(of_a, of_b);
        let is_beyond = self.b.ins().icmp_imm_s(IntCC::SignedLessThan, both, 0);
        let sign = self.b.ins().sshr_imm_u(a, 63);
        let greatest = self.b.ins().iconst(I64, i64::MAX);
        let end = self.b.ins().bxor(sign, greatest);
        self.b.ins().select(is_beyond, end, result)
    }

    /// A divisor by which no quotient overflows: 1 for 0 and -1; and whether it was 0, or -1.
    fn wide_divisor(&mut self, b: Value) -> (Value, Value, Value) {
        let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let is_minus_one = self.b.ins().icmp_imm_s(IntCC::Equal, b, -1);
        let is_either = self.b.ins().bor(is_zero, is_minus_one);
        let one = self.b.ins().iconst(I64, 1);
        let divisor = self.b.ins().select(is_either, one, b);
        (divisor, is_zero, is_minus_one)
    }

    fn compare_wide(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let is = self.b.ins().icmp(condition, a, b);
        self.b.ins().uextend(I64, is)
    }

    fn compare(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        let is = self.b.ins().icmp(condition, a, b);
        self.b.ins().uextend(I32, is)
    }

    /// The low 32 bits of a quotient; 0 if the divisor is.
    fn divide(&mut self, a: Value, b: Value, constant: Option<i32>) -> Value {
        let divisor = self.divisor(b, constant);
        let quotient = self.b.ins().sdiv(a, divisor);
        let quotient = self.b.ins().ireduce(I32, quotient);
        match constant {
            Some(value) if value != 0 => quotient,
            _ => {
                let zero = self.get(Operand::ZERO);
                let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
                self.b.ins().select(is_zero, zero, quotient)
            }
        }
    }

    /// A divisor in 64 bits, in which no quotient of ours overflows; 1 for 0.
    fn divisor(&mut self, b: Value, constant: Option<i32>) -> Value {
        if let Some(value) = constant {
            let value = if value == 0 { 1 } else { value };
            return self.b.ins().iconst(I64, i64::from(value));
        }
        let one = self.get(Operand::Const(1));
        let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, b, 0);
        let b = self.b.ins().select(is_zero, one, b);
        self.b.ins().sextend(I64, b)
    }

    /// At least 0, in 64 bits.
    fn root_operand(&mut self, a: Value) -> Value {
        let zero = self.get(Operand::ZERO);
        let a = self.b.ins().smax(a, zero);
        self.b.ins().uextend(I64, a)
    }

    /// The low 32 bits of a square root, rounded down.
    fn root(&mut self, a: Value) -> Value {
        let root = self.root_long(a);
        self.b.ins().ireduce(I32, root)
    }

    fn root_long(&mut self, a: Value) -> Value {
        let mut signature = Signature::new(self.of.config.default_call_conv);
        signature.params = vec![AbiParam::new(I64)];
        signature.returns = vec![AbiParam::new(I64)];
        let signature = self.b.import_signature(signature);
        let function: extern "C" fn(u64) -> u64 = square_root;
        let function = self.b.ins().iconst(I64, function as usize as i64);
        let call = self.b.ins().call_indirect(signature, function, &[a]);
        self.b.inst_results(call)[0]
    }

    pub(super) fn distance(&mut self, a: Point, b: Point) -> Value {
        let square = self.squared_distance(a, b);
        let root = self.root_long(square);
        let limit = self.b.ins().iconst(I64, i64::from(i32::MAX));
        let root = self.b.ins().umin(root, limit);
        self.b.ins().ireduce(I32, root)
    }

    pub(super) fn is_within(&mut self, a: Point, b: Point, radius: Operand) -> Value {
        if radius.constant().is_some_and(|radius| radius < 0) {
            return self.get(Operand::ZERO);
        }
        let square = self.squared_distance(a, b);
        let short = self.get(radius);
        let long = self.b.ins().sextend(I64, short);
        let limit = self.b.ins().imul(long, long);
        let is_within = (self.b.ins()).icmp(IntCC::UnsignedLessThanOrEqual, square, limit);
        let is_within = match radius {
            Operand::Const(_) => is_within,
            Operand::Reg(_) => {
                let is_radius =
                    (self.b.ins()).icmp_imm_s(IntCC::SignedGreaterThanOrEqual, short, 0);
                self.b.ins().band(is_within, is_radius)
            }
        };
        self.b.ins().uextend(I32, is_within)
    }

    fn squared_distance(&mut self, a: Point, b: Point) -> Value {
        let mut sum = None;
        for (a, b) in a.into_iter().zip(b) {
            // Along an axis that the world lacks, for one.
            if a == b {
                continue;
            }
            let (a, b) = (self.get(a), self.get(b));
            let (a, b) = (self.b.ins().sextend(I64, a), self.b.ins().sextend(I64, b));
            let difference = self.b.ins().isub(a, b);
            let difference = self.b.ins().iabs(difference);
            let limit = self.b.ins().iconst(I64, i64::from(i32::MAX));
            let limited = self.b.ins().umin(difference, limit);
            let square = self.b.ins().imul(limited, limited);
            sum = Some(match sum {
                None => square,
                Some(sum) => self.b.ins().iadd(sum, square),
            });
        }
        sum.unwrap_or_else(|| self.b.ins().iconst(I64, 0))
    }

    /// Moves on to the next random number, and gives the number of those before.
    pub(super) fn draw(&mut self) -> Value {
        let drawn = self.b.use_var(self.drawn);
        let next = self.b.ins().iadd_imm_s(drawn, 1);
        // The interpreter counts in 32 bits.
        let next = self.b.ins().band_imm_u(next, i64::from(u32::MAX));
        self.b.def_var(self.drawn, next);
        drawn
    }

    pub(super) fn random(&mut self, low: Operand, high: Operand) -> Value {
        let (low, high) = (self.get(low), self.get(high));
        let drawn = self.draw();
        let step = self.b.ins().iconst(I64, RANDOM_STEP as i64);
        let step = self.b.ins().imul(drawn, step);
        let seed = self.b.ins().iadd(self.random, step);
        // `shared::world::mix`.
        let a = self.b.ins().bxor_imm_s(seed, MIX_A as i64);
        let b = self.b.ins().bxor_imm_s(seed, MIX_B as i64);
        let product = self.b.ins().imul(a, b);
        let upper = self.b.ins().umulhi(a, b);
        let mixed = self.b.ins().bxor(product, upper);
        let bits = self.b.ins().ushr_imm_u(mixed, 32);

        let long_low = self.b.ins().sextend(I64, low);
        let long_high = self.b.ins().sextend(I64, high);
        let count = self.b.ins().isub(long_high, long_low);
        let count = self.b.ins().iadd_imm_s(count, 1);
        let offset = self.b.ins().imul(bits, count);
        let offset = self.b.ins().ushr_imm_u(offset, 32);
        let offset = self.b.ins().ireduce(I32, offset);
        let value = self.b.ins().iadd(low, offset);
        let is_empty = (self.b.ins()).icmp(IntCC::SignedLessThanOrEqual, high, low);
        self.b.ins().select(is_empty, low, value)
    }
}

extern "C" fn square_root(a: u64) -> u64 {
    a.isqrt()
}

const FRACTION_BITS: i64 = Fixed::FRACTION_BITS as i64;
/// The constants of [`mix`](shared::world::mix::mix).
const MIX_A: u64 = 0xa076_1d64_78bd_642f;
const MIX_B: u64 = 0xe703_7ed1_a0b4_28db;
