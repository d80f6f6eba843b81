//! The tick: commands in, merged updates and deliveries out.
//!
//! A [`Backend`] owns the state of one world. Each tick it is given a [`Frame`]
//! and gives back a [`TickOutput`]; [`TickOutput::hash`] covers all that the
//! next tick depends on and is the same on every backend, whatever the number of
//! threads. Nothing here uses sockets, files or the time of day; clocks are
//! read only to say how long a stage took.
//!
//! | module | holds |
//! | --- | --- |
//! | [`tick`] | the state of a world, and its advance: frame, output, backends |
//! | [`logic`] | the catalog of commands; scripts, ready to run |
//! | [`space`] | boxes, and how a world's boxes are sorted; the steps of flow fields |
//! | [`content`] | which subscribers' predicates a notification satisfies |
//! | [`listen`] | which client gets which notice because it subscribed |
#![deny(unsafe_code)]

pub mod content;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kernels;
pub mod listen;
pub mod logic;
mod notification;
mod slot;
pub mod space;
pub mod tick;

pub use device::{HostVec, NoDevice};
pub use notification::Notification;
pub use slot::SlotState;
pub use space::Area;
pub use space::field::FieldCells;
pub use tick::backend::{Backend, DueCommands, SubmittedTick};
pub use tick::counts::Counts;
pub use tick::cpu::CpuBackend;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use tick::cuda::CudaBackend;
pub use tick::deferred::DeferredCommand;
pub use tick::error::{RestoreError, StartError, TickError};
pub use tick::frame::{
    After, Batch, Command, CommandOrder, Frame, Holder, Observer, ObserverChange, Region,
    RegionChange, Target,
};
pub use tick::output::{
    Birth, BucketRanges, Courses, Delivery, Hearings, Stage, StageTimes, TickOutput,
};
pub use tick::refused::RefusedCommand;
pub use tick::state::{FieldState, Snapshot, StateHash, Track};
pub use tick::timed::TimedCommand;
pub use tick::trace::{Trace, TracedUpdate};
