//! Writing the text form of predicates.

use std::fmt::{self, Write};

use super::constraint::{Constraint, Predicate};
use super::value::Value;
use super::vocabulary::Vocabulary;

impl Predicate {
    /// Writes the text form. [`Predicate::parse`] reads an equal predicate from it.
    pub fn display<'a>(&'a self, vocabulary: &'a Vocabulary) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| write_predicate(f, self, vocabulary))
    }
}

fn write_predicate(
    f: &mut fmt::Formatter,
    predicate: &Predicate,
    vocabulary: &Vocabulary,
) -> fmt::Result {
    if predicate.filters.is_empty() {
        return f.write_str("false");
    }
    for (i, filter) in predicate.filters.iter().enumerate() {
        if i > 0 {
            f.write_str(" || ")?;
        }
        if filter.constraints.is_empty() {
            f.write_str("true")?;
        }
        for (j, constraint) in filter.constraints.iter().enumerate() {
            if j > 0 {
                f.write_str(" && ")?;
            }
            write_constraint(f, constraint, vocabulary)?;
        }
    }
    Ok(())
}

fn write_constraint(
    f: &mut fmt::Formatter,
    constraint: &Constraint,
    vocabulary: &Vocabulary,
) -> fmt::Result {
    let name = vocabulary.name(constraint.name);
    write!(f, "{name} {} ", constraint.operator)?;
    match &constraint.value {
        Value::Integer(value) => write!(f, "{value}"),
        // Debug writes a point or an exponent, so that it is read as a float.
        Value::Float(value) => write!(f, "{value:?}"),
        Value::String(text) => write_string(f, text),
    }
}

fn write_string(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}
