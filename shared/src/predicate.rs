//! Content-based subscription: what a client may ask to hear of.
//!
//! A [`Notification`] is a set of named values. A [`Constraint`] is a name, an
//! [`Operator`] and a value; a [`Filter`] is a conjunction of constraints, and a
//! [`Predicate`] a disjunction of filters (Margara and Cugola, "High Performance
//! Content-Based Matching Using GPUs", section 3). Names and their types are
//! declared in a [`Vocabulary`] by whoever runs the world, so no subscriber can
//! give a name another type, or fill memory with names.
//!
//! What holds when:
//! - A constraint on a name that the notification doesn't have never holds, `!=`
//!   included.
//! - Integers and floats compare by their exact value, also with each other:
//!   `temp > 30` holds for 30.5, and no rounding takes place. `-0.0` is `0.0`;
//!   NaN is refused.
//! - Strings compare byte by byte, so upper case differs from lower case. A
//!   string is never compared with a number: a constraint that would do so is
//!   refused.
//! - A filter without constraints (`true`) holds always, a predicate without
//!   filters (`false`) never.

mod constraint;
pub mod number;
mod text;
mod vocabulary;
mod world_names;

pub use constraint::{Constraint, Filter, Notification, Operator, Predicate, Value};
pub use number::{Number, NumericType};
pub use text::TextError;
pub use vocabulary::{NameId, ValueType, Vocabulary};
pub use world_names::{CELL_SHIFTS, Cells, WorldNames};

use thiserror::Error;

/// How much one predicate may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateLimits {
    pub filters: usize,
    pub constraints_per_filter: usize,
    /// Of each string that a constraint names.
    pub string_bytes: usize,
}

impl Default for PredicateLimits {
    fn default() -> PredicateLimits {
        PredicateLimits {
            filters: 1_024,
            constraints_per_filter: 64,
            string_bytes: 255,
        }
    }
}

/// Why names, values, constraints or notifications are refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContentError {
    #[error("{0:?} is not a name: expected letters, digits, '_' and '.', and no digit first")]
    NotAName(String),
    #[error("the name {0:?} is longer than {NAME_BYTES_MAX} bytes")]
    LongName(String),
    #[error("the name {0:?} is declared already, as {1}")]
    Declared(String, ValueType),
    #[error("there are {NAMES_MAX} names already")]
    TooManyNames,
    #[error("no notification has {0:?}: expected a declared name")]
    UnknownName(String),
    #[error("{name:?} is {declared}: expected {declared}, found {found}")]
    WrongType {
        name: String,
        declared: ValueType,
        found: ValueType,
    },
    #[error("`{operator}` compares strings, and {name:?} is {declared}")]
    WrongOperator {
        name: String,
        operator: Operator,
        declared: ValueType,
    },
    #[error("NaN is no value: expected a number that compares")]
    NotANumber,
    #[error("the notification has {0:?} twice")]
    Duplicate(String),
    #[error("{found} filters, where at most {limit} are allowed")]
    TooManyFilters { found: usize, limit: usize },
    #[error("{found} constraints in one filter, where at most {limit} are allowed")]
    TooManyConstraints { found: usize, limit: usize },
    #[error("a string of {found} bytes, where at most {limit} are allowed")]
    LongString { found: usize, limit: usize },
}

/// Names are numbered in 16 bits.
pub const NAMES_MAX: usize = 1 << 16;
pub const NAME_BYTES_MAX: usize = 64;
