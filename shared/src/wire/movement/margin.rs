//! By how many ticks commands came too early, of those processed since the last margin that
//! was sent: the least one.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 | there are none that were meant for a tick |
//! | 1, then 7 more | the margin, plus 64 |

use crate::wire::DecodeError;
use crate::wire::bits::{BitReader, BitWriter};

/// The largest margin that is sent; a larger one is sent as this. The least one is below
/// -`MARGIN_MAX` by one.
pub const MARGIN_MAX: i32 = (1 << (MARGIN_BITS - 1)) - 1;

pub fn put(writer: &mut BitWriter, margin: Option<i32>) {
    writer.put(u64::from(margin.is_some()), 1);
    if let Some(margin) = margin {
        let margin = margin.clamp(-MARGIN_MAX - 1, MARGIN_MAX) + MARGIN_MAX + 1;
        writer.put(u64::from(margin.unsigned_abs()), MARGIN_BITS);
    }
}

pub fn read(reader: &mut BitReader<'_>) -> Result<Option<i32>, DecodeError> {
    Ok(match reader.get_bool()? {
        true => Some(reader.get_as::<i32>(MARGIN_BITS)? - MARGIN_MAX - 1),
        false => None,
    })
}

pub const BITS_MAX: u32 = 1 + MARGIN_BITS;
/// Over a second at 60 Hz: clients send far ahead where links are bad.
const MARGIN_BITS: u32 = 7;
