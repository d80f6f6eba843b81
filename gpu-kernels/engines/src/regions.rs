//! Region matching: which publications overlap which subscriptions (HLA's data
//! distribution management).
//!
//! After Lo, Chung and Pai, "Offloading Region Matching of Data Distribution
//! Management with CUDA": the engine keeps the regions; a step applies only the
//! updated regions and gives back only the pairs that changed (section III.A,
//! figure 1). Overlaps are not stored: a pair overlapped before if its boxes before
//! the step overlap, so each pair that may have changed is tested by its boxes before
//! the step and by those after it.
//!
//! ```
//! use engines::regions::*;
//!
//! let space = Space::new(vec![
//!     Dimension::new("x", 0, 1000),
//!     Dimension::new("y", 0, 1000),
//! ])?;
//! let config = RegionsConfig::new(space.clone(), 100, 10_000);
//! let mut regions = CpuRegions::new(&config, 1)?;
//! let mut batch = Batch::new(&config, 2);
//! batch.add(Region::publication(3), &space.bounds(&[("x", 0, 10), ("y", 0, 10)])?)?;
//! // A dimension that isn't named is used in its whole range.
//! batch.add(Region::subscription(7), &space.bounds(&[("x", 9, 20)])?)?;
//! let changes = regions.step(&batch)?;
//! assert_eq!(changes.gained, [Pair::new(3, 7)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! | --- | --- |
//! | `space` | dimensions, and boxes in them |
//! | `batch` | the updates of one step |
//! | `output` | what a step gives back |
//! | `cpu` | the engine for CPUs |
//! | [`cuda`] | the engine for NVIDIA GPUs; its kernels are in `kernels/regions….cu` |

mod batch;
mod cpu;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod cuda;
mod output;
mod space;

use device::NoDevice;
use device::cpu::ThreadError;
use thiserror::Error;

pub use batch::{Batch, BatchError, Region, Side};
pub use cpu::CpuRegions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use cuda::CudaRegions;
pub use output::{Approach, Changes, Metrics, Overlaps, Pair};
pub use space::{Bounds, BoundsError, Dimension, Space, SpaceError};

/// The contract of all engines. After the same batches, all of them give the same
/// bits, whatever the approach and the number of threads.
pub trait RegionEngine: Send {
    /// Applies a batch, all of it or nothing, and gives the pairs that it changed.
    fn step(&mut self, batch: &Batch) -> Result<Changes<'_>, StepError>;

    /// All pairs that overlap, by the regions of one side.
    fn overlaps(&mut self, from: Side) -> Result<Overlaps, StepError>;

    /// Sets how the next steps find the pairs.
    fn set_approach(&mut self, approach: Approach);
}

/// The limits that size an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionsConfig {
    pub space: Space,
    /// Regions of one side: their numbers are below it. At most [`Region::NUMBERS`].
    pub capacity: u32,
    /// The most pairs that one step may gain and lose together, and that
    /// [`RegionEngine::overlaps`] may give; below 2^31.
    pub pairs_max: u32,
    /// The edge of the paper's grid cells on every axis; `None`: a cost model chooses.
    pub cell_edge: Option<u32>,
}

impl RegionsConfig {
    pub fn new(space: Space, capacity: u32, pairs_max: u32) -> RegionsConfig {
        RegionsConfig {
            space,
            capacity,
            pairs_max,
            cell_edge: None,
        }
    }

    fn check(&self) -> Result<(), RegionsStartError> {
        let capacities = 1..=Region::NUMBERS;
        if !capacities.contains(&self.capacity) {
            return Err(RegionsStartError::Capacity(self.capacity));
        }
        if self.pairs_max == 0 || self.pairs_max > i32::MAX as u32 {
            return Err(RegionsStartError::PairsMax(self.pairs_max));
        }
        match self.cell_edge {
            Some(0) => Err(RegionsStartError::CellEdge),
            _ => Ok(()),
        }
    }
}

/// Why an engine could not start.
#[derive(Debug, Error)]
pub enum RegionsStartError {
    #[error("capacity is {0} regions, expected 1 to {max}", max = Region::NUMBERS)]
    Capacity(u32),
    #[error("pairs_max is {0}, expected 1 to 2147483647")]
    PairsMax(u32),
    #[error("cell_edge is 0, expected at least 1")]
    CellEdge,
    #[error("the regions need {needed} bytes of memory where {available} are available")]
    OutOfMemory { needed: u64, available: u64 },
    #[error(transparent)]
    Threads(#[from] ThreadError),
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
}

/// Why a step failed. The regions are as they were before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StepError {
    #[error("{0} cannot be added: it exists")]
    AlreadyThere(Region),
    #[error("{0} cannot be modified or removed: it does not exist")]
    Unknown(Region),
    #[error("{0} is named twice in one batch")]
    NamedTwice(Region),
    #[error("the batch was made for other dimensions or a larger capacity")]
    OtherSpace,
    #[error("{needed} pairs where there is room for {max}")]
    TooManyPairs { needed: u64, max: u64 },
    #[error("the device failed: {0}")]
    Device(String),
}
