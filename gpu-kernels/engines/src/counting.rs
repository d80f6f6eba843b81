//! The paper's way to match content (Margara and Cugola 2011, CCM, section 4): select
//! the constraints that name a notification's attributes, evaluate each, and count the
//! satisfied ones of every filter.
//!
//! It is the baseline of [`gpu_kernels::content`], which matches by an index, and finds
//! the same sets.
//!
//! | module | holds |
//! | --- | --- |
//! | `table` | the paper's tables |
//! | `cpu` | matching on CPUs |
//! | [`cuda`] | matching on a GPU; its kernel is in `kernels/counting.cu` |

mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
mod table;

pub use cpu::CountingMatcher;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use cuda::{CudaCountingMatcher, Reset, Stages};
pub use table::{Counted, CountedFilter, Order, Table};
