use std::collections::HashMap;
use std::fmt;

use super::{ContentError, NAME_BYTES_MAX, NAMES_MAX, NumericType};

/// The number of a declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    Integer,
    Float,
    String,
}

impl ValueType {
    /// None for strings.
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

/// The names that notifications may have, each with its type.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    names: Vec<(Box<str>, ValueType)>,
    ids: HashMap<Box<str>, NameId>,
}

impl Vocabulary {
    pub fn new() -> Vocabulary {
        Vocabulary::default()
    }

    /// Adds a name. Numbers are given in the order of declarations, from 0.
    pub fn declare(&mut self, name: &str, value_type: ValueType) -> Result<NameId, ContentError> {
        if !is_name(name) {
            return Err(ContentError::NotAName(name.to_owned()));
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(ContentError::LongName(name.to_owned()));
        }
        if let Some(&id) = self.ids.get(name) {
            let declared = self.value_type(id);
            return Err(ContentError::Declared(name.to_owned(), declared));
        }
        if self.names.len() == NAMES_MAX {
            return Err(ContentError::TooManyNames);
        }
        let id = NameId(self.names.len() as u16);
        self.names.push((name.into(), value_type));
        self.ids.insert(name.into(), id);
        Ok(id)
    }

    /// Adds a name that no text means.
    pub fn declare_unnamed(&mut self, value_type: ValueType) -> Result<NameId, ContentError> {
        if self.names.len() == NAMES_MAX {
            return Err(ContentError::TooManyNames);
        }
        self.names.push(("".into(), value_type));
        Ok(NameId(self.names.len() as u16 - 1))
    }

    pub fn id(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// How many names are declared.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// # Panics
    /// For a name of another vocabulary that is not in this one.
    pub fn name(&self, id: NameId) -> &str {
        &self.names[usize::from(id.0)].0
    }

    /// # Panics
    /// As [`Vocabulary::name`].
    pub fn value_type(&self, id: NameId) -> ValueType {
        self.names[usize::from(id.0)].1
    }
}

/// Whether the text form takes it for a name.
fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    characters.next().is_some_and(starts) && characters.all(is_in_name) && !RESERVED.contains(&text)
}

pub(super) fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Words that can't be names.
const RESERVED: [&str; 6] = ["true", "false", "inf", "prefix", "suffix", "contains"];
