//! The things of each holder, for scripts that ask for them: before the stage `logic`.

use std::mem::offset_of;

use device::DriverError;
use device::gpu::sort::Sort;

use super::launcher::Launcher;
use super::world::{census_keys, held_bits, held_slots};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct HeldKernels {
        collect: "held_collect",
        starts: "held_begin",
    }
}

impl HeldKernels {
    /// Sorts the things by holder, unless each has the holder that it had.
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        let sizes = run.sizes;
        run.items(self.collect, sizes.capacity)?;
        let sort = Sort {
            keys: census_keys(&run.world, sizes.capacity),
            values: held_slots(&run.world),
            n: run.counter(offset_of!(Counters, held)),
            n_max: sizes.capacity,
            key_bits: held_bits(sizes),
        };
        run.sorter.sort(run.device, &sort)?;
        run.items(self.starts, sizes.capacity + 1)
    }
}
