//! The base of every backend: a CPU's threads, or a GPU behind the CUDA driver.
//!
//! | module | holds |
//! | --- | --- |
//! | [`cpu`] | worker threads, threads for parts that wait for each other, loops with vector instructions, and a stable radix sort |
//! | [`layout`] | structures that host and kernels share, declared once |
//! | [`plan`] | named buffers of one device allocation |
//! | [`host_vec`] | vectors whose memory a device can copy in place |
//! | [`mod@plain`] | types that may be copied to a device |
//! | [`error`] | why there is no device, or what failed |
//! | `gpu` | the driver: memory, copies, launches, and the sort (Linux on x86-64) |
//! | [`tuning`] | the numbers that were chosen by measuring |
#![deny(unsafe_code)]

pub mod cpu;
pub mod error;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod gpu;
pub mod host_vec;
pub mod layout;
pub mod plain;
pub mod plan;
pub mod tuning;

pub use error::{CompileError, DriverError, NoDevice};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use gpu::{
    Copies, Device, Download, Event, Exchange, GpuInfo, Grid, HostBuffer, Kernel, Lane, Loaded,
    MachineCode, Module, Operands, Rounds,
};
pub use host_vec::HostVec;
pub use layout::{ConstPointer, Field, Int2, Pointer, UInt2};
pub use plain::Plain;
pub use plan::{Buffer, Plan};
