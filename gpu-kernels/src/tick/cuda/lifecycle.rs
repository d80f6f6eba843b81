//! Stage: births and deaths.

use device::{DriverError, Grid};

use super::launcher::Launcher;
use super::upload::FrameCounts;

device::kernels! {
    pub struct LifecycleKernels {
        deaths: "lifecycle_deaths",
        fallen: "lifecycle_fallen",
        respawn: "lifecycle_respawn",
        timed: "lifecycle_timed",
        deaths_count: "lifecycle_deaths_count",
        deaths_store: "lifecycle_deaths_store",
        free_count: "lifecycle_free_count",
        free_store: "lifecycle_free_store",
        births_count: "lifecycle_births_count",
        births_store: "lifecycle_births_store",
    }
}

impl Launcher<'_> {
    pub fn lifecycle(&self, counts: &FrameCounts) -> Result<(), DriverError> {
        let kernels = &self.kernels.lifecycle;
        let slots = u64::from(self.world.capacity);
        if counts.births {
            // Before the deaths, whose slots are not for this tick's births.
            self.items(kernels.free_count, slots)?;
            self.items(kernels.free_store, slots)?;
            self.items(kernels.births_count, counts.commands_max)?;
            self.items(kernels.births_store, counts.commands_max)?;
            if self.regions.of_entities > 0 {
                self.items(self.kernels.regions.bear, counts.commands_max)?;
            }
        }
        if counts.deaths {
            self.items(kernels.deaths, counts.commands_max)?;
            if self.world.respawns > 0 {
                self.items(kernels.fallen, slots)?;
                self.items(kernels.respawn, slots)?;
            }
            self.items(kernels.deaths_count, slots)?;
            self.items(kernels.deaths_store, slots)?;
        }
        match self.world.timed_max {
            0 => Ok(()),
            _ => self.grid(kernels.timed, Grid::blocks(1, 1)),
        }
    }
}
