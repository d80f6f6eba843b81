//! Timed events on a GPU. The window loop stays on the device: the host only asks
//! now and then whether it is done.

mod phold;
mod selection;
mod torus;

use std::ffi::c_void;

use thiserror::Error;

use super::device::{Device, DriverError, HostBuffer, Lane, NoDevice};
use super::layout::Pointer;
use crate::events::NEVER;

pub use phold::{CudaPhold, PholdOnDevice};
pub use selection::SelectionTrial;
pub use torus::{CudaTorus, TorusOnDevice};

/// How the events of a window are found among all (the paper's section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Each block lists its own and goes on with them; no list is shared.
    Local,
    /// Each event takes a place in a common list by an atomic counter.
    Atomic,
    /// Count, scan and store.
    Scan,
    /// A warp votes over 1,024 events and takes their places at once.
    Hybrid,
}

impl Selection {
    pub const ALL: [Selection; 4] = [
        Selection::Local,
        Selection::Atomic,
        Selection::Scan,
        Selection::Hybrid,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Selection::Local => "local",
            Selection::Atomic => "atomic",
            Selection::Scan => "scan",
            Selection::Hybrid => "hybrid",
        }
    }
}

/// Why events can't be simulated on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EventsError {
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    #[error("the model needs {needed} bytes of GPU memory, {available} are free")]
    OutOfMemory { needed: u64, available: u64 },
    #[error("the GPU failed: {0}")]
    Failed(#[from] DriverError),
}

/// Where a run is, as `kernels/events.cuh` lays it out.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EventControl {
    /// The least times of events, by turns.
    least: [u32; 3],
    turn: u32,
    selected: [u32; 3],
    arrived: u32,
    barrier: u64,
    events: u64,
    windows: u64,
    sums: [u64; 2],
    cycles: [u64; 3],
}

impl EventControl {
    /// A run whose first event is at `least`.
    fn starting_at(least: u32) -> EventControl {
        EventControl {
            least: [least, NEVER, NEVER],
            ..EventControl::default()
        }
    }

    fn least(&self) -> u32 {
        self.least[self.turn as usize]
    }
}

/// Opens a device for a model alone and takes its memory.
fn open(bytes: u64) -> Result<(Device, Pointer), EventsError> {
    let mut device = Device::open(super::KERNELS)?;
    check_layout(&device)?;
    let available = device.info()?.memory_free;
    if bytes > available {
        return Err(EventsError::OutOfMemory {
            needed: bytes,
            available,
        });
    }
    let base = device.allocate(bytes)?;
    Ok((device, base))
}

/// The kernels must have been built for these very structures.
fn check_layout(device: &Device) -> Result<(), NoDevice> {
    let expected = [
        size_of::<torus::TorusRun>() as u32,
        size_of::<phold::PholdRun>() as u32,
        size_of::<EventControl>() as u32,
        size_of::<torus::Record>() as u32,
    ];
    let mut built = [0; 4];
    device.read_global("events_layout_bytes", &mut built)?;
    match built == expected {
        true => Ok(()),
        false => Err(NoDevice::Kernels(format!(
            "they were built for event structures of {built:?} bytes, not {expected:?}; rebuild them"
        ))),
    }
}

/// Copies from the device and waits for it.
fn fetch<T: Copy + Default>(
    device: &Device,
    from: Pointer,
    len: usize,
) -> Result<HostBuffer<T>, DriverError> {
    let mut buffer = HostBuffer::new(device, len.max(1))?;
    device.download(Lane::Work, &mut buffer[..len], from)?;
    device.synchronize(Lane::Work)?;
    Ok(buffer)
}

/// A kernel's argument.
fn argument<T>(value: &T) -> *mut c_void {
    value as *const T as *mut c_void
}

/// Hands out parts of an allocation.
struct Cut {
    at: u64,
}

impl Cut {
    fn take(&mut self, bytes: u64) -> u64 {
        let start = self.at;
        self.at += bytes.next_multiple_of(ALIGNMENT);
        start
    }
}

const ALIGNMENT: u64 = 256;
const THREADS: u32 = 256;
