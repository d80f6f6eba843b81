//! Stage: updates to one change for each (entity, attribute) (thesis 3.4).

use std::mem::offset_of;

use device::gpu::sort::Sort;
use device::{DriverError, Pointer};
use shared::NotificationKind;

use super::launcher::Launcher;
use super::layout::Tick;
use super::upload::FrameCounts;
use super::world::{update_keys, update_values};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct MergeKernels {
        mark: "merge_mark",
        intervals: "merge_intervals",
        fold: "merge_fold",
        apply: "merge_apply",
        count: "merge_count",
        store: "merge_store",
        picks_count: "notifications_picks_count",
        picks_store: "notifications_picks_store",
    }
}

impl Launcher<'_> {
    pub fn merge(&self, counts: &FrameCounts) -> Result<(), DriverError> {
        let kernels = &self.kernels.merge;
        let updates = counts.updates_max;
        if updates > 0 {
            let sort = Sort {
                keys: update_keys(&self.world),
                values: update_values(&self.world),
                n: counter(&self.tick, offset_of!(Counters, updates)),
                n_max: updates,
                key_bits: self.world.key_bits,
            };
            self.sorter.sort(self.device, &sort)?;
        }
        self.items(kernels.mark, updates)?;
        self.items(kernels.intervals, updates)?;
        // A warp for each share of 256.
        self.items(kernels.fold, updates.div_ceil(256) * 32)?;
        self.items(kernels.apply, updates)?;
        self.items(kernels.count, updates)?;
        // At least one thread, to close the offsets.
        self.items(kernels.store, updates.max(1))?;
        if self.world.tells >> NotificationKind::Pick.id() & 1 == 1 {
            self.items(kernels.picks_count, updates)?;
            self.items(kernels.picks_store, updates)?;
        }
        Ok(())
    }
}

/// Where one of the tick's counters is.
pub fn counter(tick: &Tick, offset: usize) -> Pointer<u64> {
    Pointer::new(tick.counters.0 + offset as u64)
}
