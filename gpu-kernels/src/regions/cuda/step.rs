//! A step on the device: these lists of launches are it.

use std::ffi::c_void;
use std::mem::offset_of;

use super::layout::{Counters, World};
use super::plan::Spare;
use crate::cuda::device::{Device, DriverError, Grid, Kernel};
use crate::cuda::sort::{Doubled, Sort, Sorter};

/// The kernels for one number of dimensions.
pub struct Kernels {
    empty: Kernel,
    check: Kernel,
    apply: Kernel,
    enlist: Kernel,
    layout: Kernel,
    keys: Kernel,
    gather: Kernel,
    find: Kernel,
    find_wide: Kernel,
    find_long: Kernel,
    tiles: Kernel,
    keep: Kernel,
    give: Kernel,
    settle: Kernel,
}

impl Kernels {
    pub fn load(device: &Device, dimensions: usize) -> Result<Kernels, DriverError> {
        let kernel = |name: &str| device.kernel(&format!("regions_{name}_{dimensions}"));
        Ok(Kernels {
            empty: kernel("empty")?,
            check: kernel("check")?,
            apply: kernel("apply")?,
            enlist: kernel("enlist")?,
            layout: kernel("layout")?,
            keys: kernel("keys")?,
            gather: kernel("gather")?,
            find: kernel("find")?,
            find_wide: kernel("find_wide")?,
            find_long: kernel("find_long")?,
            tiles: kernel("tiles")?,
            keep: device.kernel("regions_keep")?,
            give: device.kernel("regions_give")?,
            settle: kernel("settle")?,
        })
    }
}

/// What a step's launches share.
pub struct Work<'a> {
    pub device: &'a Device,
    pub kernels: &'a Kernels,
    pub sorter: &'a Sorter,
    pub world: World,
    pub spare: Spare,
}

impl Work<'_> {
    /// All regions are nowhere.
    pub fn empty(&mut self) -> Result<(), DriverError> {
        self.items(self.kernels.empty, self.world.capacity.into(), &[])
    }

    /// From uploaded updates to entries, with a check of all of them before.
    pub fn take_in(&mut self) -> Result<(), DriverError> {
        self.clear_counters()?;
        let updates = u64::from(self.world.updates);
        self.items(self.kernels.check, updates, &[])?;
        self.items(self.kernels.apply, updates, &[])
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

    /// Our approach, for at most so many updated regions of each side.
    pub fn sorted(&mut self, updated: [u32; 2], still: [u32; 2]) -> Result<(), DriverError> {
        self.launch(self.kernels.layout, 2, 32, &[])?;
        // Publications have to be sorted for their own sake too: in order, those
        // that look up the same places run together.
        for (side, &updated) in updated.iter().enumerate() {
            self.index(side, 2 * u64::from(updated))?;
        }
        let capacity = u64::from(self.world.capacity);
        if updated[0] > 0 && updated[1] > 0 {
            let entries = 2 * u64::from(updated[0]);
            self.items(self.kernels.find, entries, &[QUERY_SORTED])?;
        }
        if still[0] > 0 && updated[1] > 0 {
            self.items(self.kernels.find, capacity, &[QUERY_PUBLICATION])?;
        }
        if still[1] > 0 && updated[0] > 0 {
            self.items(self.kernels.find, capacity, &[QUERY_SUBSCRIPTION])?;
        }
        self.launch(self.kernels.find_wide, BLOCKS_SHARING, BLOCK, &[])?;
        self.launch(self.kernels.find_long, BLOCKS_SHARING, BLOCK, &[])
    }

    /// Sorts one side's entries, of which there are at most so many.
    fn index(&mut self, side: usize, entries_max: u64) -> Result<(), DriverError> {
        if entries_max == 0 {
            return Ok(());
        }
        let number = side as u32;
        self.items(self.kernels.keys, entries_max, &[number])?;
        let entries = offset_of!(Counters, entries) as u64 + 8 * side as u64;
        let doubled = |first, second| Doubled { first, second };
        self.sorter.sort(
            self.device,
            &Sort {
                wide_keys: false,
                keys: doubled(self.world.keys[side], self.spare.keys[side]),
                values: doubled(self.world.entries[side], self.spare.entries[side]),
                n: self.world.counters + entries,
                n_max: entries_max,
                key_bits: self.world.key_bits,
            },
        )?;
        // As many threads as there are runs in the directory, too.
        self.items(self.kernels.gather, 2 * entries_max + 66, &[number])
    }

    /// The paper's region-based approach.
    pub fn tiles(&mut self, updated: [u32; 2], still: [u32; 2]) -> Result<(), DriverError> {
        for (side, &updated) in updated.iter().enumerate() {
            // Updated publications have found all updated subscriptions.
            if side == 1 && still[0] == 0 {
                break;
            }
            let blocks = updated.div_ceil(BLOCK);
            let slices_max = self.world.capacity.div_ceil(BLOCK);
            let slices = BLOCKS_SHARING.div_ceil(blocks.max(1)).min(slices_max);
            self.launch(
                self.kernels.tiles,
                blocks * slices,
                BLOCK,
                &[side as u32, slices],
            )?;
        }
        Ok(())
    }

    /// Sorts what was found, and turns it into pairs.
    pub fn order(&mut self) -> Result<(), DriverError> {
        self.launch(self.kernels.keep, 1, 1, &[])?;
        self.sorter.sort_keys(
            self.device,
            Doubled {
                first: self.world.sorted,
                second: self.spare.found,
            },
            self.world.counters + offset_of!(Counters, kept) as u64,
            self.world.found_max,
            2 * self.world.number_bits + 1,
        )?;
        let blocks = (self.world.found_max as u32)
            .div_ceil(BLOCK)
            .min(BLOCKS_SHARING);
        self.launch(self.kernels.give, blocks, BLOCK, &[])
    }

    /// The step is over, or did not happen.
    pub fn settle(&mut self) -> Result<(), DriverError> {
        self.items(self.kernels.settle, self.world.updates.into(), &[])
    }

    /// A thread for each item.
    fn items(&mut self, kernel: Kernel, items: u64, numbers: &[u32]) -> Result<(), DriverError> {
        let blocks = items.div_ceil(BLOCK.into()) as u32;
        self.launch(kernel, blocks, BLOCK, numbers)
    }

    fn launch(
        &mut self,
        kernel: Kernel,
        blocks: u32,
        threads: u32,
        numbers: &[u32],
    ) -> Result<(), DriverError> {
        let mut arguments = vec![(&raw mut self.world).cast::<c_void>()];
        arguments.extend(numbers.iter().map(|n| n as *const u32 as *mut c_void));
        let grid = Grid {
            blocks,
            threads,
            shared_bytes: 0,
        };
        self.device.launch(kernel, grid, &mut arguments)
    }
}

/// Whose queries, as `kernels/regions.cuh` numbers them.
const QUERY_SORTED: u32 = 0;
const QUERY_PUBLICATION: u32 = 1;
const QUERY_SUBSCRIPTION: u32 = 2;
const BLOCK: u32 = 256;
/// Four blocks on each of a large GPU's multiprocessors.
const BLOCKS_SHARING: u32 = 132 * 4;
