//! How many columns there can be, and sets of them.

use std::ops::{BitAnd, BitOr, Not};

/// The most columns a world can have.
pub const ATTRIBUTES_MAX: usize = 256;
/// The most columns a kind can have: front ends have a bit for each.
pub const KIND_ATTRIBUTES_MAX: usize = 64;

/// A set of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Columns([u64; WORDS]);

impl Columns {
    pub const NONE: Columns = Columns([0; WORDS]);

    pub const fn has(&self, column: usize) -> bool {
        self.0[column / BITS % WORDS] >> (column % BITS) & 1 == 1
    }

    pub fn insert(&mut self, column: usize) {
        self.0[column / BITS % WORDS] |= 1 << (column % BITS);
    }

    pub fn remove(&mut self, column: usize) {
        self.0[column / BITS % WORDS] &= !(1 << (column % BITS));
    }

    pub fn is_empty(&self) -> bool {
        *self == Columns::NONE
    }

    /// The columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let words = self.0.into_iter().enumerate();
        words.flat_map(|(n, mut word)| {
            std::iter::from_fn(move || {
                let bit = word.trailing_zeros() as usize;
                (word != 0).then(|| {
                    word &= word - 1;
                    BITS * n + bit
                })
            })
        })
    }

    /// As bits, 64 columns to a word: as many words as a world of so many columns needs.
    pub fn words(&self, columns: usize) -> &[u64] {
        &self.0[..columns.div_ceil(BITS).min(WORDS)]
    }
}

/// The first 64 columns, as bits.
impl From<u64> for Columns {
    fn from(bits: u64) -> Columns {
        let mut words = [0; WORDS];
        words[0] = bits;
        Columns(words)
    }
}

impl FromIterator<usize> for Columns {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Columns {
        let mut all = Columns::NONE;
        columns.into_iter().for_each(|column| all.insert(column));
        all
    }
}

impl BitOr for Columns {
    type Output = Columns;

    fn bitor(self, other: Columns) -> Columns {
        Columns(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }
}

impl BitAnd for Columns {
    type Output = Columns;

    fn bitand(self, other: Columns) -> Columns {
        Columns(std::array::from_fn(|n| self.0[n] & other.0[n]))
    }
}

impl Not for Columns {
    type Output = Columns;

    fn not(self) -> Columns {
        Columns(self.0.map(|word| !word))
    }
}

/// Columns of one word.
const BITS: usize = u64::BITS as usize;
const WORDS: usize = ATTRIBUTES_MAX / BITS;
const _: () = assert!(ATTRIBUTES_MAX.is_multiple_of(BITS));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_inserted() {
        let given = [0, 63, 64, 130, 255];
        let mut set: Columns = given.into_iter().collect();
        assert!(set.iter().eq(given), "{set:?}");
        for column in 0..ATTRIBUTES_MAX {
            assert_eq!(set.has(column), given.contains(&column), "{column}");
        }
        set.remove(64);
        assert!(set.iter().eq([0, 63, 130, 255]), "{set:?}");
        let low = Columns::from(0b101);
        assert!((set | low).iter().eq([0, 2, 63, 130, 255]));
        assert!((set & low).iter().eq([0]));
        assert!((set & !low).iter().eq([63, 130, 255]));
        assert!(Columns::NONE.is_empty() && !set.is_empty());
    }

    #[test]
    fn a_world_has_a_word_for_each_64_columns() {
        let set: Columns = [1, 64, 200].into_iter().collect();
        assert_eq!(set.words(64), [2]);
        assert_eq!(set.words(65), [2, 1]);
        assert_eq!(set.words(ATTRIBUTES_MAX), [2, 1, 0, 1 << 8]);
    }
}
