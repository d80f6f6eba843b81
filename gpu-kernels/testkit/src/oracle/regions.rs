//! The subscriptions of clients and entities, and the publications of entities.

use std::collections::BTreeMap;

use gpu_kernels::{Counts, Frame, Holder, Region, RegionChange, Target};
use shared::{ClientRow, EntityId};

use super::Oracle;

/// A box in the world: low and high corner.
type Corners = [[i128; 2]; 3];

/// All regions, by holder.
#[derive(Clone, Default)]
pub struct Regions {
    /// By client and index.
    pub clients: BTreeMap<(u32, u32), Region>,
    /// By slot: where an entity is published, beside its position.
    pub publications: BTreeMap<u32, Region>,
    /// By slot: the region that clients subscribe to while their observers follow the entity.
    pub subscriptions: BTreeMap<u32, Region>,
}

impl Oracle {
    /// Sets as many regions as the world can hold; the frame's other changes are ignored.
    pub(super) fn set_regions(&mut self, frame: &Frame, counts: &mut Counts) {
        let limits = &self.config.limits;
        let mut room = u64::from(limits.clients) * u64::from(limits.regions_per_client);
        if limits.entity_regions {
            room += 2 * self.slots.len() as u64;
        }
        for change in &frame.regions {
            if room == 0 {
                counts.ignored += 1;
                continue;
            }
            room -= 1;
            self.set_region(change, counts);
        }
    }

    fn set_region(&mut self, change: &RegionChange, counts: &mut Counts) {
        let holder = match change.holder {
            Holder::Client { .. } => None,
            Holder::Publication(entity) | Holder::Subscription(entity) => Some(entity),
        };
        let kept = change
            .region
            .and_then(|region| self.allowed(region, holder));
        if !self.is_holder(change.holder) || change.region.is_some() && kept.is_none() {
            counts.ignored += 1;
            return;
        }
        match change.holder {
            Holder::Client { client, index } => {
                set(&mut self.regions.clients, (client.0, index), kept)
            }
            Holder::Publication(entity) => set(&mut self.regions.publications, entity.slot.0, kept),
            Holder::Subscription(entity) => {
                set(&mut self.regions.subscriptions, entity.slot.0, kept)
            }
        }
    }

    fn is_holder(&self, holder: Holder) -> bool {
        let limits = &self.config.limits;
        match holder {
            Holder::Client { client, index } => {
                client.0 < limits.clients && index < limits.regions_per_client
            }
            Holder::Publication(entity) | Holder::Subscription(entity) => {
                limits.entity_regions && self.alive().contains(&entity)
            }
        }
    }

    /// The region with axes that the world lacks set to 0..1, if the world allows it.
    fn allowed(&self, region: Region, holder: Option<EntityId>) -> Option<Region> {
        if holder.is_some() && region.follows.is_some() && region.follows != holder {
            return None;
        }
        let mut kept = region;
        for axis in 0..3 {
            if axis >= self.config.schema.world.size.len() {
                (kept.low[axis], kept.high[axis]) = (0, 1);
            }
            let (low, high) = (i128::from(kept.low[axis]), i128::from(kept.high[axis]));
            let longest = i128::from(self.config.limits.region_edge_max.raw()).max(1);
            let far = 1i128 << 30;
            if low >= high || high - low > longest || low < -far || high > far {
                return None;
            }
        }
        Some(kept)
    }

    /// Adds the regions that a newborn has by its kind.
    pub(super) fn add_kind_regions(&mut self, entity: EntityId, kind: u16) {
        let around = |edges: [i32; 3]| Region {
            low: edges.map(|edge| -(edge / 2)),
            high: edges.map(|edge| edge - edge / 2),
            follows: Some(entity),
        };
        let carried = self.config.schema.kinds[usize::from(kind)].regions;
        let slot = entity.slot.0;
        if let Some(edges) = carried.publishes {
            self.regions.publications.insert(slot, around(edges));
        }
        if let Some(edges) = carried.subscribes {
            self.regions.subscriptions.insert(slot, around(edges));
        }
    }

