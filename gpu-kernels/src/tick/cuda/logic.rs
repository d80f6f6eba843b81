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

impl LogicKernels {
    pub fn run(&self, run: &mut Launcher, counts: &FrameCounts) -> Result<(), DriverError> {
        run.items(self.count, counts.commands_max)?;
        if run.world.timed_max > 0 {
            run.items(self.after, counts.commands_max)?;
        }
        if run.world.notifications_max > 0 {
            run.items(self.notify, counts.commands_max)?;
        }
        let (keys, values) = (update_keys(&run.world), update_values(&run.world));
        // Updates are stored where the sort reads them, and read where it writes them.
        run.world.keys = keys.given(run.world.key_bits);
        run.world.values = values.given(run.world.key_bits);
        if counts.updates_max > 0 {
            run.items(self.store, counts.commands_max)?;
        }
        run.world.keys = keys.first;
        run.world.values = values.first;
        Ok(())
    }
}
