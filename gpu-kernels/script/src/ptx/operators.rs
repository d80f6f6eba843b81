//! Operators, as [`arith`](crate::arith) defines them.
//!
//! An instruction may set a register that it reads, so each sets it last.

use shared::world::attribute;

use crate::ir::{Binary, Half, Unary, Wide};

use super::text::{Double, Flag, Long, Text, Value, Word};

/// Sets a register to the result of an operator.
pub fn unary(text: &mut Text, to: Word, op: Unary, a: Word) {
    match op {
        Unary::Neg => text.put("sub.s32", to, format_args!("0, {a}")),
        Unary::Not => {
            let is_zero: Flag = text.set("setp.eq.s32", format_args!("{a}, 0"));
            text.put_flag(to, is_zero);
        }
        Unary::BitNot => text.put("not.b32", to, format_args!("{a}")),
        Unary::Abs => {
            let abs = absolute(text, Value::Word(a));
            text.put("mov.b32", to, format_args!("{abs}"));
        }
        Unary::Whole => {
            let sign: Word = text.set("shr.s32", format_args!("{a}, 31"));
            let toward_zero: Word = text.set("and.b32", format_args!("{sign}, 4095"));
            let sum: Word = text.set("add.s32", format_args!("{a}, {toward_zero}"));
            text.put("shr.s32", to, format_args!("{sum}, 12"));
        }
        Unary::ToFixed => text.put("shl.b32", to, format_args!("{a}, 12")),
        Unary::Sqrt | Unary::SqrtFixed => {
            let positive: Word = text.set("max.s32", format_args!("{a}, 0"));
            let mut square: Long = text.set("cvt.u64.u32", format_args!("{positive}"));
            if op == Unary::SqrtFixed {
                square = text.set("shl.b64", format_args!("{square}, 12"));
            }
            let root = square_root(text, square);
            text.put("mov.b32", to, format_args!("{root}"));
        }
    }
}

/// Sets a register to the result of an operator; one operand at least is a register.
pub fn binary(text: &mut Text, to: Word, op: Binary, a: Value, b: Value) {
    let mut simple = |operation: &str| text.put(operation, to, format_args!("{a}, {b}"));
    match op {
        Binary::Add => simple("add.s32"),
        Binary::Sub => simple("sub.s32"),
        Binary::Mul => simple("mul.lo.s32"),
        Binary::And => simple("and.b32"),
        Binary::Or => simple("or.b32"),
        Binary::Xor => simple("xor.b32"),
        Binary::Min => simple("min.s32"),
        Binary::Max => simple("max.s32"),
        Binary::Eq => compare(text, to, "setp.eq.s32", a, b),
        Binary::Ne => compare(text, to, "setp.ne.s32", a, b),
        Binary::Lt => compare(text, to, "setp.lt.s32", a, b),
        Binary::Le => compare(text, to, "setp.le.s32", a, b),
        Binary::Shl => shift(text, to, "shl.b32", a, b),
        Binary::Shr => shift(text, to, "shr.s32", a, b),
        Binary::Div => {
            let quotient = divide(text, a, b);
            text.put("mov.b32", to, format_args!("{quotient}"));
        }
        Binary::Rem => {
            let quotient = divide(text, a, b);
            let product: Word = text.set("mul.lo.s32", format_args!("{quotient}, {b}"));
            let rest: Word = text.set("sub.s32", format_args!("{a}, {product}"));
            zero_by_zero(text, to, rest, b);
        }
        Binary::MulFixed => {
            let product: Long = text.set("mul.wide.s32", format_args!("{a}, {b}"));
            let shifted: Long = text.set("shr.s64", format_args!("{product}, 12"));
            text.put("cvt.u32.u64", to, format_args!("{shifted}"));
        }
        Binary::DivFixed => divide_fixed(text, to, a, b),
    }
}

