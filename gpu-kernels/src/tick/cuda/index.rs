//! Stage: entities sorted by bucket, and boxes by level and cell (thesis 3.5).

use std::mem::offset_of;

use device::gpu::sort::Sort;
use device::{DriverError, Grid};
use shared::world::attribute::bits_for;

use super::launcher::Launcher;
use super::regions::RegionsKernels;
use super::world::{index_keys, index_slots};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct IndexKernels {
        count: "index_count",
        collect: "index_collect",
        gather: "index_gather",
        crowds: "index_crowds",
    }
}

impl IndexKernels {
    pub fn run(&self, run: &Launcher, regions: &RegionsKernels) -> Result<(), DriverError> {
        let sizes = run.sizes;
        run.items(self.count, sizes.capacity)?;
        run.items(self.collect, sizes.capacity)?;
        let sort = Sort {
            keys: index_keys(&run.world),
            values: index_slots(&run.world),
            n: run.counter(offset_of!(Counters, entities)),
            n_max: sizes.capacity,
            key_bits: bits_for(sizes.buckets - 1),
        };
        run.sorter.sort(run.device, &sort)?;
        run.items(self.gather, sizes.capacity.max(sizes.directory.len))?;
        if run.world.crowds > 0 {
            run.grid(self.crowds, Grid::blocks(run.world.crowds, CROWD_THREADS))?;
        }
        if run.regions.of_entities == 0 {
            return Ok(());
        }
        let published = [regions.count, regions.collect, regions.gather];
        let number = offset_of!(Counters, published);
        run.index_boxes(published, &run.regions.published, number, sizes.carriers)
    }
}

/// As many as the largest block has: few buckets are crowded, and each has a block.
const CROWD_THREADS: u32 = 1024;
