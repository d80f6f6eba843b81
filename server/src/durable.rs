//! What outlives the process.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod code_cache;
pub mod journal;
