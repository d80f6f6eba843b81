//! The regions that clients and entities hold, and their boxes.

use shared::world::schema::KindRegions;
use shared::{EntityId, WorldConfig};

use super::State;
use crate::space::Aabb;
use crate::tick::frame::{Holder, Region};
use crate::tick::state::{self, Snapshot, part};

/// All regions, as a part of the state. Empty in worlds without regions.
pub struct Regions {
    per_client: usize,
    /// By client, then by index.
    clients: Vec<Option<Region>>,
    /// By slot.
    publications: Vec<Option<Region>>,
    subscriptions: Vec<Option<Region>>,
    /// The number of publications.
    published: usize,
    /// By kind: the regions that newborns carry.
    newborn: Vec<KindRegions>,
}

impl Regions {
    pub fn new(config: &WorldConfig) -> Regions {
        let limits = &config.limits;
        let capacity = config.schema.world.capacity as usize;
        let carriers = capacity * usize::from(limits.entity_regions);
        let per_client = limits.regions_per_client as usize;
        Regions {
            per_client,
            clients: vec![None; limits.clients as usize * per_client],
            publications: vec![None; carriers],
            subscriptions: vec![None; carriers],
            published: 0,
            newborn: config.schema.kinds.iter().map(|k| k.regions).collect(),
        }
    }

    pub fn clients(&self) -> &[Option<Region>] {
        &self.clients
    }

    pub fn publications(&self) -> &[Option<Region>] {
        &self.publications
    }

    pub fn subscriptions(&self) -> &[Option<Region>] {
        &self.subscriptions
    }

    /// The regions of one client that are set.
    pub fn of_client(&self, client: usize) -> impl Iterator<Item = &Region> + Clone {
        let own = &self.clients[client * self.per_client..][..self.per_client];
        own.iter().flatten()
    }

    /// The region that clients that follow an entity subscribe to.
    pub fn subscription(&self, slot: u32) -> Option<&Region> {
        self.subscriptions.get(slot as usize)?.as_ref()
    }

    pub fn publication(&self, slot: u32) -> Option<&Region> {
        self.publications.get(slot as usize)?.as_ref()
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.clients.copy_from_slice(&snapshot.regions);
        self.publications.copy_from_slice(&snapshot.publications);
        self.subscriptions.copy_from_slice(&snapshot.subscriptions);
        self.published = snapshot.publications.iter().flatten().count();
    }

    fn place_of(&mut self, holder: Holder) -> &mut Option<Region> {
        match holder {
            Holder::Client { client, index } => {
                &mut self.clients[client.index() * self.per_client + index as usize]
            }
            Holder::Publication(entity) => &mut self.publications[entity.slot.index()],
            Holder::Subscription(entity) => &mut self.subscriptions[entity.slot.index()],
        }
    }
}

impl State {
    /// Sets or clears a region of an existing holder, and updates the hash.
    pub(super) fn set_region(&mut self, holder: Holder, region: Option<Region>) {
        let before = std::mem::replace(self.regions.place_of(holder), region);
        if let Holder::Publication(_) = holder {
            self.regions.published -= usize::from(before.is_some());
            self.regions.published += usize::from(region.is_some());
        }
        self.subtract(part::OBSERVERS, state::region(holder, &before));
        self.add(part::OBSERVERS, state::region(holder, &region));
    }

    /// Gives a newborn the regions of its kind.
    pub(super) fn bear_regions(&mut self, entity: EntityId, kind: u16) {
        if self.regions.publications.is_empty() {
            return;
        }
        let KindRegions {
            publishes,
            subscribes,
        } = self.regions.newborn[usize::from(kind)];
        let around = |edges: Option<[i32; 3]>| edges.map(|edges| Region::around(entity, edges));
        self.set_region(Holder::Publication(entity), around(publishes));
        self.set_region(Holder::Subscription(entity), around(subscribes));
    }

    /// Removes the regions that a dead entity carried.
    pub(super) fn bury_regions(&mut self, entity: EntityId) {
        if self.regions.publications.is_empty() {
            return;
        }
        self.set_region(Holder::Publication(entity), None);
        self.set_region(Holder::Subscription(entity), None);
    }

    /// The box of a region; `None` if it follows a dead entity.
    pub(super) fn box_of(&self, region: &Region, dimensions: usize) -> Option<Aabb<3>> {
        let Region { low, high, follows } = *region;
        let Some(entity) = follows else {
            return Some(Aabb { low, high });
        };
        self.slots.has(entity).then(|| {
            let position = self.position(entity.slot, dimensions);
            Aabb {
                low: std::array::from_fn(|axis| position[axis] + low[axis]),
                high: std::array::from_fn(|axis| position[axis] + high[axis]),
            }
        })
    }

    /// The box in which a living entity is published, beside its position.
    pub(super) fn publication(&self, slot: u32, dimensions: usize) -> Option<Aabb<3>> {
        let region = self.regions.publication(slot)?;
        self.box_of(region, dimensions)
    }

    /// The slots of all entities with a publication, ascending, with its box.
    pub(super) fn publications(
        &self,
        dimensions: usize,
    ) -> impl Iterator<Item = (u32, Aabb<3>)> + '_ {
        let used = match self.regions.published {
            0 => 0,
            _ => self.slots.used(),
        };
        (0..used as u32).filter_map(move |slot| Some((slot, self.publication(slot, dimensions)?)))
    }

    /// Whether the holder that a region change names exists.
    pub(super) fn has_holder(&self, holder: Holder) -> bool {
        let holds = |entity: EntityId| {
            self.slots.has(entity) && self.slots.is_somewhere(entity.slot.index())
        };
        holder.entity().is_none_or(holds)
    }
}
