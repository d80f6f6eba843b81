//! Stage: deliveries, or which client must hear of which entity (thesis 3.5).

use std::ops::Range;

use device::tuning::GPU_BLOCKS_FULL;
use device::{DriverError, Grid};

use super::OutputForm;
use super::launcher::{Launcher, WARPS_MAX, warps_for};

device::kernels! {
    pub struct InterestKernels {
        ranges: "interest_ranges",
        see: "interest_see",
        changed_count: "interest_changed_count",
        changed_store: "interest_changed_store",
        regions_see: "interest_regions_see",
        regions_changed_count: "interest_regions_changed_count",
        regions_changed_store: "interest_regions_changed_store",
        partial: "interest_partial",
        offsets: "interest_offsets",
        compare: "interest_compare",
        order_count: "interest_order_count",
        order_store: "interest_order_store",
        bucket_ranges: "interest_bucket_ranges",
    }
}

impl Launcher<'_> {
    /// Counts each client's deliveries, and finds where they will stand.
    pub fn count_deliveries(&mut self, form: OutputForm) -> Result<(), DriverError> {
        let kernels = self.kernels.interest;
        if form == OutputForm::Ranges {
            return self.bucket_ranges();
        }
        let clients = u64::from(self.tick.clients_used);
        let observers = clients * u64::from(self.world.observers_per_client);
        self.items(kernels.ranges, observers * u64::from(self.world.rows_max))?;
        if self.world.visible_max > 0 {
            let words = self.world.view_places + 256 + self.world.visible_max;
            let all = 0..self.tick.clients_used;
            let kernel = self.either(kernels.see, kernels.regions_see);
            self.clients(kernel, all, warps_for(words), words)?;
        } else {
            let kernel = self.either(kernels.changed_count, kernels.regions_changed_count);
            let blocks = self.tick.clients_used.div_ceil(WARPS_MAX);
            let resident = GPU_BLOCKS_FULL * self.device.multiprocessors();
            self.grid(kernel, Grid::blocks(blocks.min(resident), WARPS_MAX * 32))?;
        }
        self.items(kernels.partial, clients)?;
        self.items(kernels.offsets, clients)
    }

    /// The deliveries in the ranges form.
    fn bucket_ranges(&self) -> Result<(), DriverError> {
        let kernels = &self.kernels.interest;
        let places = u64::from(self.world.capacity) + 1;
        self.items(kernels.order_count, places)?;
        self.items(kernels.order_store, places)?;
        let rows = u64::from(self.tick.clients_used) * u64::from(self.world.rows_max);
        self.items(kernels.bucket_ranges, rows)
    }

    /// Stores the deliveries of a chunk's clients.
    pub fn store_deliveries(&mut self, chunk: Range<u32>) -> Result<(), DriverError> {
        let kernels = self.kernels.interest;
        if self.world.visible_max > 0 {
            let words = 4 * self.world.visible_max;
            self.clients(kernels.compare, chunk, warps_for(words), words)
        } else {
            let kernel = self.either(kernels.changed_store, kernels.regions_changed_store);
            self.clients(kernel, chunk, WARPS_MAX, 0)
        }
    }
}
