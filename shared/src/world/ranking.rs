//! Rankings: the entities of a kind, ordered by an attribute.

/// An order of all living entities of a kind. Of equal ones, the lower slot comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    pub name: String,
    pub kind: u16,
    /// The attribute that decides; the kind has it.
    pub column: u16,
    /// Whether the least value comes first, not the greatest.
    pub is_least_first: bool,
    /// How many of the first scripts can go over, at most [`RANKING_LENGTH_MAX`].
    pub length: u16,
    /// Whether clients may ask for it.
    pub is_sent: bool,
}

impl Ranking {
    /// What an attribute's bits are combined with (by exclusive or), so that unsigned numbers
    /// ascend in the order of the ranking.
    pub fn flip(&self) -> u32 {
        match self.is_least_first {
            true => 1 << 31,
            false => !(1 << 31),
        }
    }

    /// A number that ascends in the order of the ranking.
    pub fn key(&self, value: i32) -> u32 {
        value.cast_unsigned() ^ self.flip()
    }
}

/// The most rankings of a world.
pub const RANKINGS_MAX: usize = 8;
/// The most entities that a ranking names.
pub const RANKING_LENGTH_MAX: u16 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_ascend_in_the_order_of_the_ranking() {
        let values = [i32::MIN, -1, 0, 1, i32::MAX];
        let keys = |is_least_first| {
            let ranking = Ranking {
                name: "score".to_owned(),
                kind: 0,
                column: 2,
                is_least_first,
                length: 10,
                is_sent: false,
            };
            values.map(|value| ranking.key(value))
        };
        assert!(keys(true).is_sorted());
        let mut greatest = keys(false);
        greatest.reverse();
        assert!(greatest.is_sorted());
    }
}
