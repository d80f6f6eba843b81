//! The headers that kernels are built with say what Rust declares.
//!
//! `UPDATE_LAYOUT=1 cargo test -p engines --test layout` writes them; then
//! `python3 gpu-kernels/kernels/build.py` builds the kernels.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;

#[test]
fn headers_are_those_of_the_declarations() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    for (file, expected) in [
        (
            "regions_layout.cuh",
            engines::regions::cuda::layout::header(),
        ),
        ("events_layout.cuh", engines::events::cuda::layout::header()),
        (
            "counting_layout.cuh",
            engines::counting::cuda::layout::header(),
        ),
    ] {
        let path = kernels.join(file);
        if std::env::var_os("UPDATE_LAYOUT").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap();
        assert_eq!(
            found, expected,
            "{file} is out of date: set UPDATE_LAYOUT=1"
        );
    }
}
