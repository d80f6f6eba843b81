//! A state as commands see it, for runs beside the world.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use script::arith::{is_within, ticks_back};
use script::census::Census;
use script::holdings::Holdings;
use script::interpreter::World;
use script::standings::Standings;
use shared::world::door::layers_with;
use shared::world::group::Relation;
use shared::world::layer::Layers;
use shared::world::ranking::Ranking;
use shared::world::schema::Schema;
use shared::{EntityId, EntityRef, Slot, WorldConfig};

use crate::slot::SlotState;
use crate::space::field;
use crate::tick::state::Snapshot;

/// The world between two ticks.
pub struct StillWorld<'a> {
    config: &'a WorldConfig,
    snapshot: &'a Snapshot,
    /// Made when it is asked for.
    buckets: OnceCell<Buckets>,
    census: OnceCell<Census>,
    standings: OnceCell<Standings>,
    holdings: OnceCell<Vec<Holdings>>,
    layers: OnceCell<Layers>,
    /// The words of fields, as they are in force.
    fields: OnceCell<Vec<i32>>,
}

/// The slots of living entities, ascending, by bucket.
pub struct Buckets {
    edge: i32,
    /// By z, y, x.
    slots: BTreeMap<(i32, i32, i32), Vec<u32>>,
}

impl Buckets {
    /// Sorts entities by their places, in raw units.
    pub fn of(config: &WorldConfig, places: impl Iterator<Item = (Slot, [i32; 3])>) -> Buckets {
        let edge = config.schema.world.aoi.raw();
        let mut slots: BTreeMap<_, Vec<u32>> = BTreeMap::new();
        for (slot, place) in places {
            let [x, y, z] = place.map(|axis| axis / edge);
            slots.entry((z, y, x)).or_default().push(slot.0);
        }
        Buckets { edge, slots }
    }

    /// The slots around a point, as [`World::near`] gives them.
    pub fn near(
        &self,
        center: [i32; 3],
        radius: i32,
        place: impl Fn(Slot) -> [i32; 3],
        slots: &mut Vec<u32>,
    ) {
        let low = center.map(|axis| axis.saturating_sub(radius).max(0) / self.edge);
        let high = center.map(|axis| axis.saturating_add(radius) / self.edge);
        let (first, last) = ((low[2], low[1], low[0]), (high[2], high[1], high[0]));
        if first > last {
            return;
        }
        let touched = self.slots.range(first..=last).filter(|((_, y, x), _)| {
            (low[1]..=high[1]).contains(y) && (low[0]..=high[0]).contains(x)
        });
        let near = touched.flat_map(|(_, slots)| slots);
        slots.extend(near.filter(|&&slot| is_within(place(Slot(slot)), center, radius)));
    }
}

/// Rankings of entities, of which each ranking has the values and slots.
pub fn ranked(
    rankings: &[Ranking],
    slots_max: usize,
    entities: impl Fn(&Ranking) -> Vec<(i32, Slot)>,
) -> Standings {
    let mut standings = Standings::new(rankings.len(), slots_max);
    for (number, ranking) in rankings.iter().enumerate() {
        let mut own = entities(ranking);
        own.sort_unstable_by_key(|&(value, slot)| (ranking.key(value), slot));
        standings.set(number, own.into_iter().map(|(_, slot)| slot.0));
    }
    standings
}

/// The slot of the living entity that holds a thing, or of the group of a member; `None` if it has
/// none that can be.
fn related(schema: &Schema, world: &impl World, relation: Relation, slot: Slot) -> Option<Slot> {
    let own = world.kind(slot);
    let reference = EntityRef(world.attribute(slot, relation.column.into()));
    let other = reference.slot();
    let generation = world.generation(other)?;
    let is_meant = reference.is_generation(generation);
    (is_meant && schema.relates(relation, own, world.kind(other))).then_some(other)
}

/// By relation: the things of each holder, or the members of each group, among some living entities.
pub fn held(
    schema: &Schema,
    world: &impl World,
    slots_max: usize,
    living: &[Slot],
) -> Vec<Holdings> {
    let of_relation = |relation| {
        let pairs = living
            .iter()
            .filter_map(|&slot| Some((related(schema, world, relation, slot)?.0, slot.0)));
        Holdings::of(slots_max, pairs)
    };
    schema.relations().map(of_relation).collect()
}

