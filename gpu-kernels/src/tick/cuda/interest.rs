//! Stage: deliveries, which tell clients about entities (thesis 3.5).

use std::ops::Range;

use device::tuning::GPU_BLOCKS_FULL;
use device::{DriverError, Grid, Kernel};

use super::OutputForm;
use super::launcher::{Launcher, WARPS_MAX, warps_for};

device::kernels! {
    pub struct InterestKernels {
        ranges: "interest_ranges",
        see: "interest_see",
        changed_count: "interest_changed_count",
        changed_store: "interest_changed_store",
        crowd_see: "interest_crowd_see",
        large_see: "interest_large_see",
        large_crowd_see: "interest_large_crowd_see",
        regions_see: "interest_regions_see",
        large_regions_see: "interest_large_regions_see",
        regions_changed_count: "interest_regions_changed_count",
        regions_changed_store: "interest_regions_changed_store",
        partial: "interest_partial",
        offsets: "interest_offsets",
        compare: "interest_compare",
        large_compare: "interest_large_compare",
        order_count: "interest_order_count",
        order_store: "interest_order_store",
        bucket_ranges: "interest_bucket_ranges",
    }
}

impl InterestKernels {
    /// Counts each client's deliveries.
    pub fn count(&self, run: &mut Launcher, form: OutputForm) -> Result<(), DriverError> {
        if form == OutputForm::Ranges {
            return self.by_buckets(run);
        }
        let own = run.tick.own_first..run.tick.own_end;
        let clients = own.len() as u64;
        let observers = clients * u64::from(run.world.observers_per_client);
        run.items(self.ranges, observers * u64::from(run.world.rows_max))?;
        if run.world.visible_max > 0 {
            if run.sizes.large_views > 0 {
                let kernel = run.either(self.large_see, self.large_regions_see);
                run.clients(kernel, own, LARGE_WARPS, 256)?;
                self.see_crowds(run, self.large_crowd_see, LARGE_WARPS, 256)?;
            } else {
                let words = 256 + run.world.view_places + run.world.visible_max;
                let kernel = run.either(self.see, self.regions_see);
                run.clients(kernel, own, warps_for(words), words)?;
                self.see_crowds(run, self.crowd_see, warps_for(words), words)?;
            }
        } else {
            let kernel = run.either(self.changed_count, self.regions_changed_count);
            let blocks = (own.len() as u32).div_ceil(WARPS_MAX);
            let resident = GPU_BLOCKS_FULL * run.device.multiprocessors();
            run.grid(kernel, Grid::blocks(blocks.min(resident), WARPS_MAX * 32))?;
        }
        run.items(self.partial, clients)
    }

    /// Computes where each client's deliveries start.
    pub fn offsets(&self, run: &Launcher) -> Result<(), DriverError> {
        let clients = run.tick.own_end - run.tick.own_first;
        run.items(self.offsets, u64::from(clients))
    }

    /// Finds what clients in a crowd see.
    fn see_crowds(
        &self,
        run: &mut Launcher,
        kernel: Kernel,
        warps: u32,
        words: u32,
    ) -> Result<(), DriverError> {
        if run.world.crowds == 0 {
            return Ok(());
        }
        let resident = RESIDENT_WARPS / warps * run.device.multiprocessors();
        let own = run.tick.own_first..run.tick.own_end;
        run.clients_by(kernel, own, warps, words, resident)
    }

    /// Finds the deliveries in the ranges form.
    fn by_buckets(&self, run: &Launcher) -> Result<(), DriverError> {
        let places = u64::from(run.world.capacity) + 1;
        run.items(self.order_count, places)?;
        run.items(self.order_store, places)?;
        let rows = u64::from(run.tick.own_end) * u64::from(run.world.rows_max);
        run.items(self.bucket_ranges, rows)
    }

    /// Stores the deliveries of a chunk's clients.
    pub fn store(&self, run: &mut Launcher, chunk: Range<u32>) -> Result<(), DriverError> {
        if run.sizes.large_views > 0 {
            run.clients(self.large_compare, chunk, LARGE_WARPS, 0)
        } else if run.world.visible_max > 0 {
            let words = 4 * run.world.visible_max;
            run.clients(self.compare, chunk, warps_for(words), words)
        } else {
            let kernel = run.either(self.changed_store, self.regions_changed_store);
            run.clients(kernel, chunk, WARPS_MAX, 0)
        }
    }
}

/// Warps of a block where views are large: a warp is busy for long, so blocks are small, to
/// spread few clients over all multiprocessors.
const LARGE_WARPS: u32 = 1;
/// Warps of a multiprocessor that loop over clients: more than fit at once, so that none is idle
/// for long at the end.
const RESIDENT_WARPS: u32 = 128;
