//! A world that stands still between two ticks, in which a command can be run alone.

use std::path::Path;

use anyhow::{Context, Result, bail};
use durability::recording::{NextTick, RecordingReader};
use gpu_kernels::{Backend, CpuBackend, Frame, SlotState, Snapshot};
use platform::metrics::machine;
use script::arith;
use script::interpreter::World;
use script::logic::with_logic;
use shared::{EntityId, EntityRef, Slot, Tick, WorldConfig};

/// A world and its state.
pub struct Still {
    pub config: WorldConfig,
    pub snapshot: Snapshot,
}

impl Still {
    /// A new world: its populations, and players side by side in the middle, in the lowest
    /// slots.
    pub fn new(config: WorldConfig, players: u32) -> Result<Still> {
        let mut backend = CpuBackend::new(&config, machine::cores(), None)?;
        let mut frame = Frame::new(Tick(0));
        let middle = config.size_raw().map(|size| size / 2);
        for player in 0..players {
            let mut place = middle;
            place[0] = place[0].saturating_add(player as i32 * shared::Fixed::ONE.raw());
            frame.spawn_at(config.player_kind, player, &place[..config.dimensions()]);
        }
        frame.populate(&config);
        backend.tick(&frame)?;
        let snapshot = backend.snapshot()?;
        Ok(Still { config, snapshot })
    }

    /// The world of a recording before a tick; `None`: after its last.
    pub fn recorded(path: &Path, tick: Option<u64>) -> Result<Still> {
        let mut recording = RecordingReader::open(path)?;
        let mut backend = CpuBackend::new(
            &recording.config,
            machine::cores(),
            machine::memory_available(),
        )?;
        let mut ticks = 0;
        while tick.is_none_or(|tick| ticks < tick) {
            match recording.next_tick() {
                NextTick::Tick(frame, _) => backend.tick(&frame)?,
                NextTick::End | NextTick::BrokenOff(_) if tick.is_none() => break,
                NextTick::End => bail!("{} has only {ticks} ticks", path.display()),
                NextTick::BrokenOff(reason) => {
                    bail!("{} breaks off at tick {ticks}: {reason}", path.display())
                }
            };
            ticks += 1;
        }
        let snapshot = backend.snapshot()?;
        let config = with_logic(&recording.config, &snapshot.logic)
            .map_err(|problems| anyhow::anyhow!("{}", problems[0]))
            .context("the recording's scripts")?;
        Ok(Still { config, snapshot })
    }

    /// The entity in a slot.
    pub fn entity(&self, slot: u32) -> Option<EntityId> {
        let generation = self.generation(Slot(slot))?;
        Some(EntityId::new(slot, generation))
    }

    /// The living entity that a reference refers to.
    pub fn referred(&self, reference: EntityRef) -> Option<EntityId> {
        let entity = self.entity(reference.slot().0)?;
        reference.is_generation(entity.generation).then_some(entity)
    }

    /// A position; 0 along an axis that the world lacks.
    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let mut position = [0; 3];
        for (axis, place) in position
            .iter_mut()
            .enumerate()
            .take(self.config.dimensions())
        {
            *place = self.attribute(slot, axis);
        }
        position
    }
}

impl World for Still {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        let columns = self.config.schema.attributes.len();
        self.snapshot.rows[slot.index() * columns + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let state = self.snapshot.states.get(slot.index())?;
        (*state == SlotState::Live).then(|| self.snapshot.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.snapshot.kinds[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        let kind = &self.config.schema.kinds[usize::from(self.kind(slot))];
        let mut own = kind.attributes.iter();
        own.any(|a| usize::from(a.column) == column)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        self.config.schema.bounds(self.kind(slot).into())[column]
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        let edge = self.config.schema.world.aoi.raw();
        let all = 0..self.snapshot.states.len() as u32;
        let living = all.filter(|&slot| self.generation(Slot(slot)).is_some());
        let places = living.map(|slot| (slot, self.position(Slot(slot))));
        let mut found: Vec<_> = places
            .filter(|&(_, place)| arith::is_within(place, center, radius))
            .map(|(slot, [x, y, z])| (z / edge, y / edge, x / edge, slot))
            .collect();
        found.sort_unstable();
        slots.extend(found.into_iter().map(|(_, _, _, slot)| slot));
    }
}
