//! The headers that kernels are built with say what Rust declares.
//!
//! `UPDATE_LAYOUT=1 cargo test -p gpu-kernels --test it layout` writes them; then
//! `python3 gpu-kernels/kernels/build.py` builds the kernels.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;

#[test]
fn headers_are_those_of_the_declarations() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let headers = [
        ("tick/layout.cuh", gpu_kernels::tick::cuda::layout::header()),
        (
            "content/layout.cuh",
            gpu_kernels::content::cuda::layout::header(),
        ),
    ];
    testkit::headers::check(&kernels, &headers);
}
