//! Reads Rust's types from TOML's values.
//!
//! [`toml::de::ValueDeserializer`] does the same. It visits each structure's keys in three ways,
//! for dates, for [`toml::Spanned`] and for tables, which makes three copies of the code of each:
//! a third of what compiling this crate took.

use std::fmt::Display;
use std::ops::Range;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_spanned::de::is_spanned;
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeValue};

/// What is wrong with a value, and where in the text.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(super) struct Error {
    message: String,
    span: Option<Range<usize>>,
}

impl Error {
    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }

    /// The innermost value at fault is the first that says so.
    fn within(mut self, span: Range<usize>) -> Error {
        self.span.get_or_insert(span);
        self
    }
}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Error {
        Error {
            message: message.to_string(),
            span: None,
        }
    }
}

/// A value to be read.
pub(super) enum Value<'a> {
    Written(Spanned<DeValue<'a>>),
    /// The start or the end of a [`Spanned`], which serde reads as a structure.
    Place(usize),
}

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let value = match self {
            Value::Written(value) => value,
            Value::Place(place) => return visitor.visit_u64(place as u64),
        };
        let span = value.span();
        let read = match value.into_inner() {
            DeValue::String(text) => visit_text(text, visitor),
            DeValue::Integer(number) => visit_integer(&number, visitor),
            DeValue::Float(number) => match number.as_str().parse::<f64>() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(Error::custom("expected a number")),
            },
            DeValue::Boolean(flag) => visitor.visit_bool(flag),
            DeValue::Datetime(_) => Err(Error::invalid_type(Unexpected::Other("a date"), &visitor)),
            DeValue::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Value::Written));
                let read = visitor.visit_seq(&mut items);
                read.and_then(|read| items.end().map(|()| read))
            }
            DeValue::Table(table) => {
                let entries = table.into_iter();
                let entries = entries.map(|(key, value)| (Key(key), Value::Written(value)));
                visit_entries(entries.collect(), visitor)
            }
        };
        read.map_err(|error| error.within(span))
    }

    // A key that isn't there is `None`.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self {
            Value::Written(value) if is_spanned(name) => {
                let span = value.span();
                let places = [Value::Place(span.start), Value::Place(span.end)];
                let values = places.into_iter().chain([Value::Written(value)]);
                let keys = fields
                    .iter()
                    .map(|&key| Spanned::new(span.clone(), key.into()));
                visit_entries(keys.map(Key).zip(values).collect(), visitor)
            }
            value => value.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Written(value) = self else {
            return self.deserialize_any(visitor);
        };
        let span = value.span();
        let read = match value.into_inner() {
            DeValue::String(name) => visitor.visit_enum(name.into_deserializer()),
            _ => Err(Error::custom("expected a string")),
        };
        read.map_err(|error| error.within(span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Value<'de> {
    type Deserializer = Value<'de>;

    fn into_deserializer(self) -> Value<'de> {
        self
    }
}

/// A key of a table.
struct Key<'a>(Spanned<DeString<'a>>);

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let span = self.0.span();
        visit_text(self.0.into_inner(), visitor).map_err(|error| error.within(span))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any option newtype_struct struct
        enum
    }
}

impl<'de> IntoDeserializer<'de, Error> for Key<'de> {
    type Deserializer = Key<'de>;

    fn into_deserializer(self) -> Key<'de> {
        self
    }
}

fn visit_entries<'de, V: Visitor<'de>>(
    entries: Vec<(Key<'de>, Value<'de>)>,
    visitor: V,
) -> Result<V::Value, Error> {
    visitor.visit_map(MapDeserializer::new(entries.into_iter()))
}

fn visit_text<'de, V: Visitor<'de>>(text: DeString<'de>, visitor: V) -> Result<V::Value, Error> {
    match text {
        DeString::Borrowed(text) => visitor.visit_borrowed_str(text),
        DeString::Owned(text) => visitor.visit_string(text),
    }
}

fn visit_integer<'de, V: Visitor<'de>>(
    number: &DeInteger<'_>,
    visitor: V,
) -> Result<V::Value, Error> {
    let (digits, radix) = (number.as_str(), number.radix());
    if let Ok(number) = i64::from_str_radix(digits, radix) {
        visitor.visit_i64(number)
    } else if let Ok(number) = u64::from_str_radix(digits, radix) {
        visitor.visit_u64(number)
    } else if let Ok(number) = i128::from_str_radix(digits, radix) {
        visitor.visit_i128(number)
    } else {
        Err(Error::custom("the number is too large"))
    }
}
