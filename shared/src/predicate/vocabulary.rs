//! Declared names.

use std::collections::HashMap;

use thiserror::Error;

use super::value::ValueType;

/// The number of a declared name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub u16);

/// The names that notifications may have, each with its type.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    names: Vec<(Box<str>, ValueType)>,
    ids: HashMap<Box<str>, NameId>,
    /// The texts that some names may stand for; all others stand for any value.
    values: HashMap<NameId, Vec<Box<str>>>,
}

/// Why a name can't be declared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    #[error("`{0}` is not a name of letters, digits, `_` and `.` that begins with a letter or `_`")]
    Invalid(String),
    #[error("`{0}` is longer than {NAME_BYTES_MAX} bytes")]
    TooLong(String),
    #[error("`{0}` is a word of the predicate language")]
    Reserved(String),
    #[error("`{0}` is declared already")]
    Declared(String),
    #[error("there are already {NAMES_MAX} names, which is the limit")]
    TooMany,
}

impl NameError {
    /// The name that can't be declared, where the error is about one.
    pub fn name(&self) -> Option<&str> {
        match self {
            NameError::Invalid(name)
            | NameError::TooLong(name)
            | NameError::Reserved(name)
            | NameError::Declared(name) => Some(name),
            NameError::TooMany => None,
        }
    }
}

/// The most names of a vocabulary: they are numbered in 16 bits.
pub const NAMES_MAX: usize = 1 << 16;
/// The most bytes of a name.
pub const NAME_BYTES_MAX: usize = 64;

impl Vocabulary {
    pub fn new() -> Vocabulary {
        Vocabulary::default()
    }

    /// Adds a name. Names are numbered from 0 in the order of their declarations.
    pub fn declare(&mut self, name: &str, value_type: ValueType) -> Result<NameId, NameError> {
        if !is_name(name) {
            return Err(NameError::Invalid(name.to_owned()));
        }
        if RESERVED.contains(&name) {
            return Err(NameError::Reserved(name.to_owned()));
        }
        if name.len() > NAME_BYTES_MAX {
            return Err(NameError::TooLong(name.to_owned()));
        }
        if self.ids.contains_key(name) {
            return Err(NameError::Declared(name.to_owned()));
        }
        let id = self.push(name, value_type)?;
        self.ids.insert(name.into(), id);
        Ok(id)
    }

    /// Adds a name that no predicate text can refer to.
    pub fn declare_unnamed(&mut self, value_type: ValueType) -> Result<NameId, NameError> {
        self.push("", value_type)
    }

    fn push(&mut self, name: &str, value_type: ValueType) -> Result<NameId, NameError> {
        if self.names.len() == NAMES_MAX {
            return Err(NameError::TooMany);
        }
        self.names.push((name.into(), value_type));
        Ok(NameId((self.names.len() - 1) as u16))
    }

    /// Sets the texts that a name may stand for. A predicate that compares it with another one
    /// is rejected.
    pub fn allow<'a>(&mut self, name: NameId, values: impl Iterator<Item = &'a str>) {
        self.values.insert(name, values.map(Box::from).collect());
    }

    /// The texts that a name may stand for; `None`: any.
    pub fn values(&self, name: NameId) -> Option<&[Box<str>]> {
        self.values.get(&name).map(Vec::as_slice)
    }

    /// All declared names; empty for unnamed ones.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| &**name)
    }

    pub fn id(&self, name: &str) -> Option<NameId> {
        self.ids.get(name).copied()
    }

    /// The number of declared names, unnamed ones included.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The text of a name; empty for an unnamed one.
    ///
    /// # Panics
    /// For an id that this vocabulary lacks.
    pub fn name(&self, id: NameId) -> &str {
        &self.names[usize::from(id.0)].0
    }

    /// # Panics
    /// For an id that this vocabulary lacks.
    pub fn value_type(&self, id: NameId) -> ValueType {
        self.names[usize::from(id.0)].1
    }
}

fn is_name(text: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(starts) && name_bytes(text) == text.len()
}

/// The length of the name with which a text begins: `slot`, `bag.wood` or `slot[3]`.
pub(super) fn name_bytes(text: &str) -> usize {
    let plain = text.find(|c| !is_in_name(c)).unwrap_or(text.len());
    let index = text[plain..].strip_prefix('[').and_then(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        (digits > 0 && rest[digits..].starts_with(']')).then_some(digits + 2)
    });
    plain + index.unwrap_or(0)
}

/// Whether a name may have this character behind its first.
pub(super) fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Words of the text form, which can't be names.
const RESERVED: [&str; 6] = ["true", "false", "inf", "prefix", "suffix", "contains"];