/// Sets a register to half of the result of an operator of 64 bits.
pub fn wide(text: &mut Text, to: Word, op: Wide, half: Half, words: [Value; 4]) {
    let [a_low, a_high, b_low, b_high] = words;
    let a = joined(text, a_low, a_high);
    let b = joined(text, b_low, b_high);
    let mut simple = |operation: &str| text.set(operation, format_args!("{a}, {b}"));
    let result: Long = match op {
        Wide::Add => simple("add.s64"),
        Wide::Sub => simple("sub.s64"),
        Wide::Mul => simple("mul.lo.s64"),
        Wide::And => simple("and.b64"),
        Wide::Or => simple("or.b64"),
        Wide::Xor => simple("xor.b64"),
        Wide::Min => simple("min.s64"),
        Wide::Max => simple("max.s64"),
        Wide::AddWithin => {
            let sum = simple("add.s64");
            let of_a: Long = text.set("xor.b64", format_args!("{a}, {sum}"));
            let of_b: Long = text.set("xor.b64", format_args!("{b}, {sum}"));
            within(text, a, sum, of_a, of_b)
        }
        Wide::SubWithin => {
            let rest = simple("sub.s64");
            let of_a: Long = text.set("xor.b64", format_args!("{a}, {rest}"));
            let of_b: Long = text.set("xor.b64", format_args!("{a}, {b}"));
            within(text, a, rest, of_a, of_b)
        }
        Wide::Shl | Wide::Shr => {
            let by: Word = text.set("cvt.u32.u64", format_args!("{b}"));
            let by: Word = text.set("and.b32", format_args!("{by}, 63"));
            let operation = match op {
                Wide::Shl => "shl.b64",
                _ => "shr.s64",
            };
            text.set(operation, format_args!("{a}, {by}"))
        }
        Wide::Div | Wide::Rem => divide_wide(text, op, a, b),
        Wide::Eq => compare_wide(text, "setp.eq.s64", a, b),
        Wide::Lt => compare_wide(text, "setp.lt.s64", a, b),
        Wide::Le => compare_wide(text, "setp.le.s64", a, b),
    };
    let result = match half {
        Half::Low => result,
        Half::High => text.set("shr.u64", format_args!("{result}, 32")),
    };
    text.put("cvt.u32.u64", to, format_args!("{result}"));
}

fn joined(text: &mut Text, low: Value, high: Value) -> Long {
    if let (Value::Const(low), Value::Const(high)) = (low, high) {
        let number = attribute::joined([low, high]);
        return text.set("mov.b64", format_args!("{number}"));
    }
    let (low, high) = (text.in_register(low), text.in_register(high));
    text.set("mov.b64", format_args!("{{{low}, {high}}}"))
}

/// A sum or difference of `a`, or the end of the range that it went beyond: where the signs of
/// both others are set.
fn within(text: &mut Text, a: Long, result: Long, of_a: Long, of_b: Long) -> Long {
    let both: Long = text.set("and.b64", format_args!("{of_a}, {of_b}"));
    let is_beyond: Flag = text.set("setp.lt.s64", format_args!("{both}, 0"));
    let sign: Long = text.set("shr.s64", format_args!("{a}, 63"));
    let end: Long = text.set("xor.b64", format_args!("{sign}, {}", i64::MAX));
    text.set("selp.b64", format_args!("{end}, {result}, {is_beyond}"))
}

