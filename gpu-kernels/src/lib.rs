//! The tick: commands in, merged updates and deliveries out.
//!
//! A [`Backend`] owns the state of one world. Each tick it is given a [`Frame`]
//! and gives back a [`TickOutput`]; [`TickOutput::hash`] covers all that the
//! next tick depends on and is the same on every backend, whatever the number of
//! threads. Nothing here knows sockets, files or the time of day; clocks are
//! read only to say how long a stage took.
//!
//! | module | holds |
//! | --- | --- |
//! | [`frame`] | what a tick is given |
//! | [`host_vec`] | its vectors, which a device may read where they are |
//! | [`output`] | what a tick gives back |
//! | [`state`] | snapshots and the state hash |
//! | [`timed`] | commands that wait for their tick |
//! | [`logic`] | the built-in commands, one file each |
//! | [`content`] | which subscribers' predicates a notification satisfies |
//! | `levels` | how a world's boxes are sorted: by size and place |
//! | [`regions`] | who publishes where others subscribe, without a world |
//! | [`cpu`] | the backend for CPUs, one file a stage |
//! | [`events`] | timed events: a discrete-event engine of its own |
//! | `cuda` | the backend for NVIDIA GPUs; its kernels are in `kernels/` |
#![deny(unsafe_code)]

pub mod backend;
pub mod content;
pub mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
pub mod events;
pub mod frame;
pub mod host_vec;
mod levels;
pub mod logic;
pub mod output;
pub mod regions;
pub mod state;
pub mod timed;

pub use backend::{Backend, RestoreError, StartError, TickError, Ticket};
pub use cpu::CpuBackend;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use cuda::CudaBackend;
pub use frame::{
    After, Command, Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target,
};
pub use host_vec::HostVec;
pub use output::{
    Area, Birth, BucketRanges, Counts, Delivery, Hearings, Notification, Stage, StageTimes,
    TickOutput,
};
pub use state::{SlotState, Snapshot, StateHash};
pub use timed::TimedCommand;
