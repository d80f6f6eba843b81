//! The headers that kernels are built with say what Rust declares.
//!
//! `UPDATE_LAYOUT=1 cargo test -p engines --test it layout` writes them; then
//! `python3 gpu-kernels/kernels/build.py` builds the kernels.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::Path;

#[test]
fn headers_are_those_of_the_declarations() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let headers = [
        (
            "regions_layout.cuh",
            engines::regions::cuda::layout::header(),
        ),
        ("events_layout.cuh", engines::events::cuda::layout::header()),
        (
            "counting_layout.cuh",
            engines::counting::cuda::layout::header(),
        ),
    ];
    testkit::headers::check(&kernels, &headers);
}
