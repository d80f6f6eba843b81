//! Bit fields: writing and reading them, the least significant bit first.

use super::DecodeError;

/// Appends bit fields to a byte buffer.
#[derive(Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl BitWriter {
    /// Appends the low `bits` (at most 64) of `value`.
    pub fn put(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 64);
        if bits > 32 {
            self.put_short(value & 0xffff_ffff, 32);
            self.put_short(value >> 32, bits - 32);
        } else {
            self.put_short(value, bits);
        }
    }

    fn put_short(&mut self, value: u64, bits: u32) {
        let value = value & ((1 << bits) - 1);
        self.pending |= value << self.pending_bits;
        self.pending_bits += bits;
        if self.pending_bits >= 32 {
            self.bytes
                .extend_from_slice(&self.pending.to_le_bytes()[..4]);
            self.pending >>= 32;
            self.pending_bits -= 32;
        }
    }

    /// Appends a number as a Rice code, which is short for numbers of about
    /// `2^parameter`: the quotient in unary, then the remainder in `parameter` bits. A
    /// long quotient is escaped, so that no number takes more than 64 bits.
    pub fn put_rice(&mut self, value: u32, parameter: u32) {
        let quotient = value >> parameter;
        if quotient < RICE_ESCAPE {
            self.put((1 << quotient) - 1, quotient + 1);
            self.put(u64::from(value), parameter);
        } else {
            self.put((1 << RICE_ESCAPE) - 1, RICE_ESCAPE);
            self.put(u64::from(value), 32);
        }
    }

    /// The number of bits that [`BitWriter::put_rice`] appends.
    pub const fn rice_bits(value: u32, parameter: u32) -> u32 {
        let quotient = value >> parameter;
        if quotient < RICE_ESCAPE {
            quotient + 1 + parameter
        } else {
            RICE_ESCAPE + 32
        }
    }

    /// Appends a signed number: fewer bits the closer it is to zero.
    pub fn put_signed(&mut self, value: i32) {
        self.put_small(zigzag(value));
    }

    /// Appends a number: fewer bits the smaller it is, at most 38.
    pub fn put_small(&mut self, value: u32) {
        let bits = u32::BITS - value.leading_zeros();
        self.put(u64::from(bits), 6);
        self.put(u64::from(value), bits);
    }

    /// The number of bits appended so far.
    pub fn bit_len(&self) -> usize {
        self.bytes.len() * 8 + self.pending_bits as usize
    }

    /// Pads with zeros to a whole byte, appends all bytes to `out` and empties the
    /// writer for the next message.
    pub fn finish_into(&mut self, out: &mut Vec<u8>) {
        let tail = self.pending_bits.div_ceil(8) as usize;
        out.extend_from_slice(&self.bytes);
        out.extend_from_slice(&self.pending.to_le_bytes()[..tail]);
        self.bytes.clear();
        self.pending = 0;
        self.pending_bits = 0;
    }
}

/// Reads the fields that a [`BitWriter`] wrote, from arbitrary bytes.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, position: 0 }
    }

    /// The next field, of `bits` (at most 64).
    pub fn get(&mut self, bits: u32) -> Result<u64, DecodeError> {
        debug_assert!(bits <= 64);
        if bits as usize > self.bytes.len() * 8 - self.position {
            return Err(DecodeError::Truncated);
        }
        let first = self.position / 8;
        let mut window = [0; 16];
        let available = (self.bytes.len() - first).min(9);
        window[..available].copy_from_slice(&self.bytes[first..first + available]);
        let value = u128::from_le_bytes(window) >> (self.position % 8);
        self.position += bits as usize;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the rest is not of this field"
        )]
        let value = value as u64;
        Ok(match bits {
            64 => value,
            _ => value & ((1 << bits) - 1),
        })
    }

    /// The next field, of `bits` (at most 64), as a number of a smaller type.
    pub fn get_as<T: TryFrom<u64>>(&mut self, bits: u32) -> Result<T, DecodeError> {
        let found = self.get(bits)?;
        T::try_from(found).map_err(|_| DecodeError::OutOfRange {
            what: "a number",
            found,
        })
    }

    pub fn get_bool(&mut self) -> Result<bool, DecodeError> {
        Ok(self.get(1)? == 1)
    }

    pub fn get_rice(&mut self, parameter: u32) -> Result<u32, DecodeError> {
        let mut quotient = 0;
        while self.get(1)? == 1 {
            quotient += 1;
            if quotient == RICE_ESCAPE {
                let value: u32 = self.get_as(32)?;
                return match value >> parameter < RICE_ESCAPE {
                    true => Err(DecodeError::NotShortest("a Rice code")),
                    false => Ok(value),
                };
            }
        }
        let value = u64::from(quotient) << parameter | self.get(parameter)?;
        u32::try_from(value).map_err(|_| DecodeError::OutOfRange {
            what: "a gap",
            found: value,
        })
    }

    pub fn get_signed(&mut self) -> Result<i32, DecodeError> {
        Ok(unzigzag(self.get_small()?))
    }

    pub fn get_small(&mut self) -> Result<u32, DecodeError> {
        let bits: u32 = self.get_as(6)?;
        if bits > 32 {
            return Err(DecodeError::OutOfRange {
                what: "a number's length",
                found: bits.into(),
            });
        }
        let value: u32 = self.get_as(bits)?;
        match u32::BITS - value.leading_zeros() < bits {
            true => Err(DecodeError::NotShortest("a small number")),
            false => Ok(value),
        }
    }

    /// Fails if more than the padding of the last byte is left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.bytes.len() - self.position.div_ceil(8) {
            0 => Ok(()),
            left => Err(DecodeError::TrailingBytes(left)),
        }
    }
}

