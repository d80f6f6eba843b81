//! Types that may be copied to a device.
//!
//! The second use of unsafe code in this crate: guarantees about types' bits.
#![allow(unsafe_code)]

use shared::{ClientRow, EntityId, Slot, Tick};

/// Types without invalid values or padding.
///
/// # Safety
/// Every pattern of `size_of::<Self>()` bytes must be a value, and no byte may be
/// padding.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

/// The value whose bytes are all 0.
pub fn zeroed<T: Plain>() -> T {
    // SAFETY: any bits are a value.
    unsafe { std::mem::zeroed() }
}

/// The same items as values of another type of their size.
pub fn items_mut<T: Plain, U: Plain>(items: &mut [T]) -> &mut [U] {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) };
    // SAFETY: any bits are a value of either, and both have the same size and alignment.
    unsafe { std::slice::from_raw_parts_mut(items.as_mut_ptr().cast(), items.len()) }
}

macro_rules! plain_numbers {
    ($($number:ty),*) => { $(
        // SAFETY: numbers have neither invalid values nor padding.
        unsafe impl Plain for $number {}
    )* };
}

plain_numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

// SAFETY: arrays have no padding between their elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
// SAFETY: one `u32` each.
unsafe impl Plain for Slot {}
// SAFETY: as above.
unsafe impl Plain for ClientRow {}
// SAFETY: as above.
unsafe impl Plain for Tick {}
// SAFETY: two `u32`, laid out as in C.
unsafe impl Plain for EntityId {}

/// Declares that a structure is [`Plain`]. It must list all fields with their types;
/// a field that is not plain, or padding between them, does not compile.
#[macro_export]
macro_rules! plain {
    ($name:ident { $($field:tt : $type:ty),* $(,)? }) => {
        const _: () = {
            const fn plain<T: $crate::Plain>() {}
            $( plain::<$type>(); )*
            assert!(
                size_of::<$name>() == 0 $( + size_of::<$type>() )*,
                "a structure that crosses to a device has padding",
            );
            // All fields are there, with these types.
            #[allow(dead_code)]
            fn fields(value: $name) {
                let $name { $( $field: _ ),* } = value;
                $( let _: $type = value.$field; )*
            }
        };
        // SAFETY: its fields are plain, and it is no larger than they are.
        #[allow(unsafe_code)]
        unsafe impl $crate::Plain for $name {}
    };
}
