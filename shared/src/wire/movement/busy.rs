//! How busy the server is: a busy one sends to each client about every n-th tick, and clients
//! then send once for each datagram of it.
//!
//! | bits | meaning |
//! | --- | --- |
//! | 0 | it is not busy: n is 1 |
//! | 1, then 3 more | n, less 2 |

use crate::wire::DecodeError;
use crate::wire::bits::{BitReader, BitWriter};

/// The largest n that is sent; a larger one is sent as this.
pub const SEND_EVERY_MAX: u32 = LEAST_BUSY + (1 << BUSY_BITS) - 1;

pub fn put(writer: &mut BitWriter, send_every: u32) {
    let is_busy = send_every >= LEAST_BUSY;
    writer.put(u64::from(is_busy), 1);
    if is_busy {
        let n = send_every.min(SEND_EVERY_MAX);
        writer.put(u64::from(n - LEAST_BUSY), BUSY_BITS);
    }
}

pub fn read(reader: &mut BitReader<'_>) -> Result<u32, DecodeError> {
    Ok(match reader.get_bool()? {
        true => reader.get_as::<u32>(BUSY_BITS)? + LEAST_BUSY,
        false => 1,
    })
}

pub const BITS_MAX: u32 = 1 + BUSY_BITS;
const BUSY_BITS: u32 = 3;
const LEAST_BUSY: u32 = 2;
