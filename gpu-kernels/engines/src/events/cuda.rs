//! Timed events on a GPU. The window loop stays on the device: the host only checks
//! now and then whether it is done.
//!
//! | module | holds |
//! | --- | --- |
//! | [`layout`] | what kernels are given, declared once |
//! | `torus` | the torus network: many windows a launch |
//! | `phold` | PHOLD: a few launches a window |
//! | `selection` | the paper's three ways of selection by themselves |

pub mod layout;
mod phold;
mod selection;
mod torus;

use device::gpu::Layout;
use device::{Device, DriverError, NoDevice, Plain, Pointer};
use thiserror::Error;

use crate::module::KERNELS;

pub use phold::CudaPhold;
pub use selection::SelectionTrial;
pub use torus::CudaTorus;

/// How the events of a window are found among all (the paper's section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Each block lists its own and continues with them; no list is shared.
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

/// Opens a GPU and takes this many bytes of its memory: the device, and where they
/// begin.
fn open(ordinal: u32, needed: u64) -> Result<(Device, u64), EventsError> {
    let mut device = Device::open(ordinal, &KERNELS, &LAYOUTS)?;
    let available = device.info()?.memory_free;
    if needed > available {
        return Err(EventsError::OutOfMemory { needed, available });
    }
    let base = device.allocate(needed)?;
    Ok((device, base))
}

/// Copies `len` values from the device, and waits for them.
fn fetch<T: Plain>(device: &Device, from: Pointer<T>, len: u32) -> Result<Vec<T>, DriverError> {
    let mut values = vec![device::plain::zeroed(); len as usize];
    device.read(&mut values, from)?;
    Ok(values)
}

const LAYOUTS: [Layout; 1] = [("events_layout_hash", layout::hash)];

/// Threads of a block.
const THREADS: u32 = 256;
