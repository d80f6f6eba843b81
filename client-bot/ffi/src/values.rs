//! Raw words of attributes, commands and notifications as numbers.

use shared::{AttributeType, Fixed};

/// A raw word as a number: fixed-point ones in units, booleans as 0 and 1, symbols by their
/// number, entities by their reference.
pub(crate) fn number(ty: AttributeType, raw: i32) -> f64 {
    match ty {
        AttributeType::Fixed => Fixed::from_raw(raw).to_f64(),
        AttributeType::Bool => f64::from(u8::from(raw != 0)),
        AttributeType::I32 | AttributeType::Symbol | AttributeType::Entity => f64::from(raw),
    }
}

/// The raw word of a number, or what was expected.
pub(crate) fn raw(ty: AttributeType, number: f64) -> Result<i32, String> {
    let whole = |low: f64, high: f64| {
        let fits = number.fract() == 0.0 && (low..=high).contains(&number);
        fits.then_some(number as i32)
            .ok_or_else(|| format!("expected a whole number from {low} to {high}, found {number}"))
    };
    match ty {
        AttributeType::Fixed => Fixed::from_f64(number)
            .map(Fixed::raw)
            .ok_or_else(|| format!("expected a number within ±524,288, found {number}")),
        AttributeType::Bool => whole(0.0, 1.0),
        AttributeType::I32 | AttributeType::Symbol | AttributeType::Entity => {
            whole(f64::from(i32::MIN), f64::from(i32::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_words_they_came_from() {
        for raw_word in [i32::MIN, -70_000, -1, 0, 1, 65_536, i32::MAX] {
            for ty in [
                AttributeType::Fixed,
                AttributeType::I32,
                AttributeType::Entity,
            ] {
                assert_eq!(raw(ty, number(ty, raw_word)), Ok(raw_word), "{ty:?}");
            }
        }
    }

    #[test]
    fn numbers_that_no_word_can_hold_are_refused() {
        for number in [f64::NAN, f64::INFINITY, 0.5, 3e9] {
            assert!(raw(AttributeType::I32, number).is_err(), "{number}");
        }
        assert!(raw(AttributeType::Bool, 2.0).is_err());
        assert!(raw(AttributeType::Fixed, 1e9).is_err());
        assert!(raw(AttributeType::Fixed, f64::NAN).is_err());
    }
}
