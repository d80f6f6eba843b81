//! The values that entities are born with, where a kind's default is not for all of them.
//! Backends choose them at birth, so that all entities of a kind have them: populations,
//! players, what scripts spawn, and the reborn.

use serde::{Deserialize, Serialize};

use super::mix::Random;

/// How an attribute of newborns of a kind is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Initial {
    /// Not an axis of the position; the kind has it.
    pub column: u16,
    pub choice: Choice,
}

/// The values of an [`Initial`], in raw units; at least one, and within the kind's bounds.
///
/// A newborn draws them from its random numbers ([`Random`] of its
/// birth): first the axes of its position, unless its place is given, then its attributes
/// by ascending column. A value in turn is not drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Choice {
    /// `low + below(count)`.
    Between { low: i32, count: u32 },
    /// The place `below(len)` of the list.
    OneOf(Vec<i32>),
    /// The place `turn % len` of the list. The turn is the token of the birth for clients,
    /// and the slot for entities without one: neither needs memory, and both are dense.
    InTurn(Vec<i32>),
}

impl Choice {
    /// The values of a list.
    pub fn listed(&self) -> &[i32] {
        match self {
            Choice::Between { .. } => &[],
            Choice::OneOf(values) | Choice::InTurn(values) => values,
        }
    }

    /// The value of a newborn whose turn it is.
    pub fn draw(&self, turn: u32, random: &mut Random) -> i32 {
        match self {
            Choice::Between { low, count } => low.wrapping_add_unsigned(random.below(*count)),
            Choice::OneOf(values) => values[random.below(values.len() as u32) as usize],
            Choice::InTurn(values) => values[turn as usize % values.len()],
        }
    }

    /// The least value.
    pub fn least(&self) -> i32 {
        match self {
            Choice::Between { low, .. } => *low,
            list => list.listed().iter().copied().min().unwrap_or_default(),
        }
    }
}
