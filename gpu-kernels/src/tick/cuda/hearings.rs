//! Which notifications each client hears.

use std::mem::offset_of;

use device::DriverError;

use super::launcher::{Launcher, warps_for};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct HearingsKernels {
        count: "hearings_count",
        collect: "hearings_collect",
        gather: "hearings_gather",
        hear: "hearings_hear",
        partial: "hearings_partial",
        offsets: "hearings_offsets",
        store: "hearings_store",
    }
}

impl Launcher<'_> {
    /// Nothing in worlds without notifications.
    pub fn hearings(&mut self) -> Result<(), DriverError> {
        if self.world.notifications_max == 0 {
            return Ok(());
        }
        let kernels = self.kernels.hearings;
        let areas = [kernels.count, kernels.collect, kernels.gather];
        let number = offset_of!(Counters, areas);
        self.index_boxes(areas, &self.regions.areas, number, self.sizes.notifications)?;
        let words = self.regions.hearing_places + 256;
        let clients = self.tick.clients_used;
        self.clients(kernels.hear, 0..clients, warps_for(words), words)?;
        self.items(kernels.partial, u64::from(clients))?;
        self.items(kernels.offsets, u64::from(clients))?;
        // A warp for each client.
        self.items(kernels.store, u64::from(clients) * 32)
    }
}
