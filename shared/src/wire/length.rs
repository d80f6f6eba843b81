//! The length in front of each message of a server's stream: seven bits a byte, the lowest
//! first; the highest bit of a byte is set if another follows.

use super::DecodeError;

/// Appends a length.
pub fn put(length: usize, out: &mut Vec<u8>) {
    let mut rest = length;
    while rest >= 0x80 {
        out.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// The number of bytes that [`put`] appends.
pub const fn bytes(length: usize) -> usize {
    let bits = usize::BITS - (length | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// Reads a length of at most `limit`, in the bytes that it needs. Gives it with the bytes behind
/// it; `None` until more bytes have arrived.
pub fn split(bytes: &[u8], limit: usize) -> Result<Option<(usize, &[u8])>, DecodeError> {
    let mut length = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * i);
        if length > limit || i + 1 == BYTES_MAX && byte >= 0x80 {
            return Err(DecodeError::TooLong {
                found: length,
                limit,
            });
        }
        if byte == 0 && i > 0 {
            return Err(DecodeError::NotShortest("a length"));
        }
        if byte < 0x80 {
            return Ok(Some((length, &bytes[i + 1..])));
        }
    }
    Ok(None)
}

/// Holds the length of the longest message, which has some MiB.
const BYTES_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_comes_back_in_the_bytes_that_it_needs() {
        for (length, expected) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (1 << 20, 3)] {
            let mut out = vec![];
            put(length, &mut out);
            assert_eq!(out.len(), expected, "{length}");
            assert_eq!(bytes(length), expected, "{length}");
            for end in 0..expected {
                assert_eq!(split(&out[..end], 1 << 20), Ok(None), "{length}");
            }
            out.push(9);
            assert_eq!(split(&out, 1 << 20), Ok(Some((length, &[9][..]))));
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_an_error_before_the_message_arrives() {
        let too_long = |found| Err(DecodeError::TooLong { found, limit: 200 });
        assert_eq!(split(&[0xc9, 0x01], 200), too_long(201));
        // It never ends.
        assert_eq!(split(&[0x80; 9], 200), too_long(0));
    }

    #[test]
    fn a_length_in_more_bytes_than_it_needs_is_an_error() {
        let longer = Err(DecodeError::NotShortest("a length"));
        for bytes in [&[0x80, 0][..], &[0xff, 0], &[0x80, 0x81, 0]] {
            assert_eq!(split(bytes, 1 << 20), longer, "{bytes:?}");
        }
        assert_eq!(split(&[0], 1 << 20), Ok(Some((0, &[][..]))));
    }
}
