//! Where everything of the regions lies on a GPU.

use device::gpu::sort::Doubled;
use device::plan::Group;
use device::{Plan, Pointer};

use super::layout::{RegionsTable, RegionsWorld};
use super::sizes::{Sizes, found_bits, number_bits};
use crate::regions::RegionsConfig;

/// All buffers, in one allocation.
pub struct Buffers {
    pub plan: Plan,
    sizes: Sizes,
    world: Group,
    tables: [Group; 2],
    sort_scratch: u64,
}

impl Buffers {
    pub fn new(config: &RegionsConfig) -> Buffers {
        let sizes = Sizes::new(config);
        let mut plan = Plan::default();
        Buffers {
            world: plan.add(RegionsWorld::buffers(&sizes)),
            tables: [0, 1].map(|_| plan.add(RegionsTable::buffers(&sizes))),
            sort_scratch: plan.add_bytes("sort_scratch", sizes.sort_scratch),
            plan,
            sizes,
        }
    }

    /// Where the sort's scratch is in an allocation at `base`.
    pub fn sort_scratch(&self, base: u64) -> Pointer<u32> {
        Pointer::new(base + self.sort_scratch)
    }

    /// The arguments of kernels, before the first step.
    pub fn world(&self, config: &RegionsConfig, base: u64) -> RegionsWorld {
        let mut world = RegionsWorld {
            capacity: config.capacity,
            number_bits: number_bits(config),
            tasks_max: self.sizes.tasks as u32,
            cell_edge: config.cell_edge.unwrap_or(0),
            cells_max: self.sizes.cells as u32,
            records_max: self.sizes.records as u32,
            found_max: config.pairs_max.into(),
            ..RegionsWorld::default()
        };
        world.place(self.plan.places(base, &self.world));
        for (table, group) in world.tables.iter_mut().zip(&self.tables) {
            table.place(self.plan.places(base, group));
        }
        world.found = found(&world).given(found_bits(config));
        for (axis, dimension) in config.space.dimensions().iter().enumerate() {
            world.low[axis] = dimension.low;
            world.high[axis] = dimension.high;
        }
        world
    }
}

/// The keys that are sorted, with as much room again.
pub fn keys(world: &RegionsWorld) -> Doubled<u32> {
    Doubled {
        first: world.keys,
        second: world.keys_spare,
    }
}

/// The entries that are sorted by them.
pub fn entries(world: &RegionsWorld) -> Doubled<u32> {
    Doubled {
        first: world.entries,
        second: world.entries_spare,
    }
}

/// The pairs that were found.
pub fn found(world: &RegionsWorld) -> Doubled<u64> {
    Doubled {
        first: world.sorted,
        second: world.sorted_spare,
    }
}
