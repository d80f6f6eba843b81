//! A step on the device: these lists of launches are it. A launch takes longer than
//! most kernels do in a small step, so there are as few of them as possible.

use std::mem::offset_of;
use std::sync::Arc;

use device::gpu::sort::{Sort, Sorter};
use device::tuning::GPU_BLOCKS_HALF;
use device::{Device, DriverError, Event, Grid, Kernel, Lane, Pointer};

use super::buffers::{entries, found, keys};
use super::costs::Counts;
use super::layout::{RegionsCounters, RegionsWorld};
use super::sizes::KEYS_MORE;
use crate::regions::output::{Approach, Metrics};

/// The kernels for one number of dimensions.
pub struct Kernels {
    empty: Kernel,
    apply: Kernel,
    enlist: Kernel,
    keys: Kernel,
    gather: Kernel,
    find: Kernel,
    find_rest: Kernel,
    tiles: Kernel,
    cells_measure: Kernel,
    cells_count: Kernel,
    cells_store: Kernel,
    cells_lists: Kernel,
    cells_find: Kernel,
    give: Kernel,
}

impl Kernels {
    pub fn load(device: &Device, dimensions: usize) -> Result<Kernels, DriverError> {
        let kernel = |name: &str| device.kernel(&format!("regions_{name}_{dimensions}"));
        Ok(Kernels {
            empty: kernel("empty")?,
            apply: kernel("apply")?,
            enlist: kernel("enlist")?,
            keys: kernel("keys")?,
            gather: kernel("gather")?,
            find: kernel("find")?,
            find_rest: kernel("find_rest")?,
            tiles: kernel("tiles")?,
            cells_measure: kernel("cells_measure")?,
            cells_count: kernel("cells_count")?,
            cells_store: kernel("cells_store")?,
            cells_lists: device.kernel("regions_cells_lists")?,
            cells_find: kernel("cells_find")?,
            give: kernel("give")?,
        })
    }
}

/// The state that a step's launches share.
pub struct Launcher {
    pub kernels: Kernels,
    pub sorter: Sorter,
    pub world: RegionsWorld,
    /// Bits of a found pair.
    pub found_bits: u32,
    /// Before the first stage, and after each that runs on the device.
    pub marks: [Event; Metrics::STAGES.len() + 1],
    pub device: Arc<Device>,
}

impl Launcher {
    /// All regions are nowhere.
    pub fn empty(&self) -> Result<(), DriverError> {
        self.items(self.kernels.empty, self.world.capacity.into())
    }

    /// From uploaded updates to entries, with a check of all of them.
    pub fn apply(&mut self) -> Result<(), DriverError> {
        self.size_keys(self.world.updates.into());
        self.clear_counters()?;
        self.items(self.kernels.apply, self.world.updates.into())
    }

    /// All regions, of which there are so many, become entries.
    pub fn enlist(&mut self, regions: u64) -> Result<(), DriverError> {
        self.size_keys(regions);
        self.clear_counters()?;
        self.items(self.kernels.enlist, 2 * u64::from(self.world.capacity))
    }

    /// From entries to pairs, which it leaves with the host.
    pub fn finish(&mut self, approach: Approach, counts: Counts) -> Result<(), DriverError> {
        self.mark(1)?;
        match approach {
            Approach::Tiles => self.tiles(counts)?,
            Approach::Cells => self.cells()?,
            Approach::Auto | Approach::Sorted => self.sorted(counts)?,
        }
        self.mark(2)?;
        self.order()?;
        self.mark(3)?;
        self.give()?;
        self.mark(4)
    }

    /// Marks the end of a stage; 0 is the beginning of the first.
    pub fn mark(&self, stage: usize) -> Result<(), DriverError> {
        self.device.record(Lane::Work, &self.marks[stage])
    }

    fn clear_counters(&self) -> Result<(), DriverError> {
        self.device.fill(self.world.counters, 1, 0)
    }

    /// The layout that is made of so many updates fits keys of
    /// [`RegionsWorld::key_bits`].
    fn size_keys(&mut self, updates: u64) {
        self.set_key_bits(key_bits(updates));
    }

    fn set_key_bits(&mut self, bits: u32) {
        self.world.key_bits = bits;
        self.world.raw_keys = keys(&self.world).given(bits);
        self.world.raw_entries = entries(&self.world).given(bits);
    }

    /// Our approach. Publications are sorted too: in order, those that look up the
    /// same places run together.
    fn sorted(&self, counts: Counts) -> Result<(), DriverError> {
        let Counts { updated, still } = counts;
        let entries_max = 2 * (u64::from(updated[0]) + u64::from(updated[1]));
        if entries_max > 0 {
            self.items(self.kernels.keys, entries_max)?;
            self.sort(offset_of!(RegionsCounters, entries), entries_max)?;
            // As many threads as there are keys, too.
            self.items(self.kernels.gather, 2 * entries_max + KEYS_MORE)?;
        }
        let capacity = u64::from(self.world.capacity);
        let blocks = |asks: bool, queries: u64| match asks {
            true => queries.div_ceil(BLOCK.into()) as u32,
            false => 0,
        };
        let sorted = blocks(updated[1] > 0, 2 * u64::from(updated[0]));
        let publications = blocks(still[0] > 0 && updated[1] > 0, capacity);
        let subscriptions = blocks(still[1] > 0 && updated[0] > 0, capacity);
        let all = sorted + publications + subscriptions;
        self.launch(self.kernels.find, all, [sorted, publications, 0])?;
        self.blocks(self.kernels.find_rest, self.blocks_sharing())
    }

