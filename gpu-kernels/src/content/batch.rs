//! Batches of notifications, and their matches.

use std::collections::HashMap;
use std::ops::Range;

use shared::predicate::number::{float_key, integer_key};
use shared::predicate::{Notification, Value};
use shared::world::mix::mix;
use thiserror::Error;

use device::HostVec;

use super::{ATTRIBUTES_MAX, STRING_BYTES_MAX};

/// Why a notification is not added to a batch.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BatchError {
    #[error("a notification of {0} attributes, where at most {ATTRIBUTES_MAX} are allowed")]
    TooManyAttributes(usize),
    #[error("a string of {0} bytes, where at most {STRING_BYTES_MAX} are allowed")]
    LongString(usize),
    #[error("the batch is full: its attributes are counted in 32 bits")]
    Full,
}

/// Notifications in the form that matchers take: names as numbers, values as keys, and
/// each distinct string once.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    offsets: Vec<u32>,
    attributes: HostVec<Attribute>,
    strings: Vec<Box<str>>,
    string_places: HashMap<Box<str>, u32>,
}

/// A named value: the key of a number, or the place of a string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Attribute {
    pub value: u64,
    pub name: u32,
    /// 1 for a string.
    pub is_string: u32,
}

device::plain!(Attribute {
    value: u64,
    name: u32,
    is_string: u32,
});

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

    /// Adds a notification. On an error, adds nothing.
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

    /// Removes all notifications. The strings keep their places for the next ones.
    pub(crate) fn clear_notifications(&mut self) {
        self.offsets.clear();
        self.attributes.clear();
    }

    /// Adds a notification by its attributes, in ascending order of names, with strings by
    /// their places. The caller checks the limits.
    pub(crate) fn push_attributes(&mut self, attributes: &[Attribute]) {
        debug_assert!(attributes.is_sorted_by(|a, b| a.name < b.name));
        debug_assert!(attributes.len() <= ATTRIBUTES_MAX);
        if self.offsets.is_empty() {
            self.offsets.push(0);
        }
        self.attributes.extend_from_slice(attributes);
        self.offsets.push(self.attributes.len() as u32);
    }

    /// The place of a string, which is added if it is new.
    pub(crate) fn place(&mut self, text: &str) -> u32 {
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

    /// The number of notifications.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The attributes of one notification, in ascending order of names.
    pub fn attributes_of(&self, notification: usize) -> &[Attribute] {
        let range = self.offsets[notification]..self.offsets[notification + 1];
        &self.attributes[range.start as usize..range.end as usize]
    }

    /// Where each notification's attributes begin, and the end of the last one's. Empty if
    /// there are no notifications.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attributes, in memory that a device can copy from directly if that pays.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn sendable_attributes(&self) -> &[Attribute] {
        self.attributes
            .is_sendable(self.attributes.len(), device::tuning::LOCKED_BYTES_MIN);
        &self.attributes
    }

    /// The distinct strings, by place.
    pub fn strings(&self) -> &[Box<str>] {
        &self.strings
    }
}

/// For each notification, the subscribers whose predicates it matches: ascending, each
/// once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Where each notification's subscribers begin, and the end of the last one's.
    pub(crate) offsets: Vec<u32>,
    pub(super) subscribers: Vec<u32>,
}

impl Matches {
    pub fn new() -> Matches {
        Matches::default()
    }

    /// The number of notifications.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The subscribers of a notification.
    pub fn of(&self, notification: usize) -> &[u32] {
        let [start, end] = [0, 1].map(|i| self.offsets[notification + i] as usize);
        &self.subscribers[start..end]
    }

    /// The number of pairs of notification and subscriber.
    pub fn total(&self) -> usize {
        self.subscribers.len()
    }

    /// A hash that is equal for equal matches.
    pub fn hash(&self) -> u64 {
        let pairs = (0..self.len()).flat_map(|n| self.of(n).iter().map(move |&i| (n, i)));
        pairs.fold(self.len() as u64, |hash, (notification, subscriber)| {
            mix(hash, mix(notification as u64, u64::from(subscriber)))
        })
    }

    /// Removes all notifications.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.subscribers.clear();
    }

    /// Ends a notification. Its subscribers are those from `start` on.
    pub fn finish(&mut self, start: usize) {
        self.subscribers[start..].sort_unstable();
        self.offsets.push(self.subscribers.len() as u32);
    }

    /// Appends a notification with these subscribers, ascending and each once.
    pub fn push_list(&mut self, subscribers: impl Iterator<Item = u32>) {
        self.subscribers.extend(subscribers);
        self.offsets.push(self.subscribers.len() as u32);
    }

    /// Appends notifications. `ends` has the end of each one's list in `subscribers`.
    pub fn append_lists(&mut self, ends: &[u32], subscribers: &[u32]) {
        let before = self.subscribers.len() as u32;
        self.offsets.extend(ends.iter().map(|end| before + end));
        self.subscribers.extend_from_slice(subscribers);
    }

    /// Appends the notifications of another.
    pub fn append(&mut self, other: &Matches) {
        let before = self.subscribers.len() as u32;
        let ends = other.offsets.iter().skip(1).map(|end| before + end);
        self.offsets.extend(ends);
        self.subscribers.extend_from_slice(&other.subscribers);
    }
}

/// A string of a batch, as conditions compare it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ResolvedString {
    /// Its number in the dictionary, or [`UNKNOWN_STRING`].
    pub exact: u32,
    /// Where the numbers of the patterns that it matches begin; they are ascending.
    pub patterns_start: u32,
    pub patterns_len: u32,
    pub padding: u32,
}

device::plain!(ResolvedString {
    exact: u32,
    patterns_start: u32,
    patterns_len: u32,
    padding: u32,
});

/// The strings of a batch, by their places.
#[derive(Clone, Debug, Default)]
pub struct ResolvedStrings {
    pub strings: Vec<ResolvedString>,
    pub patterns: Vec<u32>,
}

impl ResolvedString {
    /// Where the numbers of its patterns are in [`ResolvedStrings::patterns`].
    pub fn patterns(&self) -> Range<usize> {
        let start = self.patterns_start as usize;
        start..start + self.patterns_len as usize
    }
}

/// The number of a string that no constraint contains.
pub const UNKNOWN_STRING: u32 = u32::MAX;