/// The quotient, rounded to zero, or what is left; 0 by zero. The device does not say what a
/// number divided by 0 is, or the lowest by -1.
fn divide_wide(text: &mut Text, op: Wide, a: Long, b: Long) -> Long {
    let is_zero: Flag = text.set("setp.eq.s64", format_args!("{b}, 0"));
    let is_minus_one: Flag = text.set("setp.eq.s64", format_args!("{b}, -1"));
    let divisor: Long = text.set("selp.b64", format_args!("1, {b}, {is_zero}"));
    let divisor: Long = text.set("selp.b64", format_args!("1, {divisor}, {is_minus_one}"));
    // By 1, 0 is left, as by 0 and -1.
    if op == Wide::Rem {
        return text.set("rem.s64", format_args!("{a}, {divisor}"));
    }
    let quotient: Long = text.set("div.s64", format_args!("{a}, {divisor}"));
    let opposite: Long = text.set("sub.s64", format_args!("0, {a}"));
    let quotient: Long = text.set(
        "selp.b64",
        format_args!("{opposite}, {quotient}, {is_minus_one}"),
    );
    text.set("selp.b64", format_args!("0, {quotient}, {is_zero}"))
}

fn compare_wide(text: &mut Text, operation: &str, a: Long, b: Long) -> Long {
    let is: Flag = text.set(operation, format_args!("{a}, {b}"));
    text.set("selp.b64", format_args!("1, 0, {is}"))
}

fn compare(text: &mut Text, to: Word, operation: &str, a: Value, b: Value) {
    let flag: Flag = text.set(operation, format_args!("{a}, {b}"));
    text.put_flag(to, flag);
}

/// Shifts of the device don't wrap.
fn shift(text: &mut Text, to: Word, operation: &str, a: Value, b: Value) {
    let by = match b {
        Value::Const(by) => Value::Const(by & 31),
        Value::Word(by) => Value::Word(text.set("and.b32", format_args!("{by}, 31"))),
    };
    text.put(operation, to, format_args!("{a}, {by}"));
}

/// The absolute value; that of the lowest number is itself.
fn absolute(text: &mut Text, a: Value) -> Value {
    match a {
        Value::Const(a) => Value::Const(a.wrapping_abs()),
        Value::Word(a) => {
            // Not as the maximum of a number and its negative: the compiler of driver 580
            // takes the maximum of that and the number itself for the number.
            let sign: Word = text.set("shr.s32", format_args!("{a}, 31"));
            let flipped: Word = text.set("xor.b32", format_args!("{a}, {sign}"));
            Value::Word(text.set("sub.s32", format_args!("{flipped}, {sign}")))
        }
    }
}

/// The quotient, rounded to zero; 0 by zero.
fn divide(text: &mut Text, a: Value, b: Value) -> Word {
    if b == Value::Const(0) {
        return text.set("mov.b32", format_args!("0"));
    }
    let above = absolute(text, a);
    let quotient = match b {
        Value::Const(b) => divide_by(text, text_word(above), b.unsigned_abs()),
        Value::Word(_) => {
            let below = absolute(text, b);
            text.set(
                "div.u32",
                format_args!("{}, {}", above.unsigned(), below.unsigned()),
            )
        }
    };
    let signs: Word = text.set("xor.b32", format_args!("{a}, {b}"));
    let is_negative: Flag = text.set("setp.lt.s32", format_args!("{signs}, 0"));
    let negative: Word = text.set("sub.s32", format_args!("0, {quotient}"));
    let signed: Word = text.set(
        "selp.b32",
        format_args!("{negative}, {quotient}, {is_negative}"),
    );
    let to = text.register();
    zero_by_zero(text, to, signed, b);
    to
}

fn text_word(value: Value) -> Word {
    match value {
        Value::Word(word) => word,
        Value::Const(_) => unreachable!("operators on constants are folded"),
    }
}

/// Sets a register to a number, or to 0 if `b` is 0.
fn zero_by_zero(text: &mut Text, to: Word, value: Word, b: Value) {
    match b {
        Value::Const(0) => text.put("mov.b32", to, format_args!("0")),
        Value::Const(_) => text.put("mov.b32", to, format_args!("{value}")),
        Value::Word(b) => {
            let by_zero: Flag = text.set("setp.eq.s32", format_args!("{b}, 0"));
            text.put("selp.b32", to, format_args!("0, {value}, {by_zero}"));
        }
    }
}

