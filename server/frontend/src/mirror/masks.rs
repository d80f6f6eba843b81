//! The columns of an entity as the bits of a word.
//!
//! In a world of at most 64 columns, bit n is column n. In one of more, it is the n-th column of the
//! entity's kind, which has at most 64. A position has the lowest bits in both.

use shared::world::columns::{Columns, KIND_ATTRIBUTES_MAX};
use shared::{Audience, Schema};

/// By kind: which columns the bits are.
pub struct Masks {
    kinds: Vec<KindMasks>,
    /// In worlds of more than 64 columns.
    own: Option<OwnBits>,
}

/// The columns of a kind as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindMasks {
    pub movement: u64,
    pub state: u64,
    pub private: u64,
}

struct OwnBits {
    /// By kind: the column of each bit.
    columns: Vec<Vec<u16>>,
    /// By kind and column: a bit, or [`NO_BIT`].
    bits: Vec<Vec<u8>>,
}

/// Values of an entity: column and value, ascending.
pub struct Values<'a> {
    bits: u64,
    /// The column of each bit; `None`: bits are columns.
    columns: Option<&'a [u16]>,
    row: &'a [i32],
}

impl Masks {
    pub fn of(schema: &Schema) -> Masks {
        let is_wide = schema.attributes.len() > BITS;
        let own = is_wide.then(|| OwnBits::of(schema));
        let kinds = schema.kind_columns().into_iter().enumerate();
        let kinds = kinds.map(|(kind, columns)| {
            let mask = |audience| {
                let columns = (columns & schema.columns_for(audience)).iter();
                columns.fold(0, |mask, column| mask | bit(own.as_ref(), kind, column))
            };
            KindMasks {
                movement: mask(Audience::Movement),
                state: mask(Audience::State),
                private: mask(Audience::Private),
            }
        });
        let kinds = kinds.collect();
        Masks { kinds, own }
    }

    pub fn kind(&self, kind: u16) -> &KindMasks {
        &self.kinds[usize::from(kind)]
    }

    /// Whether bits are the columns of a kind, so that [`Masks::mask`] has to be asked.
    pub fn are_by_kind(&self) -> bool {
        self.own.is_some()
    }

    /// Columns of a kind, as bits.
    pub fn mask(&self, kind: u16, columns: &[u16]) -> u64 {
        let own = self.own.as_ref();
        let bits = columns
            .iter()
            .map(|&column| bit(own, kind.into(), column.into()));
        bits.fold(0, |mask, bit| mask | bit)
    }

    /// The values of these columns of an entity of a kind.
    pub fn values<'a>(&'a self, kind: u16, bits: u64, row: &'a [i32]) -> Values<'a> {
        let columns = self.own.as_ref();
        let columns = columns.map(|own| &own.columns[usize::from(kind)][..]);
        Values { bits, columns, row }
    }
}

impl OwnBits {
    fn of(schema: &Schema) -> OwnBits {
        let kinds = || schema.kinds.iter().map(|kind| kind.attributes.iter());
        let columns = kinds().map(|own| own.map(|a| a.column).take(BITS).collect());
        let columns: Vec<Vec<u16>> = columns.collect();
        let bits = columns.iter().map(|own| {
            let mut bits = vec![NO_BIT; schema.attributes.len()];
            for (bit, &column) in (0..).zip(own) {
                bits[usize::from(column)] = bit;
            }
            bits
        });
        let bits = bits.collect();
        OwnBits { columns, bits }
    }

    /// 0 for a column that the kind lacks.
    fn bit(&self, kind: usize, column: usize) -> u64 {
        match self.bits[kind][column] {
            NO_BIT => 0,
            bit => 1 << bit,
        }
    }
}

impl Iterator for Values<'_> {
    type Item = (u16, i32);

    fn next(&mut self) -> Option<(u16, i32)> {
        if self.bits == 0 {
            return None;
        }
        let bit = self.bits.trailing_zeros() & 63;
        self.bits &= self.bits - 1;
        let column = match self.columns {
            Some(columns) => columns[bit as usize],
            None => bit as u16,
        };
        Some((column, self.row[usize::from(column)]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.bits.count_ones() as usize;
        (n, Some(n))
    }
}

impl ExactSizeIterator for Values<'_> {}

/// The bit of a column of a kind.
fn bit(own: Option<&OwnBits>, kind: usize, column: usize) -> u64 {
    match own {
        Some(own) => own.bit(kind, column),
        None => 1 << column,
    }
}

/// The columns that any client may be sent.
pub fn visible(schema: &Schema) -> Columns {
    !schema.columns_for(Audience::Hidden) & (0..schema.attributes.len()).collect()
}

const BITS: usize = u64::BITS as usize;
const _: () = assert!(KIND_ATTRIBUTES_MAX <= BITS);
const NO_BIT: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds of 2 and so many columns, which share only the position.
    fn schema(kinds: &[usize]) -> Schema {
        let kinds = kinds.iter().enumerate().map(|(kind, &columns)| {
            let attributes = (0..columns).map(|n| {
                let audience = ["state", "private", "hidden"][n % 3];
                format!("{{ name = \"a{kind}_{n}\", type = \"i32\", audience = \"{audience}\" }}")
            });
            let attributes = attributes.collect::<Vec<_>>().join(", ");
            let name = if kind == 0 { "player" } else { "other" };
            format!("[[kind]]\nname = \"{name}{kind}\"\nattributes = [{attributes}]\n")
                .replace("player0", "player")
        });
        let kinds: String = kinds.collect();
        let text = format!("[world]\ncapacity = 4\n{kinds}");
        world_file::parse(&text, "test").unwrap().schema
    }

    #[test]
    fn bits_are_columns_where_there_is_one_for_each() {
        let schema = schema(&[31, 31]);
        assert_eq!(schema.attributes.len(), 64);
        let masks = Masks::of(&schema);
        let row: Vec<i32> = (100..164).collect();
        assert_eq!(masks.mask(1, &[0, 33, 63]), 1 | 1 << 33 | 1 << 63);
        let values = masks.values(1, 1 << 33 | 1 << 63, &row);
        assert!(values.eq([(33, 133), (63, 163)]));
        assert_eq!(masks.kind(0).movement, 3);
        assert_eq!(masks.kind(1).state & 1 << 33, 1 << 33);
    }

    #[test]
    fn bits_are_columns_of_the_kind_where_the_world_has_more() {
        let schema = schema(&[62, 62, 20]);
        assert_eq!(schema.attributes.len(), 146);
        let masks = Masks::of(&schema);
        let row: Vec<i32> = (1000..1146).collect();
        // The first own columns of each kind are 2, 64 and 126.
        let bits = masks.mask(2, &[0, 1, 126, 129, 145]);
        assert_eq!(bits, 0b100111 | 1 << 21);
        let values = masks.values(2, bits & !3, &row);
        assert_eq!(values.len(), 3);
        assert!(values.eq([(126, 1126), (129, 1129), (145, 1145)]));
        assert_eq!(masks.mask(1, &[64, 125]), 1 << 2 | 1 << 63);
        assert_eq!(masks.mask(1, &[2, 126]), 0, "columns of others");
        for kind in 0..3 {
            let own = masks.kind(kind);
            assert_eq!(own.movement, 3);
            assert_eq!(own.state & 0b111111 << 2, 0b001001 << 2);
            assert_eq!(own.private & 0b111111 << 2, 0b010010 << 2);
        }
    }
}
