//! Prefetches of what runs read soon.

/// Lets the processor load the cache line of an address, which may be any, while it does other work.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn prefetch<T>(address: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program sees, and does not fault.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn prefetch<T>(_: *const T) {}
