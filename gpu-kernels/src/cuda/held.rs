//! Regions that clients and entities hold, on the device: `kernels/held.cu`.

pub(super) mod layout;

use std::collections::HashMap;

use shared::{EntityId, WorldConfig};

use super::CudaBackend;
use super::device::{Device, DriverError, Kernel, Lane, NoDevice};
use super::layout::Pointer;
use super::plan::{Plan, Sizes};
use super::sort::{Doubled, passes};
use crate::frame::{Frame, Holder, region_changes_max};
use crate::levels::Levels;
use crate::state::{SlotState, Snapshot};
use layout::{BoxIndex, Held, LEVELS_MAX, Level, Region, RegionSet, SIZES};

/// The kernels by name.
pub struct HeldKernels {
    pub take_in: Kernel,
    pub bear: Kernel,
    pub count: Kernel,
    pub collect: Kernel,
    pub gather: Kernel,
    pub see: Kernel,
    pub changed_count: Kernel,
    pub changed_store: Kernel,
    pub hash: Kernel,
    pub hearings: HearingsKernels,
}

pub struct HearingsKernels {
    pub count: Kernel,
    pub collect: Kernel,
    pub gather: Kernel,
    pub hear: Kernel,
    pub partial: Kernel,
    pub offsets: Kernel,
    pub store: Kernel,
}

impl HeldKernels {
    /// They must have been built for these very structures.
    pub fn load(device: &Device) -> Result<HeldKernels, NoDevice> {
        let mut built = [0; SIZES.len()];
        device.read_global("held_layout_bytes", &mut built)?;
        if built != SIZES {
            return Err(NoDevice::Kernels(format!(
                "they were built for region structures of {built:?} bytes, not {SIZES:?}; \
                 rebuild them"
            )));
        }
        Ok(HeldKernels {
            take_in: device.kernel("held_take_in")?,
            bear: device.kernel("held_bear")?,
            count: device.kernel("held_count")?,
            collect: device.kernel("held_collect")?,
            gather: device.kernel("held_gather")?,
            see: device.kernel("interest_held_see")?,
            changed_count: device.kernel("interest_held_changed_count")?,
            changed_store: device.kernel("interest_held_changed_store")?,
            hash: device.kernel("held_hash")?,
            hearings: HearingsKernels {
                count: device.kernel("hearings_count")?,
                collect: device.kernel("hearings_collect")?,
                gather: device.kernel("hearings_gather")?,
                hear: device.kernel("hearings_hear")?,
                partial: device.kernel("hearings_partial")?,
                offsets: device.kernel("hearings_offsets")?,
                store: device.kernel("hearings_store")?,
            },
        })
    }
}

/// Whether a world has regions at all.
pub fn has_regions(config: &WorldConfig) -> bool {
    config.limits.regions_per_client > 0 || config.limits.entity_regions
}

/// What kernels are told of a world's boxes; nothing where it has none.
pub fn held(config: &WorldConfig, sizes: &Sizes, plan: &Plan, base: Pointer) -> Held {
    let at = |name: &str| plan.place(base, name);
    let mut held = Held::default();
    if !has_regions(config) && sizes.notifications == 0 {
        return held;
    }
    let levels = Levels::new(config);
    for (to, level) in held.level.iter_mut().zip(levels.all()) {
        *to = Level {
            base: level.base,
            edge: level.edge as u32,
            cells: level.cells.map(|cells| cells as u32),
        };
    }
    let index = |names: [&str; 4], n: u64| {
        // What the sort is given lies so that what it gives back lies first.
        let odd = u64::from(passes(sizes.box_key_bits) % 2) * n;
        let [keys, numbers, boxes, starts] = names.map(at);
        BoxIndex {
            keys,
            numbers,
            boxes,
            starts,
            given_keys: keys + odd * 8,
            given_numbers: numbers + odd * 4,
        }
    };
    Held {
        per_client: config.limits.regions_per_client,
        of_entities: u32::from(config.limits.entity_regions),
        levels: levels.all().len() as u32,
        hearings_max: config.limits.client_hearings_per_tick,
        hearing_places: hearing_places(config),
        newborn: at("newborn regions"),
        clients: at("regions"),
        publications: at("publications"),
        subscriptions: at("subscriptions"),
        published: index(
            [
                "publication keys",
                "publication slots",
                "publication boxes",
                "publication levels",
            ],
            sizes.carriers,
        ),
        areas: index(
            ["area keys", "area numbers", "area boxes", "area levels"],
            sizes.notifications,
        ),
        heard: at("heard"),
        heard_counts: at("heard counts"),
        ..held
    }
}

