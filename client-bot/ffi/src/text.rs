//! Text that the library gives.

use std::ffi::CString;

/// Text as C has it. Zero bytes, which would end it, become blanks.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}
