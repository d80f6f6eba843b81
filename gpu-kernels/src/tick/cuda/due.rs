//! Stage: the frame's beginning, and the commands that fall due by themselves.

use device::{DriverError, Grid};

use super::launcher::Launcher;

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

impl Launcher<'_> {
    /// What the frame says of observers, clients, slots and regions.
    pub fn take_in(&self) -> Result<(), DriverError> {
        let tick = &self.tick;
        let items = tick
            .frame_commands
            .max(tick.observer_sets)
            .max(tick.forgets)
            .max(tick.releases);
        self.items(self.kernels.due.take_in, u64::from(items))?;
        self.items(self.kernels.regions.take_in, u64::from(tick.region_sets))
    }

    pub fn due(&self) -> Result<(), DriverError> {
        let kernels = &self.kernels.due;
        let timed = u64::from(self.world.timed_max);
        self.items(kernels.timed_count, timed)?;
        self.items(kernels.timed_store, timed)?;
        self.items(kernels.put_off, u64::from(self.tick.afters))?;
        if self.world.rules > 0 {
            let items = u64::from(self.world.rules) * u64::from(self.world.capacity);
            self.items(kernels.rules_count, items)?;
            self.items(kernels.rules_store, items)?;
        }
        self.grid(kernels.end, Grid::blocks(1, 1))
    }
}
