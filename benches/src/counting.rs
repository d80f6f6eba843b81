//! An allocator that counts, by thread, what is allocated.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

/// Counts what another allocator allocates.
pub struct Counting<A>(pub A);

/// Allocations of a thread, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    pub times: u64,
    pub bytes: u64,
}

impl Allocated {
    /// All of this thread's so far; none in a program with another allocator.
    pub fn here() -> Allocated {
        ALLOCATED.get()
    }

    /// Those since an earlier moment.
    pub fn since(self, before: Allocated) -> Allocated {
        Allocated {
            times: self.times - before.times,
            bytes: self.bytes - before.bytes,
        }
    }
}

thread_local! {
    static ALLOCATED: Cell<Allocated> = const { Cell::new(Allocated { times: 0, bytes: 0 }) };
}

fn count(bytes: usize) {
    let Allocated { times, bytes: all } = ALLOCATED.get();
    ALLOCATED.set(Allocated {
        times: times + 1,
        bytes: all + bytes as u64,
    });
}

// SAFETY: all calls are passed on as they are. Counting does not allocate: the number of a thread
// needs neither a start nor an end.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { self.0.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { self.0.dealloc(memory, layout) }
    }
}
