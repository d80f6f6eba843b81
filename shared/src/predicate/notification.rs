//! Notifications as sets of named values.

use thiserror::Error;

use super::value::{Value, ValueType};
use super::vocabulary::{NameId, Vocabulary};

/// A set of named values, in ascending order of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notification {
    attributes: Vec<(NameId, Value)>,
}

/// Why a set of named values is not a notification.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotificationError {
    #[error("name {} is not declared", .0.0)]
    UnknownName(NameId),
    #[error("expected {expected} for `{name}`, found {found}")]
    WrongType {
        name: String,
        expected: ValueType,
        found: ValueType,
    },
    #[error("expected a number for `{0}`, found NaN")]
    NotANumber(String),
    #[error("`{0}` has two values")]
    Duplicate(String),
}

impl Notification {
    /// Each name has one value, of its declared type. An integer becomes a float where
    /// the name is a float and the conversion is exact.
    pub fn new(
        vocabulary: &Vocabulary,
        attributes: impl IntoIterator<Item = (NameId, Value)>,
    ) -> Result<Notification, NotificationError> {
        let mut attributes = attributes
            .into_iter()
            .map(|(name, value)| Ok((name, convert(vocabulary, name, value)?)))
            .collect::<Result<Vec<_>, NotificationError>>()?;
        attributes.sort_by_key(|(name, _)| *name);
        match attributes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => {
                let name = vocabulary.name(pair[0].0).to_owned();
                Err(NotificationError::Duplicate(name))
            }
            None => Ok(Notification { attributes }),
        }
    }

    pub fn attributes(&self) -> &[(NameId, Value)] {
        &self.attributes
    }
}

fn convert(
    vocabulary: &Vocabulary,
    name: NameId,
    value: Value,
) -> Result<Value, NotificationError> {
    if usize::from(name.0) >= vocabulary.len() {
        return Err(NotificationError::UnknownName(name));
    }
    let expected = vocabulary.value_type(name);
    let name = || vocabulary.name(name).to_owned();
    match (expected, value) {
        (ValueType::Float, Value::Float(value)) if value.is_nan() => {
            Err(NotificationError::NotANumber(name()))
        }
        (ValueType::Float, Value::Integer(value)) if value.unsigned_abs() <= 1 << 53 => {
            Ok(Value::Float(value as f64))
        }
        (expected, value) if expected == value.value_type() => Ok(value),
        (expected, value) => Err(NotificationError::WrongType {
            name: name(),
            expected,
            found: value.value_type(),
        }),
    }
}
