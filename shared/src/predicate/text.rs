//! Reading the text form of predicates: `(area == "north" && temp > 30) || wind > 20`.
//!
//! ```text
//! any        = all { "||" all }
//! all        = part { "&&" part }
//! part       = "(" any ")" | "true" | "false" | constraint
//! constraint = name operator value
//! name       = letters, digits, `_` and `.`, then perhaps "[" digits "]"
//! operator   = "==" | "!=" | "<" | "<=" | ">" | ">=" | "prefix" | "suffix" | "contains"
//! value      = integer | float | [ "-" ] "inf" | '"' text '"'
//! ```
//!
//! In a string, `\"`, `\\`, `\n`, `\r`, `\t` and `\u{…}` stand for one character each. A
//! conjunction of disjunctions is multiplied out, within the limits.

use thiserror::Error;

use super::constraint::{Constraint, Filter, Operator, Predicate, PredicateError, PredicateLimits};
use super::nearest::nearest;
use super::value::Value;
use super::vocabulary::{Vocabulary, is_in_name, name_bytes};

/// Why a text is not a predicate. Columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextError {
    #[error("column {column}: expected {expected}, found {found}")]
    Unexpected {
        column: usize,
        expected: &'static str,
        found: String,
    },
    #[error("column {column}: {error}")]
    Predicate {
        column: usize,
        error: PredicateError,
    },
    #[error("column {column}: more than {NESTING_MAX} nested parentheses")]
    TooDeep { column: usize },
    #[error("column {column}: more than {limit} constraints after multiplying out")]
    TooManyCopies { column: usize, limit: usize },
}

impl Predicate {
    /// Reads the text form, within the limits.
    pub fn parse(
        text: &str,
        vocabulary: &Vocabulary,
        limits: &PredicateLimits,
    ) -> Result<Predicate, TextError> {
        let mut parser = Parser {
            text,
            position: 0,
            depth: 0,
            copied: 0,
            vocabulary,
            limits,
        };
        let predicate = parser.any()?;
        match parser.peek() {
            None => Ok(predicate),
            Some(_) => Err(parser.unexpected("`&&`, `||` or the end")),
        }
    }
}

/// A name that stands for one of a few texts can't be any other: it would never hold, or
/// always.
fn check_value(constraint: &Constraint, vocabulary: &Vocabulary) -> Result<(), PredicateError> {
    let is_compared = matches!(constraint.operator, Operator::Equal | Operator::NotEqual);
    let (Value::String(found), Some(values)) =
        (&constraint.value, vocabulary.values(constraint.name))
    else {
        return Ok(());
    };
    let is_there = values.iter().any(|value| **value == **found);
    if is_there || !is_compared {
        return Ok(());
    }
    Err(PredicateError::UnknownValue {
        name: vocabulary.name(constraint.name).to_owned(),
        found: found.to_string(),
        nearest: nearest(found, values.iter().map(|value| &**value)),
    })
}

