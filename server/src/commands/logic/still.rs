//! A world that stands still between two ticks, in which a command can be run alone.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use durability::annotations::Recipients;
use durability::recording::{NextTick, RecordingReader};
use gpu_kernels::tick::still::StillWorld;
use gpu_kernels::{Backend, CpuBackend, Frame, Snapshot};
use platform::metrics::machine;
use script::interpreter::World;
use script::logic::with_logic;
use shared::world::words::TextHandle;
use shared::{EntityId, EntityRef, Slot, Text, Tick, WorldConfig};

/// A world and its state.
pub struct Still {
    pub config: WorldConfig,
    pub snapshot: Snapshot,
    /// The texts that attributes may have.
    pub texts: BTreeMap<TextHandle, Text>,
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
        let texts = BTreeMap::new();
        Ok(Still {
            config,
            snapshot,
            texts,
        })
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
        let mut texts = BTreeMap::new();
        while tick.is_none_or(|tick| ticks < tick) {
            match recording.next_tick() {
                NextTick::Tick(next) => {
                    let said = next.annotations.said.into_iter();
                    texts.extend(said.filter_map(|saying| match saying.to {
                        Recipients::Attributes(handle) => Some((handle, saying.text)),
                        _ => None,
                    }));
                    backend.tick(&next.frame)?
                }
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
        Ok(Still {
            config,
            snapshot,
            texts,
        })
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
        self.world().position(slot)
    }

    /// As commands see it.
    pub fn world(&self) -> StillWorld<'_> {
        StillWorld::new(&self.config, &self.snapshot)
    }
}

impl World for Still {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.world().attribute(slot, column)
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        self.world().generation(slot)
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.world().kind(slot)
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.world().has(slot, column)
    }

    fn past(&self, slot: Slot, axis: usize, tick: i32) -> i32 {
        self.world().past(slot, axis, tick)
    }

    fn bounds(&self, slot: Slot, column: usize) -> (i32, i32) {
        self.config.schema.bounds(self.kind(slot).into())[column]
    }

    fn layer(&self, place: i32) -> i32 {
        self.world().layer(place)
    }

    fn field(&self, place: i32) -> i32 {
        self.world().field(place)
    }

    fn count(&self, kind: u16) -> u32 {
        self.world().count(kind)
    }

    fn nth(&self, kind: u16, place: u32) -> Option<Slot> {
        self.world().nth(kind, place)
    }

    fn held(&self, relation: u8, holder: Slot, place: u32) -> Option<Slot> {
        self.world().held(relation, holder, place)
    }

    fn rank(&self, ranking: u16, slot: Slot) -> u32 {
        self.world().rank(ranking, slot)
    }

    fn ranked(&self, ranking: u16, place: u32) -> Option<Slot> {
        self.world().ranked(ranking, place)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.world().near(center, radius, slots);
    }
}
