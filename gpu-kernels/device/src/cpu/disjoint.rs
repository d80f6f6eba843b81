//! A counting sort's scatter, in which no two threads write to the same place.
#![allow(unsafe_code)]

use std::marker::PhantomData;

/// A slice that several threads may write to, each place once.
pub struct DisjointWriter<'a, T> {
    start: *mut T,
    len: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: the only access is `write`, whose callers never share a place.
unsafe impl<T: Send> Sync for DisjointWriter<'_, T> {}

impl<'a, T: Copy> DisjointWriter<'a, T> {
    pub fn new(slice: &'a mut [T]) -> Self {
        DisjointWriter {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            lifetime: PhantomData,
        }
    }

    /// Writes one place.
    ///
    /// # Safety
    /// No other call, on any thread, may name the same index while this writer lives.
    pub unsafe fn write(&self, index: usize, value: T) {
        assert!(index < self.len);
        // SAFETY: the index is inside the exclusively borrowed slice, and by the
        // caller's promise no other call writes there.
        unsafe { self.start.add(index).write(value) }
    }
}
