//! Problems with values, and checks that several keys share.

use std::fmt::Display;

use shared::world::fixed::Fixed;

/// A value that is rejected.
pub(super) struct Problem {
    pub key: String,
    pub message: String,
    /// Where it is in the file, in bytes, if that is known better than by the key.
    pub place: Option<usize>,
}

impl Problem {
    pub fn new(key: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem {
            key: key.into(),
            message: message.into(),
            place: None,
        }
    }
}

/// The problems of a file so far. A value with a problem is replaced by a valid one, so that
/// the checks can go on.
#[derive(Default)]
pub(super) struct Problems(pub Vec<Problem>);

impl Problems {
    /// The checked value; `None` if it has a problem, which is noted.
    pub fn take<T>(&mut self, checked: Result<T, Problem>) -> Option<T> {
        checked.map_err(|problem| self.0.push(problem)).ok()
    }

    /// The checked value, or this one instead.
    pub fn take_or<T>(&mut self, instead: T, checked: Result<T, Problem>) -> T {
        self.take(checked).unwrap_or(instead)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(super) fn problem<T>(key: impl Into<String>, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(key, message))
}

pub(super) fn unexpected<T>(
    key: impl Into<String>,
    found: impl Display,
    expected: impl Display,
) -> Result<T, Problem> {
    problem(key, format!("expected {expected}, found {found}"))
}

/// The place of an entry of a list, as a world numbers it.
pub(super) fn place(key: &str, index: usize) -> Result<u16, Problem> {
    match u16::try_from(index) {
        Ok(place) => Ok(place),
        Err(_) => problem(key, "expected at most 65536 of them"),
    }
}

pub(super) fn in_range<T: PartialOrd + Display>(
    key: &str,
    value: T,
    min: T,
    max: T,
) -> Result<T, Problem> {
    if value >= min && value <= max {
        Ok(value)
    } else {
        unexpected(key, value, format!("{min} to {max}"))
    }
}

/// A fixed-point number from `min` to `max`.
pub(super) fn fixed(key: &str, value: f64, min: f64, max: f64) -> Result<Fixed, Problem> {
    in_range(key, value, min, max)?;
    match Fixed::from_f64(value) {
        Some(fixed) => Ok(fixed),
        None => unexpected(key, value, format!("{min} to {max}")),
    }
}

/// The longest edge of a world: a little under half of what [`Fixed`] can hold, so that
/// neither the difference of two positions nor an area of interest around one overflows.
pub(super) const SIZE_MAX: f64 = 262_143.0;

/// `one of "a", "b"`, as what was expected.
pub(super) fn one_of<T: std::fmt::Debug>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    match names.is_empty() {
        true => "none, as there are none".to_owned(),
        false => format!("one of {}", list(&names)),
    }
}

/// `["a", "b"]`, but no more than people read.
pub(super) fn list<T: std::fmt::Debug>(names: &[T]) -> String {
    match names.len().checked_sub(LISTED_MAX) {
        None | Some(0) => format!("{names:?}"),
        Some(more) => format!("{:?} and {more} more", &names[..LISTED_MAX]),
    }
}

const LISTED_MAX: usize = 32;
