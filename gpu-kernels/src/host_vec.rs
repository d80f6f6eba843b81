//! Vectors that a device may read while they stay where they are.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::output::MemoryLock;

/// A vector whose memory a backend may lock in place, so that a device copies
/// from it by itself. The lock ends before the memory is moved or freed.
///
/// Locking takes longer than a copy, so a backend does it for memory that it sees
/// a second time: reuse a [`Frame`](crate::Frame) rather than make a new one.
#[derive(Debug)]
pub struct HostVec<T> {
    // Before the memory that it locks. `None` inside: it can't be locked.
    lock: OnceLock<Option<MemoryLock>>,
    seen: AtomicBool,
    items: Vec<T>,
}

impl<T> HostVec<T> {
    pub fn new() -> HostVec<T> {
        HostVec::from(vec![])
    }

    pub fn push(&mut self, item: T) {
        self.reserve(1);
        self.items.push(item);
    }

    /// Removes all items and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Clone,
    {
        self.reserve(items.len());
        self.items.extend_from_slice(items);
    }

    pub fn reserve(&mut self, additional: usize) {
        if self.items.capacity() - self.items.len() < additional {
            self.lock = OnceLock::new();
            self.seen = AtomicBool::new(false);
            self.items.reserve(additional);
        }
    }

    /// Whether the memory is locked; it is locked through `lock` if it has been
    /// seen before.
    pub(crate) fn is_locked(&self, lock: impl FnOnce(&Vec<T>) -> Option<MemoryLock>) -> bool {
        if !self.seen.swap(true, Ordering::Relaxed) {
            return false;
        }
        self.lock.get_or_init(|| lock(&self.items)).is_some()
    }
}

impl<T> From<Vec<T>> for HostVec<T> {
    fn from(items: Vec<T>) -> HostVec<T> {
        HostVec {
            lock: OnceLock::new(),
            seen: AtomicBool::new(false),
            items,
        }
    }
}

impl<T> Default for HostVec<T> {
    fn default() -> HostVec<T> {
        HostVec::new()
    }
}

/// The copy isn't locked.
impl<T: Clone> Clone for HostVec<T> {
    fn clone(&self) -> HostVec<T> {
        HostVec::from(self.items.clone())
    }
}

impl<T: PartialEq> PartialEq for HostVec<T> {
    fn eq(&self, other: &HostVec<T>) -> bool {
        self.items == other.items
    }
}

impl<T: Eq> Eq for HostVec<T> {}

impl<T> Deref for HostVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> DerefMut for HostVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<'a, T> IntoIterator for &'a HostVec<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T: Serialize> Serialize for HostVec<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for HostVec<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HostVec<T>, D::Error> {
        Vec::deserialize(deserializer).map(HostVec::from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn memory_is_locked_when_it_comes_again_and_no_longer_than_it_stays() {
        let lock = Arc::new(());
        let held = |_: &Vec<u32>| Some(MemoryLock(Box::new(lock.clone())));
        let mut items = HostVec::from(Vec::with_capacity(2));
        items.push(1);
        assert!(!items.is_locked(held));
        assert!(items.is_locked(held));
        items.push(2);
        items.clear();
        items.extend_from_slice(&[3, 4]);
        assert!(items.is_locked(held));
        assert_eq!(Arc::strong_count(&lock), 2);
        items.push(5);
        assert_eq!(Arc::strong_count(&lock), 1);
        assert_eq!(*items, [3, 4, 5]);
        assert!(!items.is_locked(held));
        assert!(items.is_locked(held));
        let copy = items.clone();
        drop(items);
        assert_eq!(Arc::strong_count(&lock), 1);
        assert!(!copy.is_locked(held));
    }
}
