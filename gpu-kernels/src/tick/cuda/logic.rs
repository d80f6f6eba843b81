//! Stage: commands to updates, by count, scan and store (thesis 3.3).

use device::DriverError;

use super::launcher::Launcher;
use super::upload::FrameCounts;
use super::world::{update_keys, update_values};

device::kernels! {
    pub struct LogicKernels {
        count: "logic_count",
        after: "logic_after",
        notify: "logic_notify",
        store: "logic_store",
    }
}

impl Launcher<'_> {
    pub fn logic(&mut self, counts: &FrameCounts) -> Result<(), DriverError> {
        let kernels = &self.kernels.logic;
        self.items(kernels.count, counts.commands_max)?;
        if self.world.timed_max > 0 {
            self.items(kernels.after, counts.commands_max)?;
        }
        if self.world.notifications_max > 0 {
            self.items(kernels.notify, counts.commands_max)?;
        }
        let (keys, values) = (update_keys(&self.world), update_values(&self.world));
        // Updates are stored where the sort wants them, and read where it leaves them.
        self.world.keys = keys.given(self.world.key_bits);
        self.world.values = values.given(self.world.key_bits);
        if counts.updates_max > 0 {
            self.items(kernels.store, counts.commands_max)?;
        }
        self.world.keys = keys.first;
        self.world.values = values.first;
        Ok(())
    }
}
