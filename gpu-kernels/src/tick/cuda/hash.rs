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

impl Launcher<'_> {
    pub fn hash(&self) -> Result<(), DriverError> {
        let blocks_max = u64::from(GPU_BLOCKS_HALF * self.device.multiprocessors());
        let grid = |items: u64| {
            let blocks = items.div_ceil(u64::from(BLOCK)).clamp(1, blocks_max);
            Grid::blocks(blocks as u32, BLOCK)
        };
        let kernels = &self.kernels.hash;
        let slots = u64::from(self.world.capacity);
        self.grid(kernels.slots, grid(slots))?;
        let clients = u64::from(self.tick.clients_used) * 32;
        self.grid(kernels.clients, grid(clients.max(self.sizes.observers)))?;
        match self.has_regions() {
            false => Ok(()),
            true => self.grid(kernels.regions, grid(slots.max(self.sizes.client_regions))),
        }
    }
}
