//! `wire_step`: the precision of movement on the wire.

use shared::world::attribute::{Attribute, Audience};
use shared::world::fixed::Fixed;

use super::check::{Problem, problem, unexpected};
use super::raw;

/// The step of positions, as [`Attribute::step`](crate::Attribute::step) has it.
pub(super) fn of_positions(raw: &raw::Section) -> Result<u32, Problem> {
    match raw.wire_step {
        None => Ok(0),
        Some(given) => {
            let bits = Fixed::FRACTION_BITS;
            step("world.wire_step", given, bits, POSITION_MAX)
        }
    }
}

/// The step of an attribute; `key` is that of the attribute.
pub(super) fn of_attribute(key: &str, raw: &raw::Attribute) -> Result<u32, Problem> {
    let Some(given) = raw.wire_step else {
        return Ok(0);
    };
    let key = format!("{key}.wire_step");
    match raw.audience {
        Audience::Movement if raw.ty.of.is_number() => {
            step(&key, given, raw.ty.of.fraction_bits(), STEP_MAX)
        }
        _ => problem(key, "only numbers of audience movement are sent in steps"),
    }
}

/// The binary logarithm of a step in raw units, of which a unit has so many fraction bits.
fn step(key: &str, given: f64, fraction_bits: u32, max: u32) -> Result<u32, Problem> {
    let units = |step: u32| (f64::from(step) - f64::from(fraction_bits)).exp2();
    match (0..=max).find(|&step| units(step) == given) {
        Some(step) => Ok(step),
        None => {
            let expected = format!("a power of two from {} to {}", units(0), units(max));
            unexpected(key, given, expected)
        }
    }
}

/// A unit: corners are sent in units.
const POSITION_MAX: u32 = Fixed::FRACTION_BITS;
const STEP_MAX: u32 = Attribute::STEP_MAX;
