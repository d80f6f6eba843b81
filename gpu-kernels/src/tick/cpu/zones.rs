//! Crossings of the borders of zones: entities are compared with the zones around them, before the
//! tick and after it.

use device::cpu::{Workers, ranges};
use shared::{EntityId, Occasion, Slot, WorldConfig, Zone};

use super::State;
use super::boxes::Boxes;
use crate::logic::Catalog;
use crate::space::Area;
use crate::tick::counts::Counts;

/// The zones of a world, and where everything was after the tick before.
pub struct Zones {
    zones: Vec<Zone>,
    dimensions: usize,
    size: [i32; 3],
    /// Whether all zones stay where they are.
    are_fixed: bool,
    /// By slot.
    places: [Vec<Presence>; 2],
    /// The zones, and their boxes by number.
    boxes: [Boxes; 2],
    placed: [Vec<Placed>; 2],
}

/// Where an entity is; of generation 0 where none lives.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Presence {
    generation: u32,
    kind: u16,
    position: [i32; 3],
}

/// A zone, and who carries it: [`EntityId::NONE`] if it stays where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    zone: u16,
    /// That of the carrier, plus 1.
    slot: u32,
}

/// The places before a tick and after it.
const BEFORE: usize = 0;
const NOW: usize = 1;

impl Zones {
    /// `None` in worlds without zones.
    pub fn new(config: &WorldConfig) -> Option<Zones> {
        let zones = config.schema.zones.clone();
        if zones.is_empty() {
            return None;
        }
        let capacity = config.schema.world.capacity as usize;
        Some(Zones {
            are_fixed: zones.iter().all(|zone| zone.carrier.is_none()),
            dimensions: config.dimensions(),
            size: config.size_raw(),
            places: [0; 2].map(|_| vec![Presence::default(); capacity]),
            boxes: [0; 2].map(|_| Boxes::new(config)),
            placed: Default::default(),
            zones,
        })
    }

    /// Begins with a state.
    pub fn begin(&mut self, workers: &Workers, state: &State) {
        for _ in [BEFORE, NOW] {
            self.look(workers, state);
            self.place_zones(workers);
            self.boxes.swap(BEFORE, NOW);
            self.placed.swap(BEFORE, NOW);
            self.places.swap(BEFORE, NOW);
        }
    }

    /// Schedules the hooks of those that crossed a border in this tick: by slot, first what an
    /// entity left, by zone and carrier, then what it entered.
    pub fn watch(
        &mut self,
        workers: &Workers,
        catalog: &Catalog,
        state: &mut State,
        counts: &mut Counts,
    ) {
        self.look(workers, state);
        if !self.are_fixed {
            self.place_zones(workers);
        }
        if catalog.has_zone_hooks() {
            for (entity, crossing) in self.crossings(workers, state.slots.used()) {
                let kind = self.places[NOW][entity.slot.index()].kind;
                let carrier = self.carrier(&crossing);
                let occasion = (crossing.occasion(), kind);
                state.give_hooks(catalog, occasion, entity, carrier, counts);
            }
        }
        counts.timed = state.timed.len() as u64;
        self.end_tick();
    }

    fn end_tick(&mut self) {
        self.places.swap(BEFORE, NOW);
        if !self.are_fixed {
            self.boxes.swap(BEFORE, NOW);
            self.placed.swap(BEFORE, NOW);
        }
    }

    /// Notes where all entities are.
    fn look(&mut self, workers: &Workers, state: &State) {
        let used = state.slots.used();
        let mut rest = &mut self.places[NOW][..used];
        let parts = workers.parts(used);
        let dimensions = self.dimensions;
        let tasks = ranges(used, parts).map(|range| {
            let own = device::cpu::take(&mut rest, range.len());
            (range, own)
        });
        workers.run(tasks.collect(), |(range, places)| {
            for (slot, place) in range.zip(places) {
                *place = match state.slots.is_somewhere(slot) {
                    false => Presence::default(),
                    true => Presence {
                        generation: state.slots.generations()[slot],
                        kind: state.slots.kinds()[slot],
                        position: state.position(Slot(slot as u32), dimensions),
                    },
                };
            }
        });
    }

    /// Sorts the zones as they are now.
    fn place_zones(&mut self, workers: &Workers) {
        let places = &self.places[NOW];
        let all = self.all_placed(places);
        let areas: Vec<Area> = all.iter().map(|placed| self.area(placed, places)).collect();
        self.boxes[NOW].build(workers, (0..).zip(areas));
        self.placed[NOW] = all;
    }

