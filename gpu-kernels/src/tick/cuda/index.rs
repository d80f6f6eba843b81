//! Stage: entities sorted by bucket, and boxes by level and cell (thesis 3.5).

use std::mem::offset_of;

use device::gpu::sort::Sort;
use device::{DriverError, Kernel};
use shared::world::attribute::bits_for;

use super::launcher::{BLOCK, Launcher};
use super::layout::BoxIndex;
use super::merge::counter;
use super::world::{box_keys, box_numbers, index_keys, index_slots};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct IndexKernels {
        count: "index_count",
        collect: "index_collect",
        gather: "index_gather",
    }
}

impl Launcher<'_> {
    pub fn index(&self) -> Result<(), DriverError> {
        let (kernels, sizes) = (&self.kernels.index, self.sizes);
        self.items(kernels.count, sizes.capacity)?;
        self.items(kernels.collect, sizes.capacity)?;
        let sort = Sort {
            keys: index_keys(&self.world),
            values: index_slots(&self.world),
            n: counter(&self.tick, offset_of!(Counters, entities)),
            n_max: sizes.capacity,
            key_bits: bits_for(sizes.buckets - 1),
        };
        self.sorter.sort(self.device, &sort)?;
        self.items(kernels.gather, sizes.capacity.max(sizes.directory.len))?;
        if self.regions.of_entities == 0 {
            return Ok(());
        }
        let kernels = &self.kernels.regions;
        let published = [kernels.count, kernels.collect, kernels.gather];
        let number = offset_of!(Counters, published);
        self.index_boxes(published, &self.regions.published, number, sizes.carriers)
    }

    /// Collects boxes, sorts them and gathers them in order. `counter_offset` is that of
    /// the counter that says how many there are, at most `n_max`.
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
            n: counter(&self.tick, counter_offset),
            n_max,
            key_bits: self.sizes.box_key_bits,
        };
        self.sorter.sort(self.device, &sort)?;
        // At least a thread for each level.
        self.items(gather, n_max.max(u64::from(BLOCK)))
    }
}
