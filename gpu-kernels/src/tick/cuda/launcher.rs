//! The tick's kernels, and how they are launched.
#![allow(unsafe_code)]

use std::ops::Range;

use device::gpu::sort::Sorter;
use device::{Device, DriverError, Grid, Kernel};

use super::due::DueKernels;
use super::hash::HashKernels;
use super::hearings::HearingsKernels;
use super::index::IndexKernels;
use super::interest::InterestKernels;
use super::layout::{Regions, Tick, World};
use super::lifecycle::LifecycleKernels;
use super::logic::LogicKernels;
use super::merge::MergeKernels;
use super::regions::RegionsKernels;
use super::sizes::Sizes;

/// The kernels by stage.
pub struct Kernels {
    pub due: DueKernels,
    pub logic: LogicKernels,
    pub merge: MergeKernels,
    pub lifecycle: LifecycleKernels,
    pub index: IndexKernels,
    pub interest: InterestKernels,
    pub hearings: HearingsKernels,
    pub regions: RegionsKernels,
    pub hash: HashKernels,
}

impl Kernels {
    pub fn load(device: &Device) -> Result<Kernels, DriverError> {
        Ok(Kernels {
            due: DueKernels::load(device)?,
            logic: LogicKernels::load(device)?,
            merge: MergeKernels::load(device)?,
            lifecycle: LifecycleKernels::load(device)?,
            index: IndexKernels::load(device)?,
            interest: InterestKernels::load(device)?,
            hearings: HearingsKernels::load(device)?,
            regions: RegionsKernels::load(device)?,
            hash: HashKernels::load(device)?,
        })
    }
}

/// What a tick's launches share.
pub struct Launcher<'a> {
    pub device: &'a Device,
    pub kernels: &'a Kernels,
    pub sorter: &'a Sorter,
    pub sizes: &'a Sizes,
    pub world: World,
    pub regions: Regions,
    pub tick: Tick,
}

impl Launcher<'_> {
    /// A thread for each item, or none for no item.
    pub fn items(&self, kernel: Kernel, items: u64) -> Result<(), DriverError> {
        self.grid(kernel, Grid::items(items, BLOCK))
    }

    /// A warp for each client of a range, with so many words of shared memory.
    pub fn clients(
        &mut self,
        kernel: Kernel,
        range: Range<u32>,
        warps: u32,
        words: u32,
    ) -> Result<(), DriverError> {
        self.tick.client_first = range.start;
        self.tick.client_end = range.end;
        let grid = Grid {
            blocks: (range.end - range.start).div_ceil(warps),
            threads: warps * 32,
            shared_bytes: warps * words * 4,
        };
        self.grid(kernel, grid)
    }

    pub fn grid(&self, kernel: Kernel, grid: Grid) -> Result<(), DriverError> {
        let operands = (self.world, self.tick, self.regions);
        // SAFETY: all of the tick's kernels take a world, a tick and, if they want to
        // know of regions, these, in this order (`kernels/tick/`). The buffers are those
        // that `Buffers` placed inside the device's allocation for these very sizes, and
        // kernels bound what they access by the sizes in these structures.
        unsafe { self.device.launch(kernel, grid, &operands) }
    }

    /// Whether clients or entities may hold regions.
    pub fn has_regions(&self) -> bool {
        self.regions.per_client > 0 || self.regions.of_entities > 0
    }

    /// The kernel for worlds without regions, or the one for worlds with some.
    pub fn either(&self, without: Kernel, with: Kernel) -> Kernel {
        match self.has_regions() {
            false => without,
            true => with,
        }
    }
}

/// As many warps as share 32 KB of shared memory, up to eight.
pub fn warps_for(words: u32) -> u32 {
    (8192 / words).clamp(1, WARPS_MAX)
}

/// Threads of a block where each has an item: `BLOCK` of the kernels.
pub const BLOCK: u32 = 256;
pub const WARPS_MAX: u32 = 8;
