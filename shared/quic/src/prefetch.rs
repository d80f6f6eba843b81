//! Prefetches of values that are needed soon.

/// Lets the processor load a value into its caches, while it does other work.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
pub fn prefetch<T: ?Sized>(value: &T) {
    use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
    for offset in (0..size_of_val(value)).step_by(CACHE_LINE) {
        let line = std::ptr::from_ref(value).cast::<i8>().wrapping_add(offset);
        // SAFETY: a prefetch reads nothing that the program sees, and does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub fn prefetch<T: ?Sized>(_: &T) {}

#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;
