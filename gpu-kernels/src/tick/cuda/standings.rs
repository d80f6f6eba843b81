//! The order of rankings, for scripts that ask for them: after the census, before the stage
//! `logic`.

use std::mem::offset_of;

use device::DriverError;
use device::gpu::sort::{Doubled, Sort};
use shared::WorldConfig;

use super::launcher::Launcher;
use super::world::census_keys;
use crate::tick::counts::Counters;

device::kernels! {
    pub struct StandingsKernels {
        collect: "standings_collect",
        place: "standings_place",
    }
}

impl StandingsKernels {
    /// Orders those rankings whose number has a bit.
    pub fn run(
        &self,
        run: &mut Launcher,
        config: &WorldConfig,
        asked: u32,
    ) -> Result<(), DriverError> {
        let capacity = run.sizes.capacity;
        for (number, ranking) in (0u32..).zip(&config.schema.rankings) {
            if asked >> number & 1 == 0 {
                continue;
            }
            run.tick.ranking = number;
            run.tick.ranking_kind = u32::from(ranking.kind);
            run.tick.ranking_column = u32::from(ranking.column);
            run.tick.ranking_flip = ranking.flip();
            run.items(self.collect, capacity)?;
            let counts = offset_of!(Counters, ranked) + number as usize * size_of::<u64>();
            let sort = Sort {
                keys: census_keys(&run.world, capacity),
                values: Doubled {
                    first: run.world.standing_slots.at(u64::from(number) * capacity),
                    second: run.world.index_slots_spare,
                },
                n: run.counter(counts),
                n_max: capacity,
                key_bits: KEY_BITS,
            };
            run.sorter.sort(run.device, &sort)?;
            run.items(self.place, capacity)?;
        }
        Ok(())
    }
}

/// Bits of an attribute: an even number of passes, so that a sort reads where it writes.
pub const KEY_BITS: u32 = u32::BITS;