    pub(super) fn drop_regions(&mut self, entity: EntityId) {
        self.regions.publications.remove(&entity.slot.0);
        self.regions.subscriptions.remove(&entity.slot.0);
    }

    /// The box of a region in the world; `None` if it follows a dead entity.
    fn corners(&self, region: &Region) -> Option<Corners> {
        let offset = match region.follows {
            None => [0; 3],
            Some(entity) if self.is_alive(entity) => self.position(entity.slot.0),
            Some(_) => return None,
        };
        Some([0, 1, 2].map(|axis| {
            [region.low[axis], region.high[axis]]
                .map(|corner| i128::from(corner) + i128::from(offset[axis]))
        }))
    }

    /// A client's subscriptions: its own, then those of the entities that its observers
    /// follow.
    pub(super) fn subscriptions(&self, client: u32) -> Vec<Corners> {
        let mut regions = vec![];
        for (_, region) in self.regions.clients.range((client, 0)..=(client, u32::MAX)) {
            regions.push(*region);
        }
        for (_, observer) in self.observers.range((client, 0)..=(client, u32::MAX)) {
            if let Target::Entity(entity) = observer.target
                && self.is_alive(entity)
            {
                regions.extend(self.regions.subscriptions.get(&entity.slot.0));
            }
        }
        regions.iter().filter_map(|r| self.corners(r)).collect()
    }

    /// Whether an entity's position is in a box.
    pub(super) fn stands_in(&self, slot: u32, corners: &Corners) -> bool {
        let position = self.position(slot);
        let point = [0, 1, 2].map(|axis| [position[axis].into(), i128::from(position[axis]) + 1]);
        overlap(&point, corners)
    }

    /// Whether an entity's publication overlaps a box.
    pub(super) fn is_published_in(&self, slot: u32, corners: &Corners) -> bool {
        let publication = self.regions.publications.get(&slot);
        match publication.and_then(|region| self.corners(region)) {
            Some(publication) => overlap(&publication, corners),
            None => false,
        }
    }

    /// The sort key of publications in worlds whose clients remember nothing: the level,
    /// then the cell of the low corner. The level is the lowest whose cells are as long as
    /// the box, or the highest.
    pub(super) fn publication_order(&self, slot: u32) -> [i128; 4] {
        let region = &self.regions.publications[&slot];
        let corners = self.corners(region).expect("its holder lives");
        let longest = corners.iter().map(|[low, high]| high - low).max().unwrap();
        let world = (0..3)
            .map(|axis| i128::from(self.size(axis)))
            .max()
            .unwrap();
        let mut edge = i128::from(self.config.schema.world.aoi.raw());
        let mut level = 0;
        while edge < longest && edge < world {
            edge *= 2;
            level += 1;
        }
        let cell = |axis: usize| {
            let last = i128::from(self.size(axis)) - 1;
            corners[axis][0].max(0).min(last) / edge
        };
        [level, cell(2), cell(1), cell(0)]
    }

    /// The regions of clients, publications and subscriptions in a snapshot's format.
    pub(super) fn region_lists(&self) -> [Vec<Option<Region>>; 3] {
        let limits = &self.config.limits;
        let mut clients = vec![];
        for client in (0..limits.clients).map(ClientRow) {
            for index in 0..limits.regions_per_client {
                clients.push(self.regions.clients.get(&(client.0, index)).copied());
            }
        }
        let slots = match limits.entity_regions {
            true => self.slots.len() as u32,
            false => 0,
        };
        let of = |map: &BTreeMap<u32, Region>| (0..slots).map(|s| map.get(&s).copied()).collect();
        [
            clients,
            of(&self.regions.publications),
            of(&self.regions.subscriptions),
        ]
    }
}

pub(super) fn overlap(a: &Corners, b: &Corners) -> bool {
    (0..3).all(|axis| a[axis][0] < b[axis][1] && b[axis][0] < a[axis][1])
}

fn set<K: Ord>(map: &mut BTreeMap<K, Region>, key: K, region: Option<Region>) {
    match region {
        Some(region) => map.insert(key, region),
        None => map.remove(&key),
    };
}
