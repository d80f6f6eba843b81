//! The headers that kernels are built with say what Rust declares.
//!
//! `UPDATE_LAYOUT=1 cargo test -p gpu-kernels --test layout` writes them; then
//! `python3 gpu-kernels/kernels/build.py` builds the kernels.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::Path;

#[test]
fn headers_are_those_of_the_declarations() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    for (file, expected) in [
        ("tick/layout.cuh", gpu_kernels::tick::cuda::layout::header()),
        (
            "content/layout.cuh",
            gpu_kernels::content::cuda::layout::header(),
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
