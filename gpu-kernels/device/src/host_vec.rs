//! Vectors whose memory a device can copy in place.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use lock::Pinned;

/// A vector whose memory can be page-locked in place, so that a device can copy from and to
/// it directly. The lock ends before the memory is moved or freed: only this type can do
/// either.
///
/// Locking takes longer than a copy, so memory is locked when it is sent for the second
/// time: reuse a vector rather than make a new one.
#[derive(Debug)]
pub struct HostVec<T> {
    // Declared first, so that it is dropped before the memory. Inner `None`: it can't be locked.
    lock: OnceLock<Option<Pinned>>,
    sent: AtomicBool,
    items: Vec<T>,
}

impl<T> HostVec<T> {
    pub fn new() -> HostVec<T> {
        HostVec::from(vec![])
    }

    /// Creates a vector with this capacity, locked at once if a driver is loaded. Memory
    /// that can't be locked also works, but is copied more slowly.
    pub fn locked(capacity: usize) -> HostVec<T> {
        let items = HostVec::from(Vec::with_capacity(capacity));
        items.lock.get_or_init(|| Pinned::lock(&items.items));
        items
    }

    pub fn push(&mut self, item: T) {
        self.reserve(1);
        self.items.push(item);
    }

    /// Removes all items and keeps the memory.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// Keeps the first `len` items, and the memory.
    pub fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
    }

    /// Appends copies of these items.
    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Clone,
    {
        self.reserve(items.len());
        self.items.extend_from_slice(items);
    }

    /// Changes the length; new items are copies of `item`.
    pub fn resize(&mut self, len: usize, item: T)
    where
        T: Clone,
    {
        self.reserve(len.saturating_sub(self.items.len()));
        self.items.resize(len, item);
    }

    /// Changes the length, for a copy to fill; new items are the default until then.
    pub fn set_len(&mut self, len: usize)
    where
        T: Clone + Default,
    {
        self.resize(len, T::default());
    }

    /// Appends items that the threads of the current pool make.
    pub fn extend_on_threads(&mut self, items: impl IndexedParallelIterator<Item = T>)
    where
        T: Send,
    {
        self.reserve(items.len());
        self.items.par_extend(items);
    }

    /// Makes room for this many more items.
    pub fn reserve(&mut self, additional: usize) {
        if self.items.capacity() - self.items.len() < additional {
            self.lock = OnceLock::new();
            self.sent = AtomicBool::new(false);
            self.items.reserve(additional);
        }
    }

    /// The number of items that fit without moving.
    pub fn capacity(&self) -> usize {
        self.items.capacity()
    }

    /// Whether a device can copy the first `n` items in place. Notes that they are sent,
    /// and locks the memory the second time if they have at least `bytes_min` bytes: small
    /// vectors share their pages with other data.
    pub fn is_sendable(&self, n: usize, bytes_min: usize) -> bool {
        if n * size_of::<T>() < bytes_min {
            return false;
        }
        self.note_sent(|| Pinned::lock(&self.items))
    }

    fn note_sent(&self, lock: impl FnOnce() -> Option<Pinned>) -> bool {
        if !self.sent.swap(true, Ordering::Relaxed) {
            return matches!(self.lock.get(), Some(Some(_)));
        }
        self.lock.get_or_init(lock).is_some()
    }
}

impl<T> Extend<T> for HostVec<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        let mut items = items.into_iter();
        self.reserve(items.size_hint().0);
        let room = self.items.capacity() - self.items.len();
        self.items.extend(items.by_ref().take(room));
        for item in items {
            self.push(item);
        }
    }
}

impl<T> From<Vec<T>> for HostVec<T> {
    fn from(items: Vec<T>) -> HostVec<T> {
        HostVec {
            lock: OnceLock::new(),
            sent: AtomicBool::new(false),
            items,
        }
    }
}

impl<T> Default for HostVec<T> {
    fn default() -> HostVec<T> {
        HostVec::new()
    }
}

/// A clone isn't locked.
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

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for HostVec<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self.items == other
    }
}

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

#[cfg(all(target_os = "linux", target_arch = "x86_64", not(test)))]
mod lock {
    //! The driver's lock on a range of pages.
    #![allow(unsafe_code)]

    pub use crate::gpu::Pinned;

    impl Pinned {
        /// Locks all of a vector's capacity. [`super::HostVec`] drops the lock before the
        /// vector moves or frees it.
        pub(super) fn lock<T>(items: &Vec<T>) -> Option<Pinned> {
            // SAFETY: `HostVec` alone holds both, and drops this first.
            unsafe { Pinned::new(items.as_ptr().cast(), items.capacity() * size_of::<T>()) }
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", not(test))))]
mod lock {
    //! Without a driver nothing is locked; tests count locks instead.

    use std::sync::Arc;

    #[derive(Debug)]
    pub struct Pinned(#[expect(dead_code, reason = "held to be dropped")] pub Arc<()>);

    impl Pinned {
        pub(super) fn lock<T>(_: &Vec<T>) -> Option<Pinned> {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn memory_is_locked_when_it_is_sent_again_and_no_longer_than_it_stays() {
        let count = Arc::new(());
        let lock = || Some(Pinned(count.clone()));
        let mut items = HostVec::from(Vec::with_capacity(2));
        items.push(1);
        assert!(!items.note_sent(lock));
        assert!(items.note_sent(lock));
        items.push(2);
        items.clear();
        items.extend_from_slice(&[3, 4]);
        assert!(items.note_sent(lock));
        assert_eq!(Arc::strong_count(&count), 2);
        items.push(5);
        assert_eq!(Arc::strong_count(&count), 1);
        assert_eq!(*items, [3, 4, 5]);
        assert!(!items.note_sent(lock));
        assert!(items.note_sent(lock));
        let copy = items.clone();
        drop(items);
        assert_eq!(Arc::strong_count(&count), 1);
        assert!(!copy.note_sent(lock));
    }

    #[test]
    fn growing_by_any_way_ends_the_lock() {
        let count = Arc::new(());
        let lock = || Some(Pinned(count.clone()));
        let grow: [fn(&mut HostVec<u32>); 5] = [
            |items| items.push(1),
            |items| items.extend_from_slice(&[1; 3]),
            |items| items.resize(100, 0),
            |items| items.extend(0..100),
            |items| items.extend_on_threads([1; 100].par_iter().copied()),
        ];
        for grow in grow {
            let mut items = HostVec::from(vec![0; 1]);
            items.truncate(1);
            items.note_sent(lock);
            assert!(items.note_sent(lock));
            grow(&mut items);
            assert_eq!(Arc::strong_count(&count), 1);
        }
    }
}
