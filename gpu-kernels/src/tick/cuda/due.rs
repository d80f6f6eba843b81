//! Stage: applying the frame, and adding timed commands and those of world rules.

use device::{DriverError, Grid};

use super::launcher::Launcher;
use super::regions::RegionsKernels;

device::kernels! {
    pub struct DueKernels {
        take_in: "take_in",
        timed_count: "due_timed_count",
        timed_store: "due_timed_store",
        put_off: "due_put_off",
        rules_count: "due_count",
        rules_store: "due_store",
        end: "due_end",
    }
}

impl DueKernels {
    /// Applies the frame's changes of observers, clients, slots and regions.
    pub fn take_in(&self, run: &Launcher, regions: &RegionsKernels) -> Result<(), DriverError> {
        let tick = &run.tick;
        let items = tick
            .frame_commands
            .max(tick.observer_sets)
            .max(tick.forgets)
            .max(tick.releases);
        run.items(self.take_in, u64::from(items))?;
        run.items(regions.take_in, u64::from(tick.region_sets))
    }

    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        let timed = u64::from(run.world.timed_max);
        run.items(self.timed_count, timed)?;
        run.items(self.timed_store, timed)?;
        run.items(self.put_off, u64::from(run.tick.afters))?;
        if run.world.rules > 0 {
            let items = u64::from(run.world.rules) * u64::from(run.world.capacity);
            run.items(self.rules_count, items)?;
            run.items(self.rules_store, items)?;
        }
        run.grid(self.end, Grid::blocks(1, 1))
    }
}
