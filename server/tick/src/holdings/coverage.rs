//! How much of the world clients' regions may cover: what they cost in each tick.
//!
//! To show what is in a region, each tick looks at the entities in all squares of the grid
//! (their edge is the radius of the area of interest) that it touches. A client may always hold
//! a few regions of the largest size. Beyond that, clients share what a tick has time for: each
//! may cover its part of that, by the number of clients with regions when it asks. So the
//! total grows with the logarithm of their number, and no region is taken away.

use gpu_kernels::Region;
use shared::WorldConfig;

/// The prices of a world's regions, in entities that a tick is expected to look at.
pub struct Coverage {
    dimensions: usize,
    /// The edge of a square in raw units.
    edge: i64,
    /// Squares along each axis.
    squares: [u64; 3],
    /// Entities in a square, if they are spread evenly and there are as many as can be.
    density: u64,
    /// What a client may always hold.
    always: u64,
}

impl Coverage {
    pub fn new(config: &WorldConfig) -> Coverage {
        let edge = i64::from(config.schema.world.aoi.raw()).max(1);
        let squares = config
            .size_raw()
            .map(|size| ((i64::from(size) - 1) / edge) as u64 + 1);
        let total = squares.iter().product::<u64>().max(1);
        let mut coverage = Coverage {
            dimensions: config.dimensions(),
            edge,
            squares,
            density: u64::from(config.schema.world.capacity).div_ceil(total),
            always: 0,
        };
        let longest = i64::from(config.limits.region_edge_max.raw());
        coverage.always = REGIONS_ALWAYS * coverage.price_of([longest; 3]);
        coverage
    }

    /// What a region costs in each tick, wherever it goes.
    pub fn price(&self, region: &Region) -> u64 {
        self.price_of(
            [0, 1, 2].map(|axis| i64::from(region.high[axis]) - i64::from(region.low[axis])),
        )
    }

    fn price_of(&self, edges: [i64; 3]) -> u64 {
        let along = |axis: usize| {
            let squares = edges[axis].max(0) as u64 / self.edge as u64 + 2;
            squares.min(self.squares[axis])
        };
        let squares = (0..self.dimensions).map(along).product::<u64>();
        squares * (1 + self.density)
    }

    /// What one of so many clients with regions may cover.
    pub fn share(&self, clients: usize) -> u64 {
        self.always.max(ENTITIES_PER_TICK / clients.max(1) as u64)
    }
}

/// Regions of the largest size that a client may hold whatever others do.
const REGIONS_ALWAYS: u64 = 4;
/// Entities that all clients' regions may make a tick look at: some 20 ms of one thread.
const ENTITIES_PER_TICK: u64 = 1 << 21;
