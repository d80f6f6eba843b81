//! Stage: births and deaths.

use device::{DriverError, Grid};

use super::launcher::Launcher;
use super::regions::RegionsKernels;
use super::upload::FrameCounts;

device::kernels! {
    pub struct LifecycleKernels {
        deaths: "lifecycle_deaths",
        fallen: "lifecycle_fallen",
        fall: "lifecycle_fall",
        reborn_count: "lifecycle_reborn_count",
        reborn_store: "lifecycle_reborn_store",
        end: "lifecycle_end",
        deaths_count: "lifecycle_deaths_count",
        deaths_store: "lifecycle_deaths_store",
        free_count: "lifecycle_free_count",
        free_store: "lifecycle_free_store",
        births_count: "lifecycle_births_count",
        births_store: "lifecycle_births_store",
        births_name: "lifecycle_births_name",
        kept_find: "lifecycle_kept_find",
        kept_end: "lifecycle_kept_end",
        follow_count: "lifecycle_follow_count",
        follow_store: "lifecycle_follow_store",
        keep: "lifecycle_keep",
    }
}

impl LifecycleKernels {
    pub fn run(
        &self,
        run: &Launcher,
        regions: &RegionsKernels,
        counts: &FrameCounts,
    ) -> Result<(), DriverError> {
        let slots = u64::from(run.world.capacity);
        if counts.births {
            // Runs before the deaths, whose slots are not available for this tick's births.
            run.items(self.free_count, slots)?;
            run.items(self.free_store, slots)?;
            run.items(self.births_count, counts.commands_max)?;
            run.items(self.births_store, counts.commands_max)?;
            if run.sizes.kept > 0 {
                // The sums of the scan of births are still there.
                run.items(self.births_name, counts.commands_max)?;
            }
        }
        if counts.follow_ups {
            run.items(self.follow_count, counts.commands_max)?;
            run.items(self.follow_store, counts.commands_max)?;
        }
        if counts.deaths {
            run.items(self.deaths, counts.commands_max)?;
            if run.world.respawns > 0 {
                run.items(self.fallen, slots)?;
                run.items(self.fall, slots)?;
            }
            if run.sizes.kept > 0 {
                run.items(self.kept_find, slots)?;
                run.items(self.kept_end, slots)?;
            }
            if run.world.respawns > 0 {
                run.items(self.reborn_count, slots)?;
                run.items(self.reborn_store, slots)?;
            }
            run.items(self.deaths_count, slots)?;
            run.items(self.deaths_store, slots)?;
        }
        if run.tick.rewind_ticks > 0 {
            run.items(self.keep, slots)?;
        }
        run.grid(self.end, Grid::blocks(1, 1))?;
        let reborn_max = slots * u64::from(run.world.respawns);
        match run.regions.of_entities {
            0 => Ok(()),
            _ => run.items(regions.bear, counts.births_max() + reborn_max),
        }
    }
}
