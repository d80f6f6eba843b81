//! Hearings: the notifications that each client hears.

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

impl HearingsKernels {
    /// Finds the hearings; does nothing in worlds without notifications.
    pub fn run(&self, run: &mut Launcher) -> Result<(), DriverError> {
        if run.world.notifications_max == 0 {
            return Ok(());
        }
        let areas = [self.count, self.collect, self.gather];
        let number = offset_of!(Counters, areas);
        run.index_boxes(areas, &run.regions.areas, number, run.sizes.notifications)?;
        let words = run.regions.hearing_places + 256;
        let own = run.tick.own_first..run.tick.own_end;
        let clients = own.len() as u64;
        run.clients(self.hear, own, warps_for(words), words)?;
        run.items(self.partial, clients)?;
        run.items(self.offsets, clients)?;
        // A warp for each client.
        run.items(self.store, clients * 32)
    }
}
