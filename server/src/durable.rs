//! What outlives the process.

#![cfg_attr(not(test), deny(clippy::cast_possible_truncation))]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod code_cache;
pub mod journal;
