//! Values and their types.

use std::fmt;

use super::number::{Number, NumericType};

/// The value of a name, or the constant of a constraint.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(i64),
    Float(f64),
    String(Box<str>),
}

/// The type that a name is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Integer,
    Float,
    String,
}

impl Value {
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Integer(_) => ValueType::Integer,
            Value::Float(_) => ValueType::Float,
            Value::String(_) => ValueType::String,
        }
    }

    /// `None` for strings.
    pub fn number(&self) -> Option<Number> {
        match *self {
            Value::Integer(value) => Some(Number::Integer(value)),
            Value::Float(value) => Some(Number::Float(value)),
            Value::String(_) => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl ValueType {
    /// `None` for strings.
    pub fn numeric(self) -> Option<NumericType> {
        match self {
            ValueType::Integer => Some(NumericType::Integer),
            ValueType::Float => Some(NumericType::Float),
            ValueType::String => None,
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            ValueType::Integer => "an integer",
            ValueType::Float => "a float",
            ValueType::String => "a string",
        })
    }
}
