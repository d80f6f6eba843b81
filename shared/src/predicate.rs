//! Content-based subscription: predicates over changes and notifications, wherever in
//! the world these happen.
//!
//! A [`Notification`] is a set of named values. A [`Constraint`] is a name, an
//! [`Operator`] and a value; a [`Filter`] is a conjunction of constraints, and a
//! [`Predicate`] a disjunction of filters (Margara and Cugola, "High Performance
//! Content-Based Matching Using GPUs", section 3). The world's operator declares names
//! and their types in a [`Vocabulary`], so no subscriber can change the type of a name
//! or fill memory with names.
//!
//! - A constraint on a name that the notification lacks is false, also for `!=`.
//! - Integers and floats compare by their exact value, also with each other:
//!   `temp > 30` is true for 30.5, without rounding. `-0.0` equals `0.0`; NaN is
//!   rejected.
//! - Strings compare byte by byte, so case matters. A constraint that compares a string
//!   with a number is rejected.
//! - A filter without constraints (`true`) is always true, a predicate without filters
//!   (`false`) never.

mod constraint;
mod display;
mod nearest;
mod notification;
pub mod number;
mod size;
mod text;
mod value;
mod vocabulary;
mod world_names;

pub use constraint::{Constraint, Filter, Operator, Predicate, PredicateError, PredicateLimits};
pub use nearest::nearest;
pub use notification::{Notification, NotificationError};
pub use number::{Number, NumericType};
pub use size::filters_at_most;
pub use text::TextError;
pub use value::{Value, ValueType};
pub use vocabulary::{NAME_BYTES_MAX, NAMES_MAX, NameError, NameId, Vocabulary};
pub use world_names::{CELL_SHIFTS, Cells, WorldNames};
