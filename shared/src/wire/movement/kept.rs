//! Up to which tick the world can't be lost, beside the datagram's own tick.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 | the world is not kept, or the tick is more than 64 ticks ago |
//! | 1 | the datagram's tick |
//! | 2, then 6 more | so many ticks before, less one |

use crate::wire::DecodeError;
use crate::wire::bits::{BitReader, BitWriter};
use crate::world::id::Tick;

pub fn put(writer: &mut BitWriter, tick: Tick, kept: Option<Tick>) {
    let age = kept
        .filter(|&kept| kept <= tick)
        .map(|kept| tick.since(kept));
    match age {
        Some(0) => writer.put(1, FORM_BITS),
        Some(age @ 1..=AGE_MAX) => {
            writer.put(2, FORM_BITS);
            writer.put(u64::from(age - 1), AGE_BITS);
        }
        _ => writer.put(0, FORM_BITS),
    }
}

pub fn read(reader: &mut BitReader<'_>, tick: Tick) -> Result<Option<Tick>, DecodeError> {
    match reader.get_as::<u32>(FORM_BITS)? {
        0 => Ok(None),
        1 => Ok(Some(tick)),
        2 => {
            let age = 1 + reader.get_as::<u32>(AGE_BITS)?;
            Ok(tick.0.checked_sub(age.into()).map(Tick))
        }
        found => Err(DecodeError::OutOfRange {
            what: "the form of the kept tick",
            found: found.into(),
        }),
    }
}

pub const BITS_MAX: u32 = FORM_BITS + AGE_BITS;
const FORM_BITS: u32 = 2;
const AGE_BITS: u32 = 6;
const AGE_MAX: u32 = 1 << AGE_BITS;