/// 0, -1, 1, -2, … as 0, 1, 2, 3, …
pub(super) const fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

pub(super) const fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Quotients from here on are escaped. 24 keeps the longest code below 64 bits.
const RICE_ESCAPE: u32 = 24;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_in_longer_codes_than_they_need_are_errors() {
        let read = |write: &dyn Fn(&mut BitWriter)| {
            let mut writer = BitWriter::default();
            write(&mut writer);
            let mut bytes = vec![];
            writer.finish_into(&mut bytes);
            bytes
        };
        // A length, and a number that needs one bit less.
        for (length, value) in [(1, 0), (2, 1), (9, 0xff), (32, 0x7fff_ffff)] {
            let bytes = read(&|writer| {
                writer.put(length, 6);
                writer.put(value, 32);
            });
            let longer = DecodeError::NotShortest("a small number");
            assert_eq!(BitReader::new(&bytes).get_small(), Err(longer.clone()));
            assert_eq!(BitReader::new(&bytes).get_signed(), Err(longer));
        }
        // An escape in front of a number that is short without one.
        let escaped = |value, parameter| {
            let bytes = read(&|writer| {
                writer.put((1 << RICE_ESCAPE) - 1, RICE_ESCAPE);
                writer.put(value, 32);
            });
            BitReader::new(&bytes).get_rice(parameter)
        };
        for (value, parameter) in [(0, 0), (23, 0), (47, 1), (0x7fff_ffff, 31)] {
            let longer = Err(DecodeError::NotShortest("a Rice code"));
            assert_eq!(escaped(value, parameter), longer);
        }
        assert_eq!(escaped(24, 0), Ok(24));
        assert_eq!(escaped(48, 1), Ok(48));
    }

    proptest! {
        #[test]
        fn fields_of_any_width_come_back(fields in prop::collection::vec((any::<u64>(), 0u32..=64), 0..50)) {
            let mut writer = BitWriter::default();
            for &(value, bits) in &fields {
                writer.put(value, bits);
            }
            let mut bytes = vec![];
            writer.finish_into(&mut bytes);
            let mut reader = BitReader::new(&bytes);
            for (value, bits) in fields {
                let kept = if bits == 64 { value } else { value & ((1 << bits) - 1) };
                prop_assert_eq!(reader.get(bits), Ok(kept));
            }
            prop_assert_eq!(reader.finish(), Ok(()));
        }

        #[test]
        fn numbers_in_codes_come_back(value: u32, signed: i32, parameter in 0u32..=31) {
            let mut writer = BitWriter::default();
            writer.put_rice(value, parameter);
            prop_assert_eq!(writer.bit_len(), BitWriter::rice_bits(value, parameter) as usize);
            writer.put_signed(signed);
            writer.put_small(value);
            let mut bytes = vec![];
            writer.finish_into(&mut bytes);
            let mut reader = BitReader::new(&bytes);
            prop_assert_eq!(reader.get_rice(parameter), Ok(value));
            prop_assert_eq!(reader.get_signed(), Ok(signed));
            prop_assert_eq!(reader.get_small(), Ok(value));
        }
    }
}
