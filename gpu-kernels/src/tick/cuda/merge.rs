//! Stage: updates to one change for each (entity, attribute) (thesis 3.4).

use std::mem::offset_of;

use device::DriverError;
use device::gpu::sort::Sort;
use shared::NotificationKind;

use super::atomic::AtomicKernels;
use super::launcher::Launcher;
use super::scripts::AtomicRunners;
use super::upload::FrameCounts;
use super::world::{update_keys, update_values};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct MergeKernels {
        mark: "merge_mark",
        intervals: "merge_intervals",
        fold: "merge_fold",
        apply: "merge_apply",
        hold: "merge_hold",
        count: "merge_count",
        store: "merge_store",
        picks_count: "notifications_picks_count",
        picks_store: "notifications_picks_store",
    }
}

impl MergeKernels {
    /// Merges updates, then runs atomic commands if the tick may have any, by `runners` if it has.
    pub fn run(
        &self,
        run: &mut Launcher,
        counts: &FrameCounts,
        atomic: Option<(&AtomicKernels, Option<&AtomicRunners>)>,
    ) -> Result<(), DriverError> {
        let mut updates = counts.updates_max;
        if updates > 0 {
            let sort = Sort {
                keys: update_keys(&run.world),
                values: update_values(&run.world),
                n: run.counter(offset_of!(Counters, updates)),
                n_max: updates,
                key_bits: run.world.key_bits,
            };
            run.sorter.sort(run.device, &sort)?;
        }
        run.items(self.mark, updates)?;
        run.items(self.intervals, updates)?;
        // One warp for each share of 256 updates.
        run.items(self.fold, updates.div_ceil(256) * 32)?;
        run.items(self.apply, updates)?;
        let intervals = [run.world.interval_keys, run.world.interval_changed];
        let values = run.world.interval_values;
        if let Some((atomic, runners)) = atomic {
            atomic.run(run, runners, updates)?;
            updates += run.sizes.left();
        }
        if run.sizes.walled > 0 {
            run.items(self.hold, updates)?;
        }
        run.items(self.count, updates)?;
        // At least one thread, to write the final offset.
        run.items(self.store, updates.max(1))?;
        if run.world.notification_kinds >> NotificationKind::PICKED.id() & 1 == 1 {
            run.items(self.picks_count, updates)?;
            run.items(self.picks_store, updates)?;
        }
        [run.world.interval_keys, run.world.interval_changed] = intervals;
        run.world.interval_values = values;
        Ok(())
    }
}
