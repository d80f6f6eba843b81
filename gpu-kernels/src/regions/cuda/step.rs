//! A step on the device: these lists of launches are it. A launch takes longer than
//! most kernels do in a small step, so there are as few of them as possible.

use std::ffi::c_void;
use std::mem::offset_of;

use super::layout::{Counters, World};
use super::plan::Sorts;
use crate::cuda::device::{Device, DriverError, Grid, Kernel};
use crate::cuda::layout::Pointer;
use crate::cuda::sort::{Sort, Sorter};

/// The kernels for one number of dimensions.
pub struct Kernels {
    empty: Kernel,
    take_in: Kernel,
    enlist: Kernel,
    keys: Kernel,
    gather: Kernel,
    find: Kernel,
    find_rest: Kernel,
    tiles: Kernel,
    cells: CellsKernels,
    give: Kernel,
}

struct CellsKernels {
    measure: Kernel,
    count: Kernel,
    store: Kernel,
    lists: Kernel,
    find: Kernel,
}

impl Kernels {
    pub fn load(device: &Device, dimensions: usize) -> Result<Kernels, DriverError> {
        let kernel = |name: &str| device.kernel(&format!("regions_{name}_{dimensions}"));
        Ok(Kernels {
            empty: kernel("empty")?,
            take_in: kernel("take_in")?,
            enlist: kernel("enlist")?,
            keys: kernel("keys")?,
            gather: kernel("gather")?,
            find: kernel("find")?,
            find_rest: kernel("find_rest")?,
            tiles: kernel("tiles")?,
            cells: CellsKernels {
                measure: kernel("cells_measure")?,
                count: kernel("cells_count")?,
                store: kernel("cells_store")?,
                lists: device.kernel("regions_cells_lists")?,
                find: kernel("cells_find")?,
            },
            give: kernel("give")?,
        })
    }
}

/// What a step's launches share.
pub struct Work<'a> {
    pub device: &'a Device,
    pub kernels: &'a Kernels,
    pub sorter: &'a Sorter,
    pub sorts: Sorts,
    pub world: World,
}

/// How many regions of each side are updated, and how many stay.
#[derive(Clone, Copy)]
pub struct Counts {
    pub updated: [u32; 2],
    pub still: [u32; 2],
}

