//! Engines that run beside the tick, each by itself: what the papers are about that
//! this project started from, on CPUs and on NVIDIA GPUs.
//!
//! | module | holds |
//! | --- | --- |
//! | [`regions`] | region matching (HLA's data distribution management) |
//! | [`events`] | parallel discrete-event simulation in exact timestamp order |
//! | [`counting`] | content matching by counting satisfied constraints |
//!
//! Kernels are in `kernels/`, in files named like the modules, and come prebuilt.
#![deny(unsafe_code)]

pub mod counting;
pub mod events;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod module;
pub mod regions;