/// Places in which a client's hearings are sorted.
fn hearing_places(config: &WorldConfig) -> u32 {
    let most = config.limits.client_hearings_per_tick;
    most.max(64).next_power_of_two()
}

/// The memory of an index that is sorted, of up to `n` boxes.
pub fn sorted(index: &BoxIndex, n: u64) -> [Doubled; 2] {
    let doubled = |first: Pointer, bytes: u64| Doubled {
        first,
        second: first + bytes * n,
    };
    [doubled(index.keys, 8), doubled(index.numbers, 4)]
}

/// By kind, the edges of what newborns carry: six numbers, 0 for none.
pub fn newborn_edges(config: &WorldConfig) -> Vec<i32> {
    let edges = |regions: &shared::config::KindRegions| {
        [regions.publishes, regions.subscribes].map(Option::unwrap_or_default)
    };
    let kinds = config.kind_regions.iter();
    kinds.flat_map(edges).flatten().collect()
}

/// A frame's changes of regions on their way to the device. The device applies them
/// side by side, so of several of one holder only the last one goes there.
#[derive(Default)]
pub struct RegionStaging {
    pub sets: Vec<RegionSet>,
    places: HashMap<Holder, usize>,
}

/// What they came to.
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
                // Whether its holder lives is known on the device alone.
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

fn region_set(
    holder: Holder,
    region: &Option<crate::frame::Region>,
    config: &WorldConfig,
) -> RegionSet {
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

impl CudaBackend {
    /// Where one of the two ticks' hearings go: offsets by client, and numbers.
    pub(super) fn hearings_at(&self, parity: u64) -> [Pointer; 2] {
        let at = |name: &str, words: u64| self.plan.place(self.base, name) + parity * words * 4;
        [
            at("hearing offsets", self.sizes.clients),
            at("hearings", self.sizes.hearings),
        ]
    }

    /// The regions of clients, publications and subscriptions, as snapshots hold
    /// them. What the dead carried is still there, and doesn't count.
    pub(super) fn fetch_regions(
        &self,
        states: &[u32],
    ) -> Result<[Vec<Option<crate::frame::Region>>; 3], DriverError> {
        let (s, held) = (&self.sizes, &self.held);
        let clients: Vec<Region> = self.fetch(held.clients, s.client_regions)?;
        let of_entities = |from: Pointer| -> Result<_, DriverError> {
            let regions: Vec<Region> = self.fetch(from, s.carriers)?;
            let each = regions.iter().zip(states);
            let living = each.map(|(region, &state)| {
                host_region(region).filter(|_| state == SlotState::Live as u32)
            });
            Ok(living.collect())
        };
        Ok([
            clients.iter().map(host_region).collect(),
            of_entities(held.publications)?,
            of_entities(held.subscriptions)?,
        ])
    }

    pub(super) fn put_regions(&self, snapshot: &Snapshot) -> Result<(), DriverError> {
        let held = &self.held;
        for (to, regions) in [
            (held.clients, &snapshot.regions),
            (held.publications, &snapshot.publications),
            (held.subscriptions, &snapshot.subscriptions),
        ] {
            let regions: Vec<Region> = regions.iter().map(device_region).collect();
            self.device.upload(Lane::Work, to, &regions)?;
            self.device.synchronize(Lane::Work)?;
        }
        Ok(())
    }
}

fn device_region(region: &Option<crate::frame::Region>) -> Region {
    let Some(crate::frame::Region { low, high, follows }) = *region else {
        return Region::default();
    };
    let (tag, slot, generation) = match follows {
        None => (1, 0, 0),
        Some(entity) => (2, entity.slot.0, entity.generation),
    };
    Region {
        tag,
        slot,
        generation,
        low,
        high,
    }
}

fn host_region(region: &Region) -> Option<crate::frame::Region> {
    let follows = match region.tag {
        0 => return None,
        1 => None,
        _ => Some(EntityId::new(region.slot, region.generation)),
    };
    Some(crate::frame::Region {
        low: region.low,
        high: region.high,
        follows,
    })
}

const _: () = assert!(LEVELS_MAX < 32);
