//! The check that headers of kernels say what Rust declares.

use std::fs;
use std::path::Path;

/// Compares header files with the texts that follow from the declarations. Paths are
/// relative to `folder`. With `UPDATE_LAYOUT` in the environment, writes the files first.
///
/// # Panics
/// If a file differs, or can't be read or written.
pub fn check(folder: &Path, headers: &[(&str, String)]) {
    for (file, expected) in headers {
        let path = folder.join(file);
        if std::env::var_os("UPDATE_LAYOUT").is_some() {
            fs::write(&path, expected).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap();
        assert_eq!(
            found, *expected,
            "{file} is out of date: set UPDATE_LAYOUT=1"
        );
    }
}
