//! The world from above, read from the mirror a few slots at a time: how many entities are
//! where, and the entities of some areas one by one. What the whole world shares is nowhere.

use std::time::Duration;

use frontend::mirror::{SharedMirror, Spot};
use serde::Serialize;
use shared::{EntityId, Fixed, WorldConfig};

/// How many entities are in each cell of a grid over the whole world.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Density {
    pub tick: u64,
    pub columns: usize,
    pub rows: usize,
    /// Row after row, from the place of the smallest coordinates on.
    pub cells: Vec<u32>,
    /// By kind: entities.
    pub kinds: Vec<u32>,
}

/// A square of the world, in the world's units: its centre, and the length of its edges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub centre: [f64; 2],
    pub edge: f64,
}

/// The entities of an area.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Crowd {
    /// How many there are. Only the first [`ENTITIES_MAX`] are listed, by slot.
    pub total: usize,
    /// Slot, kind, x, y.
    pub entities: Vec<(u32, u16, f32, f32)>,
}

/// The result of one survey.
#[derive(Clone, Debug, Default)]
pub struct SurveyResult {
    pub density: Density,
    /// By area.
    pub crowds: Vec<Crowd>,
}

/// Surveys the world again and again.
pub struct Surveyor {
    mirror: SharedMirror,
    /// In raw units.
    size: [i64; 2],
    /// By kind: whether its entities are things, which are nowhere.
    things: Vec<bool>,
    shared: Option<EntityId>,
    spots: Vec<Spot>,
}

impl Surveyor {
    pub fn new(world: &WorldConfig, mirror: SharedMirror) -> Surveyor {
        Surveyor {
            mirror,
            size: size_of(world),
            things: things_of(world),
            shared: world.schema.world_entity(),
            spots: vec![],
        }
    }

    /// Reads all entities. The parts of the world may be of different ticks, as the world runs
    /// meanwhile.
    pub fn look(&mut self, areas: &[Area]) -> SurveyResult {
        let mut found = SurveyResult::new(self.size, self.things.len(), areas);
        let capacity = self.mirror.read().capacity();
        for first in (0..capacity).step_by(SLOTS_AT_ONCE) {
            self.spots.clear();
            // The tick thread waits for a reader, so one takes microseconds.
            {
                let mirror = self.mirror.read();
                let slots = first..(first + SLOTS_AT_ONCE).min(capacity);
                mirror.spots(slots, &mut self.spots);
                found.density.tick = mirror.tick().0;
            }
            let placed = |spot: &&Spot| Some(spot.entity) != self.shared;
            for spot in self.spots.iter().filter(placed) {
                found.take(self.size, &self.things, areas, spot);
            }
        }
        found
    }
}

/// The size along the axes that are seen from above, in raw units.
fn size_of(world: &WorldConfig) -> [i64; 2] {
    let size = world.size_raw();
    [i64::from(size[0]), i64::from(size[1])]
}

fn things_of(world: &WorldConfig) -> Vec<bool> {
    let kinds = (0..).take(world.schema.kinds.len());
    kinds.map(|kind| world.schema.is_thing(kind)).collect()
}

/// One survey of entities that stand still.
pub fn survey_of(
    world: &WorldConfig,
    tick: u64,
    spots: impl Iterator<Item = Spot>,
    areas: &[Area],
) -> SurveyResult {
    let size = size_of(world);
    let mut found = SurveyResult::new(size, world.schema.kinds.len(), areas);
    found.density.tick = tick;
    let shared = world.schema.world_entity();
    let things = things_of(world);
    let placed = spots.filter(|spot| Some(spot.entity) != shared);
    placed.for_each(|spot| found.take(size, &things, areas, &spot));
    found
}

impl SurveyResult {
    fn new(size: [i64; 2], kinds: usize, areas: &[Area]) -> SurveyResult {
        let longest = size[0].max(size[1]);
        let cells = |size: i64| (size * CELLS_MAX / longest).max(1) as usize;
        let (columns, rows) = (cells(size[0]), cells(size[1]));
        SurveyResult {
            density: Density {
                tick: 0,
                columns,
                rows,
                cells: vec![0; columns * rows],
                kinds: vec![0; kinds],
            },
            crowds: vec![Crowd::default(); areas.len()],
        }
    }

