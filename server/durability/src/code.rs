//! Numbers as bytes: seven bits a byte, the lowest first.

use thiserror::Error;

/// Bytes that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    #[error("it ends too early")]
    TooShort,
    #[error("{what} is {found}, which is out of range")]
    OutOfRange { what: &'static str, found: u64 },
    #[error("{0}")]
    Malformed(&'static str),
}

pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(low_byte(number) | 0x80);
        number >>= 7;
    }
    out.push(low_byte(number));
}

/// A signed number: small ones of either sign are short.
pub fn put_signed(out: &mut Vec<u8>, number: i32) {
    put(out, u64::from((number << 1 ^ number >> 31).cast_unsigned()));
}

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Numbers of up to eight bytes are read without a loop: their length is hard to predict.
    pub fn number(&mut self) -> Result<u64, CodeError> {
        if let Some((head, _)) = self.0.split_first_chunk() {
            let bytes = u64::from_le_bytes(*head);
            let ends = !bytes & CONTINUES;
            if ends != 0 {
                let length = ends.trailing_zeros() as usize / 8 + 1;
                self.0 = self.0.get(length..).ok_or(CodeError::TooShort)?;
                // The bits up to the first end.
                return Ok(squeezed(bytes & (ends ^ (ends - 1))));
            }
        }
        self.number_by_bytes()
    }

    fn number_by_bytes(&mut self) -> Result<u64, CodeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = *self.array()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(CodeError::Malformed("a number is too long"))
    }

    /// A number of a type that may be too small for it.
    pub fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, CodeError> {
        let found = self.number()?;
        T::try_from(found).map_err(|_| CodeError::OutOfRange { what, found })
    }

    pub fn signed(&mut self) -> Result<i32, CodeError> {
        let folded: u32 = self.small("a word")?;
        Ok((folded >> 1).cast_signed() ^ -(folded & 1).cast_signed())
    }

    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], CodeError> {
        let (head, rest) = self.0.split_first_chunk().ok_or(CodeError::TooShort)?;
        self.0 = rest;
        Ok(head)
    }

    /// The next bytes, with their number before them.
    pub fn slice(&mut self) -> Result<&'a [u8], CodeError> {
        let length = self.small("a length")?;
        self.split_off(length)
    }

    /// The next `length` bytes.
    pub fn split_off(&mut self, length: usize) -> Result<&'a [u8], CodeError> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(CodeError::TooShort)?;
        self.0 = rest;
        Ok(head)
    }
}

/// The lowest seven bits of each byte, without gaps.
fn squeezed(bytes: u64) -> u64 {
    let pairs = bytes & 0x007f_007f_007f_007f | (bytes & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4
}

/// The continuation bit of each byte.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

fn low_byte(number: u64) -> u8 {
    (number & 0x7f) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_small_ones_are_short() {
        let mut bytes = vec![];
        let numbers = [0, 1, 127, 128, 300, 1 << 20, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|&number| put(&mut bytes, number));
        assert_eq!(bytes.len(), 1 + 1 + 1 + 2 + 2 + 3 + 5 + 10);
        let words = [0, -1, 1, -64, 63, i32::MIN, i32::MAX];
        words.iter().for_each(|&word| put_signed(&mut bytes, word));
        let mut left = Bytes(&bytes);
        for number in numbers {
            assert_eq!(left.number(), Ok(number));
        }
        for word in words {
            assert_eq!(left.signed(), Ok(word));
        }
        assert!(left.0.is_empty());
        assert_eq!(left.number(), Err(CodeError::TooShort));
    }

    #[test]
    fn numbers_of_any_length_are_read_alike_in_one_go_and_by_bytes() {
        let mut dice = crate::test_dice(3);
        for _ in 0..20_000 {
            let number = dice(u64::MAX) >> dice(64);
            let mut bytes = vec![];
            put(&mut bytes, number);
            let length = bytes.len();
            bytes.extend((0..dice(9)).map(|_| dice(256) as u8));
            let (mut fast, mut slow) = (Bytes(&bytes), Bytes(&bytes));
            assert_eq!(fast.number(), Ok(number));
            assert_eq!(slow.number_by_bytes(), Ok(number));
            assert_eq!(fast.0, &bytes[length..]);
            assert_eq!(fast.0, slow.0);
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_errors() {
        let long = [0xff; 11];
        assert!(Bytes(&long).number().is_err());
        let beyond = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert!(Bytes(&beyond).number().is_err());
    }
}
