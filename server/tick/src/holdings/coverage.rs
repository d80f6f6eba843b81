//! A limit on the area that clients' regions cover, by their cost in each tick.
//!
//! For a region, each tick inspects the entities in all grid squares that it touches (their edge is
//! the radius of the area of interest). A client may always hold a few regions of the largest size.
//! Beyond that, clients share a budget of the tick: each may cover its share by the number of
//! clients with regions at the time of its request. So the total grows with the logarithm of their
//! number, and no region is taken away.

use gpu_kernels::Region;
use shared::WorldConfig;

/// The costs of a world's regions, in entities that a tick is expected to inspect.
pub struct Coverage {
    dimensions: usize,
    /// The edge of a square in raw units.
    edge: i64,
    /// Squares along each axis.
    squares: [u64; 3],
    /// Entities in a square, for a full world with an even spread.
    density: u64,
    /// The cost that a client may always hold.
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

    /// The cost of a region in each tick, wherever it is.
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

    /// The cost that each of `clients` with regions may have.
    pub fn share(&self, clients: usize) -> u64 {
        self.always.max(ENTITIES_PER_TICK / clients.max(1) as u64)
    }
}

/// Regions of the largest size that a client may always hold.
const REGIONS_ALWAYS: u64 = 4;
/// Entities that a tick may inspect for all clients' regions: some 20 ms of one thread.
const ENTITIES_PER_TICK: u64 = 1 << 21;
