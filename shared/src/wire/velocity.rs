//! Velocities of courses: short for the usual speeds.
//!
//! | field | bits |
//! | --- | --- |
//! | whether the entity moves on by itself | 1 |
//! | if so: the width of an axis, minus 5 | 4 |
//! | and per axis: the velocity in raw units a tick, 0, -1, 1, -2, … as 0, 1, 2, 3, … | the width |

use super::DecodeError;
use super::bits::{BitReader, BitWriter, unzigzag, zigzag};
use crate::world::course::VELOCITY_MAX;

/// A velocity as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PackedVelocity {
    bits: u64,
    len: u32,
}

impl PackedVelocity {
    /// Packs a velocity, one number for each axis.
    pub fn new(velocity: &[i32]) -> PackedVelocity {
        if velocity.iter().all(|&axis| axis == 0) {
            return PackedVelocity::default();
        }
        let all = velocity.iter().fold(0, |all, &axis| all | zigzag(axis));
        let width = (u32::BITS - all.leading_zeros()).clamp(WIDTH_MIN, WIDTH_MAX);
        let mut packed = PackedVelocity {
            bits: u64::from(width - WIDTH_MIN),
            len: WIDTH_BITS,
        };
        for &axis in velocity {
            packed.bits |= u64::from(zigzag(axis)) << packed.len;
            packed.len += width;
        }
        packed
    }

    pub fn put(self, writer: &mut BitWriter) {
        writer.put(u64::from(self.len > 0), 1);
        writer.put(self.bits, self.len);
    }

    /// The number of bits that [`PackedVelocity::put`] appends.
    pub fn bits(self) -> u32 {
        1 + self.len
    }
}

/// Reads one number for each axis; the other axes are 0.
pub(super) fn get(reader: &mut BitReader<'_>, dimensions: usize) -> Result<[i32; 3], DecodeError> {
    let mut velocity = [0; 3];
    if reader.get_bool()? {
        let width = WIDTH_MIN + reader.get_as::<u32>(WIDTH_BITS)?;
        for axis in &mut velocity[..dimensions] {
            *axis = unzigzag(reader.get_as(width)?);
        }
    }
    Ok(velocity)
}

const WIDTH_BITS: u32 = 4;
const WIDTH_MIN: u32 = 5;
const WIDTH_MAX: u32 = 20;
// Three axes fit into 64 bits.
const _: () = assert!(WIDTH_BITS + 3 * WIDTH_MAX <= u64::BITS);
const _: () = assert!(VELOCITY_MAX < 1 << (WIDTH_MAX - 1));
const _: () = assert!(WIDTH_MAX - WIDTH_MIN < 1 << WIDTH_BITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_velocity_comes_back_in_the_bits_that_it_needs() {
        let fastest = VELOCITY_MAX;
        for (velocity, bits) in [
            ([0, 0, 0], 1),
            ([0, 0, 1], 1 + 4 + 3 * 5),
            ([15, -16, 2], 1 + 4 + 3 * 5),
            ([16, 0, 0], 1 + 4 + 3 * 6),
            ([-8192, 8191, 1], 1 + 4 + 3 * 14),
            ([fastest, -fastest, fastest], 1 + 4 + 3 * 20),
        ] {
            let mut writer = BitWriter::default();
            let packed = PackedVelocity::new(&velocity);
            packed.put(&mut writer);
            assert_eq!(writer.bit_len(), bits, "{velocity:?}");
            assert_eq!(packed.bits() as usize, bits, "{velocity:?}");
            let mut bytes = vec![];
            writer.finish_into(&mut bytes);
            assert_eq!(get(&mut BitReader::new(&bytes), 3), Ok(velocity));
        }
    }
}