    /// All zones, by zone and carrier.
    fn all_placed(&self, places: &[Presence]) -> Vec<Placed> {
        let mut all = vec![];
        for (zone, of) in (0..).zip(&self.zones) {
            match of.carrier {
                None => all.push(Placed { zone, slot: 0 }),
                Some(kind) => {
                    let slots = (1..).zip(places);
                    let carriers = slots.filter(|(_, p)| p.generation > 0 && p.kind == kind);
                    all.extend(carriers.map(|(slot, _)| Placed { zone, slot }));
                }
            }
        }
        all
    }

    /// The box around a zone, within the world.
    fn area(&self, placed: &Placed, places: &[Presence]) -> Area {
        let [low, high] = self.zones[usize::from(placed.zone)].corners();
        let origin = origin(placed, places);
        let (low, high) = (plus(low, origin), plus(high, origin));
        Area {
            low: std::array::from_fn(|axis| low[axis].max(0)),
            high: std::array::from_fn(|axis| high[axis].min(self.size[axis] - 1) + 1),
        }
    }

    fn carrier(&self, crossing: &Crossing) -> EntityId {
        let placed = crossing.placed;
        let Some(slot) = placed.slot.checked_sub(1) else {
            return EntityId::NONE;
        };
        let when = if crossing.enters { NOW } else { BEFORE };
        EntityId::new(slot, self.places[when][slot as usize].generation)
    }

    /// All crossings, in order.
    fn crossings(&self, workers: &Workers, used: usize) -> Vec<(EntityId, Crossing)> {
        let parts = workers.parts(used);
        let mut found = vec![vec![]; parts];
        let tasks = ranges(used, parts).zip(&mut found);
        workers.run(tasks.collect(), |(range, found)| {
            let mut own = vec![];
            for slot in range {
                let [before, now] = [BEFORE, NOW].map(|when| self.places[when][slot]);
                // The dead cross no borders, and who stays only those that move.
                if now.generation == 0 || self.are_fixed && before == now {
                    continue;
                }
                let entity = EntityId::new(slot as u32, now.generation);
                own.clear();
                self.crossings_of(slot, &mut own);
                own.sort_unstable();
                found.extend(own.iter().map(|&crossing| (entity, crossing)));
            }
        });
        found.concat()
    }

    fn crossings_of(&self, slot: usize, found: &mut Vec<Crossing>) {
        let generation = self.places[NOW][slot].generation;
        for (enters, when, other) in [(false, BEFORE, NOW), (true, NOW, BEFORE)] {
            let here = self.places[when][slot];
            if here.generation != generation {
                continue;
            }
            let point = Area::around(here.position, 0, self.dimensions);
            self.boxes[when].each_overlapping(&point, |number| {
                let placed = self.placed[when][number as usize];
                let is_own = placed.slot == slot as u32 + 1;
                let is_in = |when: usize| self.is_in(&placed, when, slot, generation);
                if !is_own && is_in(when) && !(self.is_same(&placed) && is_in(other)) {
                    found.push(Crossing { enters, placed });
                }
            });
        }
    }

    /// Whether a zone is the same before the tick and after it: one of another carrier in the same
    /// slot is not.
    fn is_same(&self, placed: &Placed) -> bool {
        let Some(slot) = placed.slot.checked_sub(1) else {
            return true;
        };
        let [before, now] = [BEFORE, NOW].map(|when| self.places[when][slot as usize].generation);
        before == now
    }

    fn is_in(&self, placed: &Placed, when: usize, slot: usize, generation: u32) -> bool {
        let places = &self.places[when];
        let place = places[slot];
        let zone = &self.zones[usize::from(placed.zone)];
        place.generation == generation
            && zone.contains(minus(place.position, origin(placed, places)))
    }
}

/// An entity came into a zone, or left it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    enters: bool,
    placed: Placed,
}

impl Crossing {
    fn occasion(&self) -> Occasion {
        match self.enters {
            true => Occasion::Enter(self.placed.zone),
            false => Occasion::Exit(self.placed.zone),
        }
    }
}

/// From where a zone is seen.
fn origin(placed: &Placed, places: &[Presence]) -> [i32; 3] {
    let slot = placed.slot.checked_sub(1);
    slot.map_or([0; 3], |slot| places[slot as usize].position)
}

fn plus(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| a[axis].saturating_add(b[axis]))
}

fn minus(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| a[axis].wrapping_sub(b[axis]))
}