impl<'a> StillWorld<'a> {
    pub fn new(config: &'a WorldConfig, snapshot: &'a Snapshot) -> StillWorld<'a> {
        StillWorld {
            config,
            snapshot,
            buckets: OnceCell::new(),
            census: OnceCell::new(),
            standings: OnceCell::new(),
            holdings: OnceCell::new(),
            layers: OnceCell::new(),
            fields: OnceCell::new(),
        }
    }

    /// The entity in a slot.
    pub fn entity(&self, slot: u32) -> Option<EntityId> {
        let generation = self.generation(Slot(slot))?;
        Some(EntityId::new(slot, generation))
    }

    /// The slots of all that live, but not of what the whole world shares.
    fn living(&self) -> impl Iterator<Item = Slot> + '_ {
        let all = (0..self.snapshot.states.len() as u32).map(Slot);
        let shared = self.config.schema.world_entity().map(|entity| entity.slot);
        all.filter(move |&slot| self.generation(slot).is_some() && Some(slot) != shared)
    }

    /// A position; 0 along an axis that the world lacks.
    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        let axes = self.config.dimensions();
        for (axis, place) in position.iter_mut().enumerate().take(axes) {
            *place = self.attribute(slot, axis);
        }
        position
    }
}

impl World for StillWorld<'_> {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        let columns = self.config.schema.attributes.len();
        let place = slot.index() * columns + column;
        self.snapshot.rows.get(place).copied().unwrap_or(0)
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let state = self.snapshot.states.get(slot.index())?;
        (*state == SlotState::Live).then(|| self.snapshot.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.snapshot.kinds[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = self.config.schema.kinds.get(usize::from(self.kind(slot)));
        let mut own = kind.into_iter().flat_map(|kind| &kind.attributes);
        self.generation(slot).is_some() && own.any(|a| usize::from(a.column) == column)
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        let kept = self.config.limits.rewind_ticks;
        if kept == 0 {
            return -1;
        }
        let now = self.snapshot.tick;
        let back = ticks_back(now.low().cast_signed(), tick, kept);
        let kept = u64::from(kept);
        let ring = ((now.0 % kept + kept - u64::from(back)) % kept) as usize;
        let axes = self.config.dimensions();
        let slots = self.snapshot.states.len();
        let place = (ring * slots + slot.index()) * axes + axis;
        self.snapshot.past.get(place).copied().unwrap_or(0) - 1
    }

    fn layer(&self, place: i32) -> i32 {
        let layers = self.layers.get_or_init(|| {
            let schema = &self.config.schema;
            let columns = self.config.schema.attributes.len();
            let row = |slot: Slot| &self.snapshot.rows[slot.index() * columns..][..columns];
            let entities = self.living().map(|slot| (self.kind(slot), row(slot)));
            let edited = schema.layers.with_edits(&self.snapshot.edits);
            layers_with(&schema.doors, &edited, entities)
        });
        layers.word(place)
    }

    fn field(&self, place: i32) -> i32 {
        let words = self.fields.get_or_init(|| {
            let schema = &self.config.schema;
            let states = self.snapshot.fields.iter().map(|state| &state.in_force);
            field::steps(&schema.layers, &schema.fields, states)
        });
        let place = usize::try_from(place).ok();
        let word = place.and_then(|place| words.get(place));
        word.copied().unwrap_or(0)
    }

    fn census(&self) -> Option<&Census> {
        Some(self.census.get_or_init(|| {
            let living = self.living().map(|slot| (self.kind(slot), slot.0));
            Census::of(self.config.schema.kinds.len(), living)
        }))
    }

    fn standings(&self) -> Option<&Standings> {
        Some(self.standings.get_or_init(|| {
            let slots_max = self.snapshot.states.len();
            ranked(&self.config.schema.rankings, slots_max, |ranking| {
                let own = self
                    .living()
                    .filter(|&slot| self.kind(slot) == ranking.kind);
                own.map(|slot| (self.attribute(slot, ranking.column.into()), slot))
                    .collect()
            })
        }))
    }

    fn holdings(&self, relation: u8) -> Option<&Holdings> {
        let all = self.holdings.get_or_init(|| {
            let slots_max = self.snapshot.states.len();
            let living: Vec<Slot> = self.living().collect();
            held(&self.config.schema, self, slots_max, &living)
        });
        all.get(usize::from(relation))
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let buckets = self.buckets.get_or_init(|| {
            let schema = &self.config.schema;
            let placed = |slot: &Slot| !schema.is_thing(self.kind(*slot));
            let places = self
                .living()
                .filter(placed)
                .map(|slot| (slot, self.position(slot)));
            Buckets::of(self.config, places)
        });
        buckets.near(center, radius, |slot| self.position(slot), slots);
    }
}