    /// The paper's region-based approach.
    fn tiles(&self, counts: Counts) -> Result<(), DriverError> {
        let mut blocks = counts.updated.map(|n| n.div_ceil(BLOCK));
        // Updated publications have found all updated subscriptions.
        if counts.still[0] == 0 {
            blocks[1] = 0;
        }
        let slices_max = self.world.capacity.div_ceil(BLOCK);
        let sharing = self
            .blocks_sharing()
            .div_ceil((blocks[0] + blocks[1]).max(1));
        let slices = sharing.min(slices_max);
        let publications = blocks[0] * slices;
        let all = publications + blocks[1] * slices;
        self.launch(self.kernels.tiles, all, [publications, slices, slices])
    }

    /// The paper's grid-based approach.
    fn cells(&mut self) -> Result<(), DriverError> {
        let records_max = u64::from(self.world.records_max);
        self.set_key_bits(u32::BITS - (2 * self.world.cells_max - 1).leading_zeros());
        let blocks = 2 * self.world.capacity.div_ceil(BLOCK);
        self.blocks(self.kernels.cells_measure, blocks)?;
        self.blocks(self.kernels.cells_count, blocks)?;
        self.blocks(self.kernels.cells_store, blocks)?;
        self.sort(offset_of!(RegionsCounters, records), records_max)?;
        self.blocks(self.kernels.cells_lists, self.blocks_sharing())?;
        let blocks = records_max.div_ceil(BLOCK.into()) as u32;
        self.blocks(
            self.kernels.cells_find,
            blocks.min(4 * self.blocks_sharing()),
        )
    }

    /// Sorts entries by key. Their number is one of the counters.
    fn sort(&self, counter: usize, n_max: u64) -> Result<(), DriverError> {
        let sort = Sort {
            keys: keys(&self.world),
            values: entries(&self.world),
            n: self.counter(counter),
            n_max,
            key_bits: self.world.key_bits,
        };
        self.sorter.sort(&self.device, &sort)
    }

    /// Sorts what was found.
    fn order(&self) -> Result<(), DriverError> {
        let n = self.counter(offset_of!(RegionsCounters, kept));
        let (found, n_max) = (found(&self.world), self.world.found_max);
        self.sorter
            .sort_keys(&self.device, found, n, n_max, self.found_bits)
    }

    /// Gives out pairs. The step is over, or did not happen.
    fn give(&self) -> Result<(), DriverError> {
        let items = self.world.found_max.max(self.world.updates.into());
        let blocks_max = 4 * u64::from(self.blocks_sharing());
        let blocks = items.div_ceil(BLOCK.into()).min(blocks_max);
        self.blocks(self.kernels.give, blocks as u32)
    }

    fn counter(&self, offset: usize) -> Pointer<u64> {
        Pointer::new(self.world.counters.0 + offset as u64)
    }

    /// Blocks that share all work.
    fn blocks_sharing(&self) -> u32 {
        GPU_BLOCKS_HALF * self.device.multiprocessors()
    }

    /// A thread for each item.
    fn items(&self, kernel: Kernel, items: u64) -> Result<(), DriverError> {
        self.blocks(kernel, items.div_ceil(BLOCK.into()) as u32)
    }

    fn blocks(&self, kernel: Kernel, blocks: u32) -> Result<(), DriverError> {
        self.launch(kernel, blocks, [0; 3])
    }

    /// `numbers` are what a kernel takes beside the world; it may take fewer.
    #[allow(unsafe_code)]
    fn launch(&self, kernel: Kernel, blocks: u32, numbers: [u32; 3]) -> Result<(), DriverError> {
        let operands = (self.world, numbers[0], numbers[1], numbers[2]);
        // SAFETY: all kernels of `regions*.cu` take a world and up to three numbers. Its
        // buffers are those that `Buffers` placed for the sizes in it, by which kernels
        // bound what they access. `output` is a host buffer as long as `found_max`, which
        // the host reads after the step.
        unsafe {
            self.device
                .launch(kernel, Grid::blocks(blocks, BLOCK), &operands)
        }
    }
}

/// Whole passes of the sort, and about two cells for each entry.
fn key_bits(updates: u64) -> u32 {
    match updates {
        0..=32_768 => 16,
        32_769..=8_388_608 => 24,
        _ => 32,
    }
}

/// Threads of a block: `BLOCK` of the kernels.
const BLOCK: u32 = 256;