struct Parser<'a> {
    text: &'a str,
    /// Offset in bytes, always between characters.
    position: usize,
    depth: usize,
    /// Constraints copied by multiplying out. These can be far more than the predicate
    /// has at the end.
    copied: usize,
    vocabulary: &'a Vocabulary,
    limits: &'a PredicateLimits,
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Result<Predicate, TextError> {
        let mut predicate = self.all()?;
        loop {
            self.skip_space();
            let start = self.position;
            if !self.take("||") {
                return Ok(predicate);
            }
            predicate.filters.extend(self.all()?.filters);
            let found = predicate.filters.len();
            if found > self.limits.filters {
                return Err(self.too_many_filters(start, found));
            }
        }
    }

    fn all(&mut self) -> Result<Predicate, TextError> {
        let mut predicate = self.part()?;
        loop {
            self.skip_space();
            let start = self.position;
            if !self.take("&&") {
                return Ok(predicate);
            }
            let right = self.part()?;
            // Checked before multiplying, since the product may be huge.
            let found = predicate.filters.len() * right.filters.len();
            if found > self.limits.filters {
                return Err(self.too_many_filters(start, found));
            }
            predicate = self.product(start, predicate, &right)?;
        }
    }

    fn product(
        &mut self,
        start: usize,
        mut left: Predicate,
        right: &Predicate,
    ) -> Result<Predicate, TextError> {
        let lengths = |predicate: &Predicate| {
            let each = predicate.filters.iter().map(|f| f.constraints.len());
            (each.clone().max().unwrap_or(0), each.sum::<usize>())
        };
        let (longest, all) = lengths(&left);
        let (longest_right, all_right) = lengths(right);
        let (found, limit) = (longest + longest_right, self.limits.constraints_per_filter);
        if found > limit && !left.filters.is_empty() && !right.filters.is_empty() {
            let error = PredicateError::TooManyConstraints { found, limit };
            return Err(self.rejected(start, error));
        }
        // A single filter on the right is appended in place; otherwise the left is copied.
        let copies_of_left = match right.filters.len() {
            1 => 0,
            count => count,
        };
        self.copied += left.filters.len() * all_right + copies_of_left * all;
        let limit = COPIES * self.limits.filters * self.limits.constraints_per_filter;
        if self.copied > limit {
            let column = self.column(start);
            return Err(TextError::TooManyCopies { column, limit });
        }
        if let [own] = &right.filters[..] {
            for filter in &mut left.filters {
                filter.constraints.extend_from_slice(&own.constraints);
            }
            return Ok(left);
        }
        let each = left.filters.iter().flat_map(|a| {
            let joined = |b: &Filter| Filter {
                constraints: [&a.constraints[..], &b.constraints[..]].concat(),
            };
            right.filters.iter().map(joined)
        });
        Ok(Predicate {
            filters: each.collect(),
        })
    }

    fn part(&mut self) -> Result<Predicate, TextError> {
        self.skip_space();
        let start = self.position;
        if self.take("(") {
            if self.depth == NESTING_MAX {
                let column = self.column(start);
                return Err(TextError::TooDeep { column });
            }
            self.depth += 1;
            let inside = self.any()?;
            self.depth -= 1;
            self.skip_space();
            return match self.take(")") {
                true => Ok(inside),
                false => Err(self.unexpected("`&&`, `||` or `)`")),
            };
        }
        let name = self.word();
        match name {
            "" => return Err(self.unexpected("a name, `(`, `true` or `false`")),
            "true" => {
                let filters = vec![Filter::default()];
                return Ok(Predicate { filters });
            }
            "false" => return Ok(Predicate::default()),
            _ => {}
        }
        let Some(name) = self.vocabulary.id(name) else {
            let error = PredicateError::UnknownName {
                found: name.to_owned(),
                nearest: nearest(name, self.vocabulary.names()),
            };
            return Err(self.rejected(start, error));
        };
        let operator = self.operator()?;
        let value = self.value()?;
        let constraint = Constraint {
            name,
            operator,
            value,
        };
        constraint
            .check(self.vocabulary, self.limits)
            .and_then(|()| check_value(&constraint, self.vocabulary))
            .map_err(|error| self.rejected(start, error))?;
        let constraints = vec![constraint];
        if self.limits.constraints_per_filter == 0 || self.limits.filters == 0 {
            let (found, limit) = (1, 0);
            let error = PredicateError::TooManyConstraints { found, limit };
            return Err(self.rejected(start, error));
        }
        Ok(Predicate {
            filters: vec![Filter { constraints }],
        })
    }

    fn operator(&mut self) -> Result<Operator, TextError> {
        const EXPECTED: &str = "`==`, `!=`, `<`, `<=`, `>`, `>=`, `prefix`, `suffix` or `contains`";
        self.skip_space();
        // `<=` and `>=` before `<` and `>`, which begin in the same way.
        for operator in [
            Operator::Equal,
            Operator::NotEqual,
            Operator::LessOrEqual,
            Operator::GreaterOrEqual,
            Operator::Less,
            Operator::Greater,
        ] {
            if self.take(operator.text()) {
                return Ok(operator);
            }
        }
        let start = self.position;
        let word = self.word();
        let found = Operator::ALL.into_iter().find(|o| o.text() == word);
        found.ok_or_else(|| {
            self.position = start;
            self.unexpected(EXPECTED)
        })
    }

    fn value(&mut self) -> Result<Value, TextError> {
        const EXPECTED: &str = "a number or a string in quotes";
        self.skip_space();
        if self.peek() == Some('"') {
            return self.string();
        }
        let start = self.position;
        let is_in_number = |c: char| is_in_name(c) || c == '+' || c == '-';
        let end = self.rest().find(|c| !is_in_number(c));
        let text = &self.rest()[..end.unwrap_or(self.rest().len())];
        let digits = text.trim_start_matches('-');
        let is_number = digits.starts_with(|c: char| c.is_ascii_digit()) || digits == "inf";
        let is_integer = digits.bytes().all(|b| b.is_ascii_digit());
        let value = match (is_number, is_integer) {
            (true, true) => text.parse().ok().map(Value::Integer),
            (true, false) => text.parse().ok().map(Value::Float),
            (false, _) => None,
        };
        match value {
            Some(value) => {
                self.position += text.len();
                Ok(value)
            }
            None if is_number && is_integer => {
                let column = self.column(start);
                Err(TextError::Unexpected {
                    column,
                    expected: "an integer of 64 bits",
                    found: shortened(text),
                })
            }
            None => Err(self.unexpected(EXPECTED)),
        }
    }

    /// A string, which begins with its opening quote.
    fn string(&mut self) -> Result<Value, TextError> {
        self.position += 1;
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(self.unexpected("`\"`"));
            };
            let start = self.position;
            self.position += c.len_utf8();
            match c {
                '"' => return Ok(Value::String(text.into())),
                '\\' => match self.escape() {
                    Some(c) => text.push(c),
                    None => {
                        self.position = start;
                        return Err(
                            self.unexpected("`\\\"`, `\\\\`, `\\n`, `\\r`, `\\t` or `\\u{…}`")
                        );
                    }
                },
                c => text.push(c),
            }
        }
    }

    /// The character that an escape stands for, without its backslash.
    fn escape(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.position += c.len_utf8();
        match c {
            '"' | '\\' => Some(c),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let (digits, _) = self.rest().strip_prefix('{')?.split_once('}')?;
                let is_hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
                if digits.is_empty() || digits.len() > 6 || !is_hexadecimal {
                    return None;
                }
                let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                self.position += digits.len() + 2;
                Some(c)
            }
            _ => None,
        }
    }

    /// The name or keyword that begins here; empty if there is none.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let end = name_bytes(rest);
        let word = match rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            true => "",
            false => &rest[..end],
        };
        self.position += word.len();
        word
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.position += token.len();
        }
        found
    }

    fn skip_space(&mut self) {
        self.position += self.rest().len() - self.rest().trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn column(&self, position: usize) -> usize {
        self.text[..position].chars().count() + 1
    }

    fn unexpected(&self, expected: &'static str) -> TextError {
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        TextError::Unexpected {
            column: self.column(self.position),
            expected,
            found: match rest.is_empty() {
                true => "the end".to_owned(),
                false => shortened(&rest[..end.max(1)]),
            },
        }
    }

    fn rejected(&self, position: usize, error: PredicateError) -> TextError {
        let column = self.column(position);
        TextError::Predicate { column, error }
    }

    fn too_many_filters(&self, position: usize, found: usize) -> TextError {
        let limit = self.limits.filters;
        self.rejected(position, PredicateError::TooManyFilters { found, limit })
    }
}

/// A part of the text in backticks, cut where it is long.
fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(FOUND_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// The parser recurses at each parenthesis, so its stack must be bounded.
const NESTING_MAX: usize = 64;
/// The most characters of the text that an error repeats.
const FOUND_CHARACTERS: usize = 24;
/// How many times the constraints of the largest predicate may be copied. No predicate
/// within the limits needs as many.
const COPIES: usize = 4;
