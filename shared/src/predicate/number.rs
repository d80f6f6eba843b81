//! Numbers as keys: integers that order as the numbers do. A constant of either numeric
//! type has its place among the keys of the other.

/// An integer or a float. The two compare by their exact values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Integer(i64),
    Float(f64),
}

/// The numeric type of a name's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericType {
    Integer,
    Float,
}

impl NumericType {
    /// The key of the smallest value of this type that is at least `constant`; `None`
    /// without such a value, and for NaN.
    pub fn key_at_least(self, constant: Number) -> Option<u64> {
        match (self, constant) {
            (NumericType::Integer, Number::Integer(c)) => Some(integer_key(c)),
            (NumericType::Integer, Number::Float(c)) => {
                let up = c.ceil();
                // Within these bounds, the conversion is exact.
                match () {
                    _ if up < -TWO_63 => Some(integer_key(i64::MIN)),
                    _ if up < TWO_63 => Some(integer_key(up as i64)),
                    _ => None,
                }
            }
            (NumericType::Float, Number::Float(c)) => (!c.is_nan()).then(|| float_key(c)),
            (NumericType::Float, Number::Integer(c)) => {
                let near = c as f64;
                // The nearest float may be above or below the constant.
                match near as i128 >= i128::from(c) {
                    true => Some(float_key(near)),
                    false => Some(float_key(near.next_up())),
                }
            }
        }
    }

    /// The key of the largest value of this type that is at most `constant`; `None`
    /// without such a value, and for NaN.
    pub fn key_at_most(self, constant: Number) -> Option<u64> {
        match (self, constant) {
            (NumericType::Integer, Number::Integer(c)) => Some(integer_key(c)),
            (NumericType::Integer, Number::Float(c)) => {
                let down = c.floor();
                match () {
                    _ if down >= TWO_63 => Some(integer_key(i64::MAX)),
                    _ if down >= -TWO_63 => Some(integer_key(down as i64)),
                    _ => None,
                }
            }
            (NumericType::Float, Number::Float(c)) => (!c.is_nan()).then(|| float_key(c)),
            (NumericType::Float, Number::Integer(c)) => {
                let near = c as f64;
                match near as i128 <= i128::from(c) {
                    true => Some(float_key(near)),
                    false => Some(float_key(near.next_down())),
                }
            }
        }
    }

    /// The keys of the smallest and the largest value.
    pub fn key_bounds(self) -> (u64, u64) {
        match self {
            NumericType::Integer => (integer_key(i64::MIN), integer_key(i64::MAX)),
            NumericType::Float => (float_key(f64::NEG_INFINITY), float_key(f64::INFINITY)),
        }
    }
}

/// The key of an integer.
pub const fn integer_key(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// The key of a float, which may be infinite but not NaN. Both zeros have the same key.
pub fn float_key(value: f64) -> u64 {
    // Adding 0.0 turns -0.0 into 0.0.
    let bits = (value + 0.0).to_bits();
    match bits >> 63 {
        0 => bits | 1 << 63,
        _ => !bits,
    }
}

/// 2^63, the first float above every i64.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_values_do() {
        let floats = [
            f64::NEG_INFINITY,
            f64::MIN,
            -1.5,
            -f64::MIN_POSITIVE,
            0.0,
            5e-324,
            1.0,
            f64::MAX,
            f64::INFINITY,
        ];
        assert!(floats.map(float_key).is_sorted_by(|a, b| a < b));
        assert_eq!(float_key(-0.0), float_key(0.0));
        let integers = [i64::MIN, -1, 0, 1, i64::MAX];
        assert!(integers.map(integer_key).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_constant_of_the_other_type_lies_between_its_neighbours() {
        use NumericType::{Float, Integer};
        let half = Number::Float(30.5);
        assert_eq!(Integer.key_at_least(half), Some(integer_key(31)));
        assert_eq!(Integer.key_at_most(half), Some(integer_key(30)));
        assert_eq!(Integer.key_at_least(Number::Float(TWO_63)), None);
        let huge = Number::Float(f64::INFINITY);
        assert_eq!(Integer.key_at_most(huge), Some(integer_key(i64::MAX)));
        // 2^53 + 1 is not a float; its neighbours differ by 2.
        let odd = Number::Integer((1 << 53) + 1);
        let (below, above) = ((1u64 << 53) as f64, ((1u64 << 53) + 2) as f64);
        assert_eq!(Float.key_at_most(odd), Some(float_key(below)));
        assert_eq!(Float.key_at_least(odd), Some(float_key(above)));
        let most = Number::Integer(i64::MAX);
        assert_eq!(Float.key_at_least(most), Some(float_key(TWO_63)));
        assert_eq!(Float.key_at_most(most), Some(float_key(TWO_63.next_down())));
    }
}
