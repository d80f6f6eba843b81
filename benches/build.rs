//! Gives the benches the profile that they were built with: its figures mean nothing without.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // target/PROFILE/build/benches-HASH/out
    let out = std::env::var("OUT_DIR").unwrap_or_default();
    let folder = Path::new(&out).ancestors().nth(3);
    let name = folder.and_then(Path::file_name).unwrap_or_default();
    println!("cargo::rustc-env=BUILD_PROFILE={}", name.to_string_lossy());
}
