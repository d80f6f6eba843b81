//! Regions of clients and entities on the device: `kernels/tick/regions.cu`.

use std::collections::HashMap;

use shared::world::schema::KindRegions;
use shared::{EntityId, WorldConfig};

use super::layout::{self, RegionSet};
use crate::tick::frame::{Frame, Holder, Region, region_changes_max};

device::kernels! {
    pub struct RegionsKernels {
        apply: "regions_apply",
        bear: "regions_bear",
        count: "regions_count",
        collect: "regions_collect",
        gather: "regions_gather",
    }
}

/// By kind: the edges of the regions that newborns carry, as six numbers; 0 for none.
pub fn newborn_edges(config: &WorldConfig) -> Vec<i32> {
    let edges = |regions: &KindRegions| {
        [regions.publishes, regions.subscribes].map(Option::unwrap_or_default)
    };
    let kinds = config.schema.kinds.iter();
    kinds
        .flat_map(|kind| edges(&kind.regions))
        .flatten()
        .collect()
}

/// A frame's region changes on their way to the device. The device applies them in
/// parallel, so only the last of several changes of one holder's region is sent.
#[derive(Default)]
pub struct RegionStaging {
    pub sets: Vec<RegionSet>,
    places: HashMap<Holder, usize>,
}

/// Counts of a frame's region changes.
#[derive(Default)]
pub struct RegionCounts {
    pub ignored: u64,
    /// One more than the highest client row named, or 0.
    pub clients: u32,
}

impl RegionStaging {
    pub fn take(&mut self, frame: &Frame, config: &WorldConfig) -> RegionCounts {
        let mut counts = RegionCounts::default();
        self.sets.clear();
        self.places.clear();
        let most = region_changes_max(config).min(frame.regions.len());
        counts.ignored += (frame.regions.len() - most) as u64;
        for change in frame.regions[..most].iter().rev() {
            let Some(change) = change.check(config) else {
                counts.ignored += 1;
                continue;
            };
            if let Some(entity) = change.holder.entity()
                && entity.slot.0 >= config.schema.world.capacity
            {
                counts.ignored += 1;
                continue;
            }
            if let Holder::Client { client, .. } = change.holder {
                counts.clients = counts.clients.max(client.0 + 1);
            }
            match self.places.get(&change.holder) {
                // Only the device knows whether the holder lives.
                Some(&last) => self.sets[last].repeats += 1,
                None => {
                    self.places.insert(change.holder, self.sets.len());
                    self.sets
                        .push(region_set(change.holder, &change.region, config));
                }
            }
        }
        counts
    }
}

fn region_set(holder: Holder, region: &Option<Region>, config: &WorldConfig) -> RegionSet {
    let per_client = config.limits.regions_per_client;
    let (number, place, generation) = match holder {
        Holder::Client { client, index } => (0, client.0 * per_client + index, 0),
        Holder::Publication(entity) => (1, entity.slot.0, entity.generation),
        Holder::Subscription(entity) => (2, entity.slot.0, entity.generation),
    };
    RegionSet {
        holder: number,
        place,
        generation,
        repeats: 0,
        region: device_region(region),
    }
}

/// A region in the device's format.
pub fn device_region(region: &Option<Region>) -> layout::Region {
    let Some(Region { low, high, follows }) = *region else {
        return layout::Region::default();
    };
    let (tag, slot, generation) = match follows {
        None => (1, 0, 0),
        Some(entity) => (2, entity.slot.0, entity.generation),
    };
    layout::Region {
        tag,
        slot,
        generation,
        low,
        high,
    }
}

/// A region from the device's format.
pub fn host_region(region: &layout::Region) -> Option<Region> {
    let follows = match region.tag {
        0 => return None,
        1 => None,
        _ => Some(EntityId::new(region.slot, region.generation)),
    };
    Some(Region {
        low: region.low,
        high: region.high,
        follows,
    })
}