    fn take(&mut self, size: [i64; 2], things: &[bool], areas: &[Area], spot: &Spot) {
        let density = &mut self.density;
        density.kinds[usize::from(spot.kind)] += 1;
        if things[usize::from(spot.kind)] {
            return;
        }
        let cell = |axis: usize, cells: usize| {
            let place = i64::from(spot.position[axis]) * cells as i64 / size[axis];
            place.clamp(0, cells as i64 - 1) as usize
        };
        let place = cell(1, density.rows) * density.columns + cell(0, density.columns);
        density.cells[place] += 1;
        for (area, crowd) in areas.iter().zip(&mut self.crowds) {
            crowd.take(area, spot);
        }
    }
}

impl Crowd {
    fn take(&mut self, area: &Area, spot: &Spot) {
        let [x, y] = [0, 1].map(|axis| Fixed::from_raw(spot.position[axis]).to_f64());
        let is_within =
            |place: f64, axis: usize| (place - area.centre[axis]).abs() <= area.edge / 2.0;
        if !is_within(x, 0) || !is_within(y, 1) {
            return;
        }
        self.total += 1;
        if self.entities.len() < ENTITIES_MAX {
            let slot = spot.entity.slot.0;
            self.entities.push((slot, spot.kind, x as f32, y as f32));
        }
    }
}

/// How long to wait after a survey that took so long: a survey every half second, and a twentieth
/// of a core in the largest worlds.
pub fn pause_after(look: Duration) -> Duration {
    (look * 19).max(PERIOD_MIN)
}

const PERIOD_MIN: Duration = Duration::from_millis(500);
/// Cells along the longer side of the world.
const CELLS_MAX: i64 = 64;
/// Listed of one area.
pub const ENTITIES_MAX: usize = 2000;
/// Reading so many takes some ten microseconds.
const SLOTS_AT_ONCE: usize = 1024;

#[cfg(test)]
mod tests {
    use device::cpu::Workers;
    use frontend::mirror::Mirror;
    use gpu_kernels::{Backend, CpuBackend, Frame};
    use shared::wire::movement::MovementCodec;
    use shared::{CommandKind, EntityId, Tick};

    use super::*;

    #[test]
    fn a_look_finds_every_living_entity_where_it_is() {
        let text = "[world]\nsize = [200, 100]\ncapacity = 4000\n[limits]\nclients = 1\n\
                    [[kind]]\nname = \"player\"\n[[kind]]\nname = \"npc\"\n";
        let config = world_file::parse(text, "test").unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let movement = MovementCodec::new(&config.schema).unwrap();
        let mirror = SharedMirror::new(Mirror::new(&config, movement));
        let workers = Workers::new(1).unwrap();
        let unit = Fixed::ONE.raw();
        let mut frame = Frame::new(Tick(0));
        for token in 0..3000 {
            frame.spawn_at(1, token, &[10 * unit, 10 * unit]);
        }
        frame.spawn_at(0, 0, &[199 * unit, 99 * unit]);
        frame.spawn_at(0, 1, &[150 * unit, 50 * unit]);
        mirror
            .write()
            .apply(&workers, &backend.tick(&frame).unwrap());
        let mut frame = Frame::new(Tick(1));
        frame.push(EntityId::new(3001, 1), 0, CommandKind::DESPAWN, &[]);
        mirror
            .write()
            .apply(&workers, &backend.tick(&frame).unwrap());

        let mut surveyor = Surveyor::new(&config, mirror);
        let area = |x: f64, y: f64, edge: f64| Area {
            centre: [x, y],
            edge,
        };
        let found = surveyor.look(&[area(10.0, 10.0, 2.0), area(190.0, 90.0, 20.0)]);
        let density = found.density;
        assert_eq!((density.columns, density.rows, density.tick), (64, 32, 1));
        assert_eq!(density.kinds, [1, 3000]);
        let filled = (0..).zip(density.cells).filter(|cell| cell.1 > 0);
        let filled: Vec<(usize, u32)> = filled.collect();
        assert_eq!(filled, [(3 * 64 + 3, 3000), (31 * 64 + 63, 1)]);
        let [crowd, single] = &found.crowds[..] else {
            panic!("two areas");
        };
        assert_eq!((crowd.total, crowd.entities.len()), (3000, ENTITIES_MAX));
        assert_eq!(single.entities, [(3000, 0, 199.0, 99.0)]);
    }

    #[test]
    fn large_worlds_are_surveyed_less_often() {
        assert_eq!(pause_after(Duration::from_millis(2)), PERIOD_MIN);
        let slow = Duration::from_millis(100);
        assert_eq!(pause_after(slow), slow * 19);
    }
}
