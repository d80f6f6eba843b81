//! The borders of zones: `kernels/tick/zones.cu`, as a part of the stage that sorts.

use std::mem::{offset_of, swap};

use device::{DriverError, Grid};

use super::launcher::Launcher;
use crate::tick::counts::Counters;

device::kernels! {
    pub struct ZoneKernels {
        count: "zones_count",
        collect: "zones_collect",
        gather: "zones_gather",
        cross_count: "zones_cross_count",
        cross_store: "zones_cross_store",
        keep: "zones_keep",
        end: "zones_end",
    }
}

impl ZoneKernels {
    /// Schedules the hooks of those that crossed a border.
    pub fn run(&self, run: &mut Launcher, are_placed: &mut bool) -> Result<(), DriverError> {
        if run.sizes.zones == 0 {
            return Ok(());
        }
        self.place(run, are_placed)?;
        let slots = run.sizes.capacity;
        if run.world.zoned > 1 {
            run.items(self.cross_count, slots)?;
            run.items(self.cross_store, slots)?;
        }
        run.items(self.keep, slots)?;
        run.grid(self.end, Grid::blocks(1, 1))?;
        self.end_tick(run);
        Ok(())
    }

    /// Begins with a restored state.
    pub fn begin(&self, run: &mut Launcher, are_placed: &mut bool) -> Result<(), DriverError> {
        if run.sizes.zones == 0 {
            return Ok(());
        }
        self.place(run, are_placed)?;
        run.items(self.keep, run.sizes.capacity)?;
        self.end_tick(run);
        Ok(())
    }

    /// Sorts the zones as they are now.
    fn place(&self, run: &Launcher, are_placed: &mut bool) -> Result<(), DriverError> {
        if *are_placed && run.sizes.zones_carried == 0 {
            return Ok(());
        }
        *are_placed = true;
        let kernels = [self.count, self.collect, self.gather];
        let number = offset_of!(Counters, zones);
        run.index_boxes(
            kernels,
            &run.regions.zones_now,
            number,
            run.sizes.placed_zones(),
        )
    }

    fn end_tick(&self, run: &mut Launcher) {
        if run.sizes.zones_carried > 0 {
            let regions = &mut run.regions;
            swap(&mut regions.zones_now, &mut regions.zones_before);
            swap(&mut regions.placed_now, &mut regions.placed_before);
        }
    }
}
