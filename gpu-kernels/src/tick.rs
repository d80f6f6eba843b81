//! The tick: a world's state, the input and the output of a tick.
//!
//! | module | holds |
//! | --- | --- |
//! | [`backend`] | the contract of all backends |
//! | [`error`] | why a backend did not start, run a tick or restore a snapshot |
//! | [`fault`] | failures on purpose |
//! | [`frame`] | the input of a tick |
//! | [`output`] | the output of a tick |
//! | [`counts`] | the counters of a tick: declared once for device, host and metrics |
//! | [`parts`] | the clients, divided among the GPUs that serve them |
//! | [`refused`] | commands without effect |
//! | [`state`] | snapshots and the state hash |
//! | [`still`] | a snapshot as commands see it |
//! | [`timed`] | commands that wait for their tick |
//! | [`trace`] | which commands updated which attributes |
//! | [`cpu`] | the backend for CPUs, one file a stage |
//! | `cuda` | the backend for NVIDIA GPUs, one file a stage |

pub mod backend;
pub mod counts;
pub mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;

pub mod deferred;
pub mod edits;
pub mod error;
pub mod fault;
pub mod frame;
pub mod output;
pub mod parts;
pub mod refused;
pub mod state;
pub mod still;
pub mod timed;
pub mod trace;

/// The version of the tick: raised by each change after which the same frames lead to
/// another state, which golden tests show. A journal's frames replay only in the version
/// that ran them.
pub const VERSION: u32 = 5;