/// The quotient of a number, 2^31 at most, and a constant, rounded down. The assembler
/// would divide; this multiplies.
///
/// With 2^(n-1) < d ≤ 2^n and m = ⌈2^(31+n) / d⌉, the error of x × m / 2^(31+n) is below
/// x × d / 2^(31+n) × 1/d ≤ 1/d, so that it does not reach the next quotient.
pub fn divide_by(text: &mut Text, a: Word, divisor: u32) -> Word {
    let bits = ceiled_log2(divisor.into());
    if divisor.is_power_of_two() {
        return text.set("shr.u32", format_args!("{a}, {bits}"));
    }
    let multiplier = (1u64 << (31 + bits)).div_ceil(divisor.into());
    let product: Word = text.set("mul.hi.u32", format_args!("{a}, {multiplier}"));
    text.set("shr.u32", format_args!("{product}, {}", bits - 1))
}

fn divide_fixed(text: &mut Text, to: Word, a: Value, b: Value) {
    if b == Value::Const(0) {
        return text.put("mov.b32", to, format_args!("0"));
    }
    let wide: Long = text.set("mul.wide.s32", format_args!("{a}, 4096"));
    let Value::Const(divisor) = b else {
        let below: Long = text.set("cvt.s64.s32", format_args!("{b}"));
        let quotient: Long = text.set("div.s64", format_args!("{wide}, {below}"));
        let low: Word = text.set("cvt.u32.u64", format_args!("{quotient}"));
        return zero_by_zero(text, to, low, b);
    };
    // As `divide_by`, of numbers up to 2^43.
    let is_negative: Flag = text.set("setp.lt.s64", format_args!("{wide}, 0"));
    let opposite: Long = text.set("sub.s64", format_args!("0, {wide}"));
    let above: Long = text.set(
        "selp.b64",
        format_args!("{opposite}, {wide}, {is_negative}"),
    );
    let magnitude = divisor.unsigned_abs();
    let bits = ceiled_log2(magnitude.into());
    let quotient: Long = if magnitude.is_power_of_two() {
        text.set("shr.u64", format_args!("{above}, {bits}"))
    } else {
        let multiplier = (1u128 << (43 + bits)).div_ceil(magnitude.into());
        let high: Long = text.set("shl.b64", format_args!("{above}, 20"));
        let product: Long = text.set("mul.hi.u64", format_args!("{high}, {multiplier}"));
        text.set("shr.u64", format_args!("{product}, {}", bits - 1))
    };
    let low: Word = text.set("cvt.u32.u64", format_args!("{quotient}"));
    let negative: Word = text.set("sub.s32", format_args!("0, {low}"));
    let (if_negative, else_) = match divisor < 0 {
        true => (low, negative),
        false => (negative, low),
    };
    text.put(
        "selp.b32",
        to,
        format_args!("{if_negative}, {else_}, {is_negative}"),
    );
}

/// The number of bits that count up to `n`.
fn ceiled_log2(n: u64) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// The square root of a number below (2^32 - 1)^2, rounded down.
///
/// The root of a double is the double next to the true root. It is below 2^32, so it is
/// never below a whole root, and at most 1 above: the integers below settle that.
pub fn square_root(text: &mut Text, square: Long) -> Word {
    let double: Double = text.set("cvt.rn.f64.u64", format_args!("{square}"));
    let root: Double = text.set("sqrt.rn.f64", format_args!("{double}"));
    let root: Word = text.set("cvt.rzi.u32.f64", format_args!("{root}"));
    let back: Long = text.set("mul.wide.u32", format_args!("{root}, {root}"));
    let is_above: Flag = text.set("setp.gt.u64", format_args!("{back}, {square}"));
    let lower: Word = text.set("sub.u32", format_args!("{root}, 1"));
    text.set("selp.b32", format_args!("{lower}, {root}, {is_above}"))
}
