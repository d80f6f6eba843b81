use serde::{Deserialize, Serialize};
use shared::{ClientRow, EntityId, WorldConfig};
use thiserror::Error;

/// Sets or clears a region. The change is ignored and counted if the holder does not exist,
/// the world has no such regions, [`Region::check`] rejects the region, or an entity's
/// region follows another entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionChange {
    pub holder: Holder,
    pub region: Option<Region>,
}

/// The holder of a region, and its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Holder {
    /// One of a client's subscriptions; `index` is below `limits.regions_per_client`. The
    /// client sees all entities that are published in it.
    Client { client: ClientRow, index: u32 },
    /// A box in which an entity is published, beside its position. An entity has at most
    /// one, and loses it when it dies.
    Publication(EntityId),
    /// The region that clients subscribe to while an observer of theirs follows the entity
    /// ([`Target::Entity`](super::Target)). An entity has at most one, and loses it when it
    /// dies.
    Subscription(EntityId),
}

/// A box `low..high` in raw units, half-open: boxes that touch don't overlap. Axes
/// beyond the world's are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    pub low: [i32; 3],
    pub high: [i32; 3],
    /// The entity whose position the box is relative to; the box is nowhere once that is
    /// dead. An entity's region may follow only the entity itself.
    pub follows: Option<EntityId>,
}

/// Why a region is invalid in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegionError {
    #[error("{low}..{high} on axis {axis} is empty or inverted")]
    Empty { axis: usize, low: i32, high: i32 },
    #[error("{low}..{high} on axis {axis} leaves -{COORDINATE_MAX}..{COORDINATE_MAX}")]
    Outside { axis: usize, low: i32, high: i32 },
    #[error("an edge of {edge} on axis {axis} is longer than {max}")]
    TooLong { axis: usize, edge: i64, max: i64 },
}

/// The maximum distance of a coordinate from 0, so that adding a position never overflows.
pub const COORDINATE_MAX: i32 = 1 << 30;

impl Region {
    /// A box with these edges, centered on an entity, which it follows.
    pub fn around(entity: EntityId, edges: [i32; 3]) -> Region {
        let low = edges.map(|edge| -(edge / 2));
        Region {
            low,
            high: std::array::from_fn(|axis| low[axis] + edges[axis]),
            follows: Some(entity),
        }
    }

    /// The region as a world stores it, if it is allowed: on axes that the world lacks it
    /// is `0..1`.
    pub fn check(&self, config: &WorldConfig) -> Result<Region, RegionError> {
        let mut kept = Region {
            low: [0; 3],
            high: [1; 3],
            follows: self.follows,
        };
        let max = i64::from(config.limits.region_edge_max.raw());
        for axis in 0..config.dimensions() {
            let (low, high) = (self.low[axis], self.high[axis]);
            let edge = i64::from(high) - i64::from(low);
            if edge <= 0 {
                return Err(RegionError::Empty { axis, low, high });
            }
            if low < -COORDINATE_MAX || high > COORDINATE_MAX {
                return Err(RegionError::Outside { axis, low, high });
            }
            if edge > max {
                return Err(RegionError::TooLong { axis, edge, max });
            }
            kept.low[axis] = low;
            kept.high[axis] = high;
        }
        Ok(kept)
    }
}

impl Holder {
    /// The entity that holds it; `None` for a client.
    pub(crate) fn entity(&self) -> Option<EntityId> {
        match *self {
            Holder::Client { .. } => None,
            Holder::Publication(entity) | Holder::Subscription(entity) => Some(entity),
        }
    }
}

/// The maximum number of region changes in a frame: as many as a world can have regions. If
/// there are more, the last ones are ignored.
pub fn region_changes_max(config: &WorldConfig) -> usize {
    let limits = &config.limits;
    let of_clients = limits.clients as usize * limits.regions_per_client as usize;
    let carried = 2 * config.schema.world.capacity as usize;
    of_clients + carried * usize::from(limits.entity_regions)
}

impl RegionChange {
    /// The change as a world stores it; `None` if it is to be ignored. The caller checks
    /// whether an entity that holds a region lives.
    pub(crate) fn check(&self, config: &WorldConfig) -> Option<RegionChange> {
        let limits = &config.limits;
        let own = match self.holder {
            Holder::Client { client, index } => {
                if client.0 >= limits.clients || index >= limits.regions_per_client {
                    return None;
                }
                None
            }
            Holder::Publication(_) | Holder::Subscription(_) if !limits.entity_regions => {
                return None;
            }
            carrier => carrier.entity(),
        };
        let region = match self.region {
            None => None,
            Some(region) => {
                if own.is_some() && region.follows.is_some_and(|followed| Some(followed) != own) {
                    return None;
                }
                Some(region.check(config).ok()?)
            }
        };
        Some(RegionChange {
            holder: self.holder,
            region,
        })
    }
}
