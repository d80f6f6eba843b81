//! The things of each holder and the members of each group, for scripts that ask for them: before the
//! stage `logic`.

use std::mem::offset_of;

use device::DriverError;
use device::gpu::sort::Sort;
use script::ptx::layout::NOWHERE;
use shared::WorldConfig;

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
    /// Sorts the things by holder, or the members by group, in those relations whose number has a bit,
    /// unless all relate to what they did.
    pub fn run(
        &self,
        run: &mut Launcher,
        config: &WorldConfig,
        asked: u32,
    ) -> Result<(), DriverError> {
        let sizes = run.sizes;
        for (number, relation) in (0u32..).zip(config.schema.relations()) {
            if asked >> number & 1 == 0 {
                continue;
            }
            run.tick.relation = number;
            run.tick.relation_column = u32::from(relation.column);
            run.tick.relation_kind = relation.kind.map_or(NOWHERE, u32::from);
            run.items(self.collect, sizes.capacity)?;
            let counts = offset_of!(Counters, held) + number as usize * size_of::<u64>();
            let sort = Sort {
                keys: census_keys(&run.world, sizes.capacity),
                values: held_slots(&run.world, u64::from(number) * sizes.capacity),
                n: run.counter(counts),
                n_max: sizes.capacity,
                key_bits: held_bits(sizes),
            };
            run.sorter.sort(run.device, &sort)?;
            run.items(self.starts, sizes.capacity + 1)?;
        }
        Ok(())
    }
}
