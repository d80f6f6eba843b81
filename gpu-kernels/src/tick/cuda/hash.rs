//! The state hash, summed over the whole state.

use device::tuning::GPU_BLOCKS_HALF;
use device::{DriverError, Grid};

use super::launcher::{BLOCK, Launcher};

device::kernels! {
    pub struct HashKernels {
        slots: "hash_slots",
        clients: "hash_clients",
        regions: "regions_hash",
    }
}

impl HashKernels {
    /// Adds up the hash: all of it in the first part, that of its clients in another.
    pub fn run(&self, run: &Launcher) -> Result<(), DriverError> {
        let blocks_max = u64::from(GPU_BLOCKS_HALF * run.device.multiprocessors());
        let grid = |items: u64| {
            let blocks = items.div_ceil(u64::from(BLOCK)).clamp(1, blocks_max);
            Grid::blocks(blocks as u32, BLOCK)
        };
        let clients = u64::from(run.tick.own_end - run.tick.own_first) * 32;
        if run.tick.part > 0 {
            return run.grid(self.clients, grid(clients));
        }
        let slots = u64::from(run.world.capacity);
        run.grid(self.slots, grid(slots))?;
        run.grid(self.clients, grid(clients.max(run.sizes.observers)))?;
        match run.has_regions() {
            false => Ok(()),
            true => run.grid(self.regions, grid(slots.max(run.sizes.client_regions))),
        }
    }
}