impl Work<'_> {
    /// All regions are nowhere.
    pub fn empty(&mut self) -> Result<(), DriverError> {
        self.items(self.kernels.empty, self.world.capacity.into(), &[])
    }

    /// From uploaded updates to entries, with a check of all of them.
    pub fn take_in(&mut self) -> Result<(), DriverError> {
        self.clear_counters()?;
        self.items(self.kernels.take_in, self.world.updates.into(), &[])
    }

    /// All regions become entries.
    pub fn enlist(&mut self) -> Result<(), DriverError> {
        self.clear_counters()?;
        self.items(self.kernels.enlist, 2 * u64::from(self.world.capacity), &[])
    }

    fn clear_counters(&self) -> Result<(), DriverError> {
        let bytes = size_of::<Counters>() as u64;
        self.device.fill(self.world.counters, bytes, 0)
    }

    /// The layout that `take_in` makes fits keys of [`World::key_bits`].
    pub fn size_keys(&mut self, updates: u64) {
        self.world.key_bits = key_bits(updates);
        self.world.raw_keys = self.sorts.keys.start(self.world.key_bits);
        self.world.raw_entries = self.sorts.entries.start(self.world.key_bits);
    }

    /// Our approach. Publications are sorted too: in order, those that look up the
    /// same places run together.
    pub fn sorted(&mut self, counts: Counts) -> Result<(), DriverError> {
        let Counts { updated, still } = counts;
        let entries_max = 2 * (u64::from(updated[0]) + u64::from(updated[1]));
        if entries_max > 0 {
            self.items(self.kernels.keys, entries_max, &[])?;
            self.sort(offset_of!(Counters, entries), entries_max)?;
            // As many threads as there are keys, too.
            self.items(self.kernels.gather, 2 * entries_max + KEYS_MORE, &[])?;
        }
        let capacity = u64::from(self.world.capacity);
        let blocks = |asks: bool, queries: u64| match asks {
            true => queries.div_ceil(BLOCK.into()) as u32,
            false => 0,
        };
        let sorted = blocks(updated[1] > 0, 2 * u64::from(updated[0]));
        let publications = blocks(still[0] > 0 && updated[1] > 0, capacity);
        let subscriptions = blocks(still[1] > 0 && updated[0] > 0, capacity);
        self.launch(
            self.kernels.find,
            sorted + publications + subscriptions,
            &[sorted, publications],
        )?;
        self.launch(self.kernels.find_rest, BLOCKS_SHARING, &[])
    }

    /// The paper's region-based approach.
    pub fn tiles(&mut self, counts: Counts) -> Result<(), DriverError> {
        let mut blocks = counts.updated.map(|n| n.div_ceil(BLOCK));
        // Updated publications have found all updated subscriptions.
        if counts.still[0] == 0 {
            blocks[1] = 0;
        }
        let slices_max = self.world.capacity.div_ceil(BLOCK);
        let sharing = BLOCKS_SHARING.div_ceil((blocks[0] + blocks[1]).max(1));
        let slices = sharing.min(slices_max);
        let publications = blocks[0] * slices;
        self.launch(
            self.kernels.tiles,
            publications + blocks[1] * slices,
            &[publications, slices, slices],
        )
    }

    /// The paper's grid-based approach.
    pub fn cells(&mut self) -> Result<(), DriverError> {
        let records_max = u64::from(self.world.records_max);
        self.world.key_bits = u32::BITS - (2 * self.world.cells_max - 1).leading_zeros();
        self.world.raw_keys = self.sorts.keys.start(self.world.key_bits);
        self.world.raw_entries = self.sorts.entries.start(self.world.key_bits);
        let blocks = 2 * self.world.capacity.div_ceil(BLOCK);
        let cells = &self.kernels.cells;
        self.launch(cells.measure, blocks, &[])?;
        self.launch(cells.count, blocks, &[])?;
        self.launch(cells.store, blocks, &[])?;
        self.sort(offset_of!(Counters, records), records_max)?;
        self.launch(cells.lists, BLOCKS_SHARING, &[])?;
        let blocks = records_max.div_ceil(BLOCK.into()) as u32;
        self.launch(cells.find, blocks.min(4 * BLOCKS_SHARING), &[])
    }

    /// Sorts entries by key. Their number is one of the counters.
    fn sort(&self, counter: usize, n_max: u64) -> Result<(), DriverError> {
        self.sorter.sort(
            self.device,
            &Sort {
                wide_keys: false,
                keys: self.sorts.keys,
                values: self.sorts.entries,
                n: self.counter(counter),
                n_max,
                key_bits: self.world.key_bits,
            },
        )
    }

    /// Sorts what was found.
    pub fn order(&mut self, found_bits: u32) -> Result<(), DriverError> {
        self.sorter.sort_keys(
            self.device,
            self.sorts.found,
            self.counter(offset_of!(Counters, kept)),
            self.world.found_max,
            found_bits,
        )
    }

    /// Gives out pairs. The step is over, or did not happen.
    pub fn give(&mut self) -> Result<(), DriverError> {
        let items = self.world.found_max.max(self.world.updates.into());
        let blocks = items
            .div_ceil(BLOCK.into())
            .min(4 * u64::from(BLOCKS_SHARING));
        self.launch(self.kernels.give, blocks as u32, &[])
    }

    fn counter(&self, offset: usize) -> Pointer {
        self.world.counters + offset as u64
    }

    /// A thread for each item.
    fn items(&mut self, kernel: Kernel, items: u64, numbers: &[u32]) -> Result<(), DriverError> {
        self.launch(kernel, items.div_ceil(BLOCK.into()) as u32, numbers)
    }

    fn launch(&mut self, kernel: Kernel, blocks: u32, numbers: &[u32]) -> Result<(), DriverError> {
        let mut arguments = vec![(&raw mut self.world).cast::<c_void>()];
        arguments.extend(numbers.iter().map(|n| n as *const u32 as *mut c_void));
        let grid = Grid {
            blocks,
            threads: BLOCK,
            shared_bytes: 0,
        };
        self.device.launch(kernel, grid, &mut arguments)
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

const BLOCK: u32 = 256;
/// Keys that the layout may have beyond two for each entry.
const KEYS_MORE: u64 = 2 * 16 * 8 + 2;
/// Four blocks on each of a large GPU's multiprocessors.
const BLOCKS_SHARING: u32 = 132 * 4;
