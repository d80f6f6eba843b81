use std::fmt;

use super::{ContentError, NameId, Number, PredicateLimits, ValueType, Vocabulary};

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(i64),
    Float(f64),
    String(Box<str>),
}

impl Value {
    pub fn value_type(&self) -> ValueType {
        match self {
            Value::Integer(_) => ValueType::Integer,
            Value::Float(_) => ValueType::Float,
            Value::String(_) => ValueType::String,
        }
    }

    /// None for strings.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Prefix,
    Suffix,
    Contains,
}

impl Operator {
    pub const ALL: [Operator; 9] = [
        Operator::Equal,
        Operator::NotEqual,
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
        Operator::Prefix,
        Operator::Suffix,
        Operator::Contains,
    ];

    /// As the text form has it.
    pub const fn text(self) -> &'static str {
        match self {
            Operator::Equal => "==",
            Operator::NotEqual => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Prefix => "prefix",
            Operator::Suffix => "suffix",
            Operator::Contains => "contains",
        }
    }

    /// Whether it looks into a string.
    pub const fn is_pattern(self) -> bool {
        matches!(
            self,
            Operator::Prefix | Operator::Suffix | Operator::Contains
        )
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// What one value of a notification must be like. Strings are ordered by their
/// bytes only for `==` and `!=`: `<` and its kin are for numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    pub name: NameId,
    pub operator: Operator,
    pub value: Value,
}

impl Constraint {
    /// Whether the vocabulary and the limits allow it.
    pub fn check(
        &self,
        vocabulary: &Vocabulary,
        limits: &PredicateLimits,
    ) -> Result<(), ContentError> {
        let Constraint {
            name,
            operator,
            value,
        } = self;
        if usize::from(name.0) >= vocabulary.len() {
            return Err(ContentError::UnknownName(format!("#{}", name.0)));
        }
        let declared = vocabulary.value_type(*name);
        let found = value.value_type();
        let name = || vocabulary.name(*name).to_owned();
        if declared.numeric().is_some() != found.numeric().is_some() {
            return Err(ContentError::WrongType {
                name: name(),
                declared,
                found,
            });
        }
        let is_text = declared == ValueType::String;
        let for_both = matches!(operator, Operator::Equal | Operator::NotEqual);
        if !for_both && operator.is_pattern() != is_text {
            return Err(ContentError::WrongOperator {
                name: name(),
                operator: *operator,
                declared,
            });
        }
        match value {
            Value::Float(value) if value.is_nan() => Err(ContentError::NotANumber),
            Value::String(text) if text.len() > limits.string_bytes => {
                Err(ContentError::LongString {
                    found: text.len(),
                    limit: limits.string_bytes,
                })
            }
            _ => Ok(()),
        }
    }
}

/// A conjunction of constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub constraints: Vec<Constraint>,
}

/// A disjunction of filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicate {
    pub filters: Vec<Filter>,
}

impl Predicate {
    /// Whether the vocabulary and the limits allow all of it.
    pub fn check(
        &self,
        vocabulary: &Vocabulary,
        limits: &PredicateLimits,
    ) -> Result<(), ContentError> {
        if self.filters.len() > limits.filters {
            return Err(ContentError::TooManyFilters {
                found: self.filters.len(),
                limit: limits.filters,
            });
        }
        for filter in &self.filters {
            let found = filter.constraints.len();
            if found > limits.constraints_per_filter {
                return Err(ContentError::TooManyConstraints {
                    found,
                    limit: limits.constraints_per_filter,
                });
            }
            for constraint in &filter.constraints {
                constraint.check(vocabulary, limits)?;
            }
        }
        Ok(())
    }
}

/// A set of named values, in ascending order of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notification {
    attributes: Vec<(NameId, Value)>,
}

impl Notification {
    /// Takes each name once, with a value of its type; an integer is taken for a
    /// float where that is exact.
    pub fn new(
        vocabulary: &Vocabulary,
        attributes: impl IntoIterator<Item = (NameId, Value)>,
    ) -> Result<Notification, ContentError> {
        let mut attributes = attributes
            .into_iter()
            .map(|(name, value)| Ok((name, fitting(vocabulary, name, value)?)))
            .collect::<Result<Vec<_>, ContentError>>()?;
        attributes.sort_by_key(|(name, _)| *name);
        match attributes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(ContentError::Duplicate(
                vocabulary.name(pair[0].0).to_owned(),
            )),
            None => Ok(Notification { attributes }),
        }
    }

    pub fn attributes(&self) -> &[(NameId, Value)] {
        &self.attributes
    }
}

fn fitting(vocabulary: &Vocabulary, name: NameId, value: Value) -> Result<Value, ContentError> {
    if usize::from(name.0) >= vocabulary.len() {
        return Err(ContentError::UnknownName(format!("#{}", name.0)));
    }
    let declared = vocabulary.value_type(name);
    match (declared, value) {
        (ValueType::Float, Value::Float(value)) if value.is_nan() => Err(ContentError::NotANumber),
        (ValueType::Float, Value::Integer(value)) if value.unsigned_abs() <= 1 << 53 => {
            Ok(Value::Float(value as f64))
        }
        (declared, value) if declared == value.value_type() => Ok(value),
        (declared, value) => Err(ContentError::WrongType {
            name: vocabulary.name(name).to_owned(),
            declared,
            found: value.value_type(),
        }),
    }
}
