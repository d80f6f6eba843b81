//! Launching the tick's kernels.
#![allow(unsafe_code)]

use std::ops::Range;

use device::gpu::sort::{Sort, Sorter};
use device::{Device, DriverError, Grid, Kernel, Pointer};

use super::layout::{BoxIndex, Regions, Tick, World};
use super::sizes::Sizes;
use super::world::{box_keys, box_numbers};

/// Arguments that all of a tick's launches share.
pub struct Launcher<'a> {
    pub device: &'a Device,
    pub sorter: &'a Sorter,
    pub sizes: &'a Sizes,
    pub world: World,
    pub regions: Regions,
    pub tick: Tick,
}

impl Launcher<'_> {
    /// Launches a thread for each item; does nothing without items.
    pub fn items(&self, kernel: Kernel, items: u64) -> Result<(), DriverError> {
        self.grid(kernel, Grid::items(items, BLOCK))
    }

    /// Launches a warp for each client of a range, each with this many words of shared memory.
    pub fn clients(
        &mut self,
        kernel: Kernel,
        range: Range<u32>,
        warps: u32,
        words: u32,
    ) -> Result<(), DriverError> {
        self.clients_by(kernel, range, warps, words, u32::MAX)
    }

    /// The same with at most so many blocks, whose warps loop over the clients.
    pub fn clients_by(
        &mut self,
        kernel: Kernel,
        range: Range<u32>,
        warps: u32,
        words: u32,
        blocks_max: u32,
    ) -> Result<(), DriverError> {
        self.tick.client_first = range.start;
        self.tick.client_end = range.end;
        let grid = Grid {
            blocks: (range.end - range.start).div_ceil(warps).min(blocks_max),
            threads: warps * 32,
            shared_bytes: warps * words * 4,
        };
        self.grid(kernel, grid)
    }

    pub fn grid(&self, kernel: Kernel, grid: Grid) -> Result<(), DriverError> {
        let operands = (self.world, self.tick, self.regions);
        // SAFETY: all of the tick's kernels take a world, a tick and, if they need regions,
        // the regions, in this order (`kernels/tick/`). `Buffers` placed the buffers inside
        // the device's allocation for exactly these sizes, and kernels bound every access
        // by the sizes in these structures.
        unsafe { self.device.launch(kernel, grid, &operands) }
    }

    /// The address of one of the tick's counters.
    pub fn counter(&self, offset: usize) -> Pointer<u64> {
        Pointer::new(self.tick.counters.0 + offset as u64)
    }

    /// Collects boxes, sorts them and gathers them in order. `counter_offset` is the offset
    /// of the counter of the boxes, which is at most `n_max`.
    pub fn index_boxes(
        &self,
        [count, collect, gather]: [Kernel; 3],
        index: &BoxIndex,
        counter_offset: usize,
        n_max: u64,
    ) -> Result<(), DriverError> {
        self.items(count, n_max)?;
        self.items(collect, n_max)?;
        let sort = Sort {
            keys: box_keys(index),
            values: box_numbers(index),
            n: self.counter(counter_offset),
            n_max,
            key_bits: self.sizes.box_key_bits,
        };
        self.sorter.sort(self.device, &sort)?;
        // At least one thread for each level.
        self.items(gather, n_max.max(u64::from(BLOCK)))
    }

    /// Whether clients or entities may hold regions.
    pub fn has_regions(&self) -> bool {
        self.regions.per_client > 0 || self.regions.of_entities > 0
    }

    /// Selects the kernel for worlds without regions or the one for worlds with regions, which those
    /// that hide entities have, too.
    pub fn either(&self, without: Kernel, with: Kernel) -> Kernel {
        match self.has_regions() || self.world.conceals > 0 {
            false => without,
            true => with,
        }
    }
}

/// The number of warps that share 32 KB of shared memory, at most eight.
pub fn warps_for(words: u32) -> u32 {
    (8192 / words).clamp(1, WARPS_MAX)
}

/// Threads per block if each thread has an item: `BLOCK` of the kernels.
pub const BLOCK: u32 = 256;
pub const WARPS_MAX: u32 = 8;
