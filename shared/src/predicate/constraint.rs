//! Predicates: disjunctions of filters, which are conjunctions of constraints.

use std::fmt;

use thiserror::Error;

use super::nearest::question;
use super::value::{Value, ValueType};
use super::vocabulary::{NameId, Vocabulary};

/// A disjunction of filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Predicate {
    pub filters: Vec<Filter>,
}

/// A conjunction of constraints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub constraints: Vec<Constraint>,
}

/// A condition on the value of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    pub name: NameId,
    pub operator: Operator,
    pub value: Value,
}

/// How a constraint compares. `==` and `!=` compare numbers or strings, the orders
/// numbers only, the patterns strings only.
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

/// The most that one predicate may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateLimits {
    pub filters: usize,
    pub constraints_per_filter: usize,
    /// Bytes of each string that a constraint compares with.
    pub string_bytes: usize,
}

/// Why a predicate is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PredicateError {
    #[error(
        "expected a name that this world declares, found `{found}`{}",
        question(nearest)
    )]
    UnknownName {
        found: String,
        nearest: Option<String>,
    },
    #[error("this world has no {name} \"{found}\"{}", question(nearest))]
    UnknownValue {
        name: String,
        found: String,
        nearest: Option<String>,
    },
    #[error("expected {} for `{name}`, found {found}", operand(*declared))]
    WrongType {
        name: String,
        declared: ValueType,
        found: ValueType,
    },
    #[error("`{operator}` compares {}, and `{name}` is {declared}", operator.operands())]
    WrongOperator {
        name: String,
        operator: Operator,
        declared: ValueType,
    },
    #[error("expected a number for `{0}`, found NaN")]
    NotANumber(String),
    #[error("{found} filters, where at most {limit} are allowed")]
    TooManyFilters { found: usize, limit: usize },
    #[error("{found} constraints in one filter, where at most {limit} are allowed")]
    TooManyConstraints { found: usize, limit: usize },
    #[error("a string of {found} bytes, where at most {limit} are allowed")]
    LongString { found: usize, limit: usize },
}

/// The values that a name of this type can be compared with.
fn operand(declared: ValueType) -> &'static str {
    match declared {
        ValueType::Integer | ValueType::Float => "a number",
        ValueType::String => "a string",
    }
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

impl Predicate {
    /// Checks all constraints against a vocabulary and limits.
    pub fn check(
        &self,
        vocabulary: &Vocabulary,
        limits: &PredicateLimits,
    ) -> Result<(), PredicateError> {
        if self.filters.len() > limits.filters {
            return Err(PredicateError::TooManyFilters {
                found: self.filters.len(),
                limit: limits.filters,
            });
        }
        for filter in &self.filters {
            let found = filter.constraints.len();
            if found > limits.constraints_per_filter {
                return Err(PredicateError::TooManyConstraints {
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

impl Constraint {
    /// Checks the constraint against a vocabulary and limits.
    pub fn check(
        &self,
        vocabulary: &Vocabulary,
        limits: &PredicateLimits,
    ) -> Result<(), PredicateError> {
        let Constraint {
            name,
            operator,
            value,
        } = self;
        if usize::from(name.0) >= vocabulary.len() {
            return Err(PredicateError::UnknownName {
                found: format!("#{}", name.0),
                nearest: None,
            });
        }
        let declared = vocabulary.value_type(*name);
        let found = value.value_type();
        let name = || vocabulary.name(*name).to_owned();
        if declared.numeric().is_some() != found.numeric().is_some() {
            return Err(PredicateError::WrongType {
                name: name(),
                declared,
                found,
            });
        }
        let is_text = declared == ValueType::String;
        let for_both = matches!(operator, Operator::Equal | Operator::NotEqual);
        if !for_both && operator.is_pattern() != is_text {
            return Err(PredicateError::WrongOperator {
                name: name(),
                operator: *operator,
                declared,
            });
        }
        match value {
            Value::Float(value) if value.is_nan() => Err(PredicateError::NotANumber(name())),
            Value::String(text) if text.len() > limits.string_bytes => {
                Err(PredicateError::LongString {
                    found: text.len(),
                    limit: limits.string_bytes,
                })
            }
            _ => Ok(()),
        }
    }
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

    /// The operator in the text form.
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

    /// The values that it compares, in words.
    const fn operands(self) -> &'static str {
        match self {
            Operator::Equal | Operator::NotEqual => "numbers or strings",
            Operator::Less
            | Operator::LessOrEqual
            | Operator::Greater
            | Operator::GreaterOrEqual => "numbers",
            Operator::Prefix | Operator::Suffix | Operator::Contains => "strings",
        }
    }

    /// Whether it looks for text inside a string.
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
