//! Atomic commands: a part of the stage `merge`.

use std::mem::offset_of;

use device::gpu::sort::{Doubled, Sort};
use device::tuning::GPU_BLOCKS_FULL;
use device::{DriverError, Grid};
use shared::world::attribute::bits_for;

use super::launcher::Launcher;
use super::layout::{ATOMIC_THREADS_MIN, World};
use super::scripts::AtomicRunners;
use crate::tick::counts::Counters;

device::kernels! {
    pub struct AtomicKernels {
        take: "atomic_take",
        select_count: "atomic_select_count",
        select_store: "atomic_select_store",
        pairs_count: "atomic_pairs_count",
        pairs_store: "atomic_pairs_store",
        link: "atomic_link",
        heads: "atomic_heads",
        before: "atomic_before",
        begin: "atomic_begin",
        left_count: "atomic_left_count",
        left_store: "atomic_left_store",
        fresh_count: "atomic_fresh_count",
        fresh_store: "atomic_fresh_store",
        join: "atomic_join",
        ended_count: "atomic_ended_count",
        ended_store: "atomic_ended_store",
        wait: "atomic_wait",
        end: "atomic_end",
    }
}

impl AtomicKernels {
    /// Runs the tick's atomic commands, and adds what they left to the changed intervals of the
    /// merge, of which there are at most so many.
    pub fn run(
        &self,
        run: &mut Launcher,
        runners: Option<&AtomicRunners>,
        intervals_max: u64,
    ) -> Result<(), DriverError> {
        let (commands, turns) = (run.sizes.commands, run.sizes.atomics);
        run.items(self.take, run.sizes.deferred)?;
        run.items(self.select_count, commands + run.sizes.deferred)?;
        run.items(self.select_store, commands + run.sizes.deferred)?;
        let resident = GPU_BLOCKS_FULL * run.device.multiprocessors();
        let all = |items: u64| {
            let blocks = items.div_ceil(u64::from(THREADS)).min(resident.into());
            Grid::blocks(blocks as u32, THREADS)
        };
        if let Some(runners) = runners {
            run.grid(runners.keys, all(turns))?;
            self.queue(run)?;
            run.grid(self.before, all(run.sizes.left()))?;
            run.grid(self.begin, Grid::blocks(1, 1))?;
            if turns >= u64::from(ATOMIC_THREADS_MIN) {
                run.grid(runners.threads, all(turns))?;
            }
            let workers = WORKER_BLOCKS * run.device.multiprocessors();
            run.grid(runners.warps, Grid::blocks(workers, THREADS))?;
        }
        self.join(run, intervals_max)?;
        run.items(self.ended_count, turns)?;
        run.items(self.ended_store, turns)?;
        run.items(self.wait, commands + run.sizes.deferred)?;
        run.grid(self.end, Grid::blocks(1, 1))
    }

    /// Sorts the turns of each entity.
    fn queue(&self, run: &mut Launcher) -> Result<(), DriverError> {
        let (turns, pairs) = (run.sizes.atomics, run.sizes.pairs());
        let (keys, values) = (pair_keys(&run.world), pair_values(&run.world));
        let key_bits = bits_for(run.sizes.capacity - 1);
        run.world.pair_keys = keys.given(key_bits);
        run.world.pair_values = values.given(key_bits);
        run.items(self.pairs_count, turns)?;
        run.items(self.pairs_store, turns)?;
        let sort = Sort {
            keys,
            values,
            n: run.counter(offset_of!(Counters, atomic_pairs)),
            n_max: pairs,
            key_bits,
        };
        run.sorter.sort(run.device, &sort)?;
        run.items(self.link, pairs)?;
        run.items(self.heads, pairs)
    }

    /// Adds what the commands left to the intervals.
    fn join(&self, run: &mut Launcher, intervals_max: u64) -> Result<(), DriverError> {
        let (entities, left) = (run.sizes.atomic_entities(), run.sizes.left());
        run.items(self.left_count, entities)?;
        run.items(self.left_store, entities)?;
        run.items(self.fresh_count, left)?;
        run.items(self.fresh_store, left)?;
        run.items(self.join, intervals_max + left)?;
        run.world.interval_keys = run.world.joined_keys;
        run.world.interval_values = run.world.joined_values;
        run.world.interval_changed = run.world.joined_changed;
        Ok(())
    }
}

fn pair_keys(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.atomic_pair_keys,
        second: world.atomic_pair_keys_spare,
    }
}

fn pair_values(world: &World) -> Doubled<u32> {
    Doubled {
        first: world.atomic_pair_values,
        second: world.atomic_pair_values_spare,
    }
}

const THREADS: u32 = 128;
/// Blocks of a multiprocessor whose warps wait for turns: each that waits slows down those that run.
const WORKER_BLOCKS: u32 = 4;
