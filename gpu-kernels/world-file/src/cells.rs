//! The cells of layers: their edges, and the name of the one that has walls.

use std::ops::Range;

use shared::world::fixed::Fixed;

use super::check::{Problem, unexpected};

/// The binary logarithm of the edge of a cell, in raw units.
pub(super) fn edge_bits(key: &str, cell: f64) -> Result<u32, Problem> {
    let units = |bits: u32| (f64::from(bits) - f64::from(Fixed::FRACTION_BITS)).exp2();
    match EDGE_BITS.into_iter().find(|&bits| units(bits) == cell) {
        Some(bits) => Ok(bits),
        None => {
            let (least, most) = (units(EDGE_BITS.start), units(EDGE_BITS.end - 1));
            let expected = format!("a power of two from {least} to {most}");
            unexpected(format!("{key}.cell"), cell, expected)
        }
    }
}

/// The layer of walls.
pub(super) const BLOCKED: &str = "blocked";
/// From 1/16 unit to 1024 units.
pub(super) const EDGE_BITS: Range<u32> = 8..23;
