//! Text and lists of the caller, who promises that a pointer which is not null points to what
//! the function's comment states.

use std::ffi::{CStr, c_char};

use crate::failure::Failure;

/// Text that the caller hands in.
///
/// # Safety
/// `text` is null, or ends with a zero byte and stays as it is during the call.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    unsafe { optional_text(text, what) }?
        .ok_or_else(|| Failure::Argument(format!("expected {what}, found a null pointer")))
}

/// The same, where a null pointer stands for no text.
///
/// # Safety
/// As `text`.
pub(crate) unsafe fn optional_text<'a>(
    text: *const c_char,
    what: &str,
) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    let text = text.map_err(|error| Failure::Argument(format!("{what} is no UTF-8: {error}")))?;
    Ok(Some(text))
}

/// A list that the caller hands in.
///
/// # Safety
/// `first` is null, or points to `count` values that stay as they are during the call.
pub(crate) unsafe fn list<'a, T>(
    first: *const T,
    count: usize,
    what: &str,
) -> Result<&'a [T], Failure> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::Argument(format!(
            "expected {count} {what}, found a null pointer"
        ))),
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// Memory of the caller for a result.
///
/// # Safety
/// `place` is null, or points to room for a `T` that no other thread uses during the call.
pub(crate) unsafe fn put<T>(place: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::Argument(format!(
            "expected room for {what}, found a null pointer"
        )));
    }
    unsafe { place.write(value) };
    Ok(())
}

/// The same, unless the pointer is null.
///
/// # Safety
/// As `put`.
pub(crate) unsafe fn put_if_asked<T>(place: *mut T, value: T) {
    if !place.is_null() {
        unsafe { place.write(value) };
    }
}

/// Writes text with a zero byte behind it. Text that does not fit is an error with how
/// many bytes it needs.
///
/// # Safety
/// `buffer` is null, or points to room for `size` bytes that no other thread uses during the
/// call.
pub(crate) unsafe fn put_text(buffer: *mut c_char, size: usize, text: &str) -> Result<(), Failure> {
    let needed = text.len() + 1;
    if buffer.is_null() || size < needed {
        return Err(Failure::Argument(format!(
            "expected a buffer of {needed} bytes, found one of {}",
            if buffer.is_null() { 0 } else { size }
        )));
    }
    unsafe {
        buffer.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        buffer.add(text.len()).write(0);
    }
    Ok(())
}
