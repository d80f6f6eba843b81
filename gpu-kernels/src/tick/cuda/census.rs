//! The living entities by kind, for scripts that ask for them: before the stage `logic`.

use std::mem::offset_of;

use device::DriverError;
use device::gpu::sort::Sort;

use super::launcher::Launcher;
use super::world::{census_bits, census_keys, census_slots};
use crate::tick::counts::Counters;

device::kernels! {
    pub struct CensusKernels {
        collect: "census_collect",
        starts: "census_begin",
    }
}

impl CensusKernels {
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        let sizes = run.sizes;
        run.items(self.collect, sizes.capacity)?;
        let sort = Sort {
            keys: census_keys(&run.world, sizes.capacity),
            values: census_slots(&run.world),
            n: run.counter(offset_of!(Counters, census)),
            n_max: sizes.capacity,
            key_bits: census_bits(sizes),
        };
        run.sorter.sort(run.device, &sort)?;
        run.items(self.starts, sizes.kinds + 1)
    }
}
