//! A GPU behind the CUDA driver: the only code that calls it.
//!
//! | module | holds |
//! | --- | --- |
//! | `driver` | loading the driver; a context for each GPU |
//! | `device` | one GPU with its streams, modules and its allocation |
//! | `memory` | page-locked memory, and downloads into it |
//! | `copies` | copies between borrowed host memory and the device |
//! | `peers` | several devices: waits, copies and numbers between them |
//! | `launch` | kernels, their arguments, and launches |
//! | `compile` | kernels that are written while the program runs |
//! | [`sort`] | the radix sort of `kernels/lib/sort.cu` |
//! | [`primitives`] | standalone sort and scan, for benchmarks |
#![allow(unsafe_code)]

mod compile;
mod copies;
mod device;
mod driver;
mod launch;
mod memory;
mod peers;
pub mod primitives;
pub mod sort;

pub use compile::{Loaded, MachineCode};
pub use copies::Copies;
pub use device::{Device, Event, GpuInfo, LIBRARY, Lane, Layout, Module, info};
pub use driver::count;
pub use launch::{Grid, Kernel, Operands};
pub use memory::{Download, HostBuffer, Pinned};
pub use peers::{Exchange, Rounds};
