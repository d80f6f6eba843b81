//! Notifications to match, and the matches.

use std::collections::HashMap;
use std::ops::Range;

use shared::content::number::{float_key, integer_key};
use shared::content::{Notification, Value};
use shared::mix::mix;
use thiserror::Error;

use crate::HostVec;

use super::{ATTRIBUTES_MAX, STRING_BYTES_MAX};

/// Why a notification doesn't enter a batch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("a notification of {0} attributes, where at most {ATTRIBUTES_MAX} are allowed")]
    TooManyAttributes(usize),
    #[error("a string of {0} bytes, where at most {STRING_BYTES_MAX} are allowed")]
    LongString(usize),
    #[error("the batch is full: its attributes are counted in 32 bits")]
    Full,
}

/// Notifications as matchers take them: names as numbers, values as keys, and each
/// distinct string once.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    offsets: Vec<u32>,
    attributes: HostVec<Attribute>,
    strings: Vec<Box<str>>,
    string_places: HashMap<Box<str>, u32>,
}

/// One named value: a number's key, or the place of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Attribute {
    pub value: u64,
    pub name: u32,
    /// 1 for a string.
    pub is_string: u32,
}

const _: () = assert!(size_of::<Attribute>() == 16);

impl Batch {
    pub fn new() -> Batch {
        Batch::default()
    }

    pub fn clear(&mut self) {
        self.offsets.clear();
        self.attributes.clear();
        self.strings.clear();
        self.string_places.clear();
    }

    /// Adds a notification, or nothing.
    pub fn push(&mut self, notification: &Notification) -> Result<(), BatchError> {
        let attributes = notification.attributes();
        if attributes.len() > ATTRIBUTES_MAX {
            return Err(BatchError::TooManyAttributes(attributes.len()));
        }
        if self.attributes.len() + attributes.len() > u32::MAX as usize {
            return Err(BatchError::Full);
        }
        let strings = attributes.iter().filter_map(|(_, value)| match value {
            Value::String(text) => Some(text.len()),
            _ => None,
        });
        if let Some(bytes) = strings.max().filter(|&bytes| bytes > STRING_BYTES_MAX) {
            return Err(BatchError::LongString(bytes));
        }
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        for (name, value) in attributes {
            let (value, is_string) = match value {
                Value::Integer(value) => (integer_key(*value), 0),
                Value::Float(value) => (float_key(*value), 0),
                Value::String(text) => (u64::from(self.string(text)), 1),
            };
            self.attributes.push(Attribute {
                value,
                name: u32::from(name.0),
                is_string,
            });
        }
        self.offsets.push(self.attributes.len() as u32);
        Ok(())
    }

    /// Takes out all notifications. The strings stay where they are, for those to come.
    pub(super) fn clear_notifications(&mut self) {
        self.offsets.clear();
        self.attributes.clear();
    }

    /// Adds a notification: its attributes in ascending order of names, strings by
    /// their places. The caller sees to the limits.
    pub(super) fn push_attributes(&mut self, attributes: &[Attribute]) {
        debug_assert!(attributes.is_sorted_by(|a, b| a.name < b.name));
        debug_assert!(attributes.len() <= ATTRIBUTES_MAX);
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.attributes.extend_from_slice(attributes);
        self.offsets.push(self.attributes.len() as u32);
    }

    /// The place of a string.
    pub(super) fn place(&mut self, text: &str) -> u32 {
        self.string(text)
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&place) = self.string_places.get(text) {
            return place;
        }
        let place = self.strings.len() as u32;
        self.strings.push(text.into());
        self.string_places.insert(text.into(), place);
        place
    }

    /// How many notifications.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those of one notification, in ascending order of names.
    pub fn attributes_of(&self, notification: usize) -> &[Attribute] {
        let range = self.offsets[notification]..self.offsets[notification + 1];
        &self.attributes[range.start as usize..range.end as usize]
    }

    /// Where each notification's attributes begin, and the end; empty for none.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Locks the attributes' memory, if it is worth it and was seen before.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(super) fn lock(&self) {
        use crate::cuda::Pinned;
        use crate::output::MemoryLock;

        let lock = |items: &Vec<Attribute>| Some(MemoryLock(Box::new(Pinned::lock(items)?)));
        if size_of_val(&self.attributes[..]) >= LOCKED_BYTES_MIN {
            self.attributes.is_locked(lock);
        }
    }

    /// The distinct strings, by place.
    pub fn strings(&self) -> &[Box<str>] {
        &self.strings
    }
}

/// For each notification, the interfaces whose predicates it satisfies: ascending,
/// each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Where each notification's begin, and the end.
    pub(super) offsets: Vec<u32>,
    pub(super) interfaces: Vec<u32>,
}

impl Matches {
    pub fn new() -> Matches {
        Matches::default()
    }

    /// How many notifications.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn of(&self, notification: usize) -> &[u32] {
        let [start, end] = [0, 1].map(|i| self.offsets[notification + i] as usize);
        &self.interfaces[start..end]
    }

    /// Pairs of notification and interface.
    pub fn total(&self) -> usize {
        self.interfaces.len()
    }

    /// Equal for equal sets.
    pub fn hash(&self) -> u64 {
        let pairs = (0..self.len()).flat_map(|n| self.of(n).iter().map(move |&i| (n, i)));
        pairs.fold(self.len() as u64, |hash, (notification, interface)| {
            mix(hash, mix(notification as u64, u64::from(interface)))
        })
    }

    pub(super) fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.interfaces.clear();
    }

    /// Ends the notification whose interfaces were pushed from `start` on.
    pub(super) fn finish(&mut self, start: usize) {
        self.interfaces[start..].sort_unstable();
        self.offsets.push(self.interfaces.len() as u32);
    }

    /// Puts another's notifications behind these.
    pub(super) fn append(&mut self, other: &Matches) {
        let before = self.interfaces.len() as u32;
        let ends = other.offsets.iter().skip(1).map(|end| before + end);
        self.offsets.extend(ends);
        self.interfaces.extend_from_slice(&other.interfaces);
    }
}

/// What a string of a batch is to the constraints.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ResolvedString {
    /// Its number, or [`UNKNOWN_STRING`].
    pub exact: u32,
    /// Where the patterns that it satisfies stand, ascending.
    pub patterns_start: u32,
    pub patterns_len: u32,
    pub padding: u32,
}

/// The strings of one batch.
#[derive(Clone, Debug, Default)]
pub struct ResolvedStrings {
    pub strings: Vec<ResolvedString>,
    pub patterns: Vec<u32>,
}

impl ResolvedString {
    pub fn patterns(&self) -> Range<usize> {
        let start = self.patterns_start as usize;
        start..start + self.patterns_len as usize
    }
}

/// No constraint names it.
pub const UNKNOWN_STRING: u32 = u32::MAX;
/// A smaller batch is copied by way of other page-locked memory.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const LOCKED_BYTES_MIN: usize = 256 * 1024;
