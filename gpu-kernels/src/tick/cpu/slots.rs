use shared::{EntityId, EntityRef, Slot, WorldConfig};

use crate::slot::SlotState;
use crate::tick::state::Snapshot;

/// The slots, with the entity in each.
pub struct Slots {
    states: Vec<SlotState>,
    generations: Vec<u32>,
    kinds: Vec<u16>,
    /// A bit for each free slot.
    free: Vec<u64>,
    /// No slot below this word of `free` is free.
    free_hint: usize,
    /// No slot from this on was ever filled.
    used: usize,
    /// Without those that are nowhere.
    live: usize,
    /// The slot of the entity that has what the whole world shares. It is nowhere, too.
    shared: Option<usize>,
    /// By kind: whether its entities are things, which are nowhere. Empty in worlds without things.
    things: Vec<bool>,
    /// How often anything of this changed.
    version: u64,
    /// The slots that the newest changes were of.
    log: Vec<u32>,
}

impl Slots {
    pub fn new(config: &WorldConfig) -> Slots {
        let capacity = config.schema.world.capacity as usize;
        let mut slots = Slots {
            states: vec![SlotState::Free; capacity],
            generations: vec![0; capacity],
            kinds: vec![0; capacity],
            free: vec![0; capacity.div_ceil(64)],
            free_hint: 0,
            used: 0,
            live: 0,
            shared: config
                .schema
                .world_entity()
                .map(|entity| entity.slot.index()),
            things: match config.schema.holder_column() {
                None => vec![],
                Some(_) => {
                    let kinds = 0..config.schema.kinds.len();
                    kinds
                        .map(|kind| config.schema.is_thing(kind as u16))
                        .collect()
                }
            },
            version: 0,
            log: vec![],
        };
        slots.rebuild();
        slots
    }

    pub fn states(&self) -> &[SlotState] {
        &self.states
    }

    pub fn generations(&self) -> &[u32] {
        &self.generations
    }

    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }

    /// Slots from this on were never filled.
    pub fn used(&self) -> usize {
        self.used
    }

    pub fn live(&self) -> usize {
        self.live
    }

    /// A number that is another one once anything has changed.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The slots that have changed since a version, in the order of their changes. `None`: that is
    /// not known, and all may have.
    pub fn changed_since(&self, version: u64) -> Option<&[u32]> {
        let changes = usize::try_from(self.version - version).ok()?;
        let known = self.log.len().checked_sub(changes)?;
        Some(&self.log[known..])
    }

    pub fn is_live(&self, slot: usize) -> bool {
        self.states[slot] == SlotState::Live
    }

    /// Whether an entity lives in a slot that is somewhere in the world.
    #[inline]
    pub fn is_somewhere(&self, slot: usize) -> bool {
        self.is_one(slot) && !self.is_thing_kind(self.kinds[slot])
    }

    /// Whether an entity lives in a slot, and is not what the whole world shares.
    #[inline]
    pub fn is_one(&self, slot: usize) -> bool {
        self.is_live(slot) && self.shared != Some(slot)
    }

    /// Whether the world has kinds of things.
    pub fn have_things(&self) -> bool {
        !self.things.is_empty()
    }

    /// Whether entities of a kind are things.
    #[inline]
    pub fn is_thing_kind(&self, kind: u16) -> bool {
        !self.things.is_empty() && self.things[usize::from(kind)]
    }

    /// The slot of the living entity to which a reference refers.
    #[inline]
    pub fn resolve(&self, reference: EntityRef) -> Option<usize> {
        let slot = reference.slot().index();
        let is_meant = slot < self.used
            && self.is_live(slot)
            && reference.is_generation(self.generations[slot]);
        is_meant.then_some(slot)
    }

    /// The slot of the entity that has what the whole world shares.
    pub fn shared(&self) -> Option<usize> {
        self.shared
    }

    /// Whether the entity is alive: its slot and its generation match.
    pub fn has(&self, entity: EntityId) -> bool {
        let slot = entity.slot.index();
        self.states.get(slot) == Some(&SlotState::Live)
            && self.generations[slot] == entity.generation
    }

    /// The lowest free slot.
    pub fn lowest_free(&mut self) -> Option<Slot> {
        while *self.free.get(self.free_hint)? == 0 {
            self.free_hint += 1;
        }
        let bit = self.free[self.free_hint].trailing_zeros();
        Some(Slot(self.free_hint as u32 * 64 + bit))
    }

    pub fn set(&mut self, slot: Slot, state: SlotState, kind: u16, generation: u32) {
        let i = slot.index();
        self.version += 1;
        if self.log.len() == LOG_MAX {
            self.log.clear();
        }
        self.log.push(slot.0);
        self.live -= usize::from(self.is_somewhere(i));
        self.states[i] = state;
        self.kinds[i] = kind;
        self.generations[i] = generation;
        self.live += usize::from(self.is_somewhere(i));
        if state == SlotState::Free {
            self.free[i / 64] |= 1 << (i % 64);
            self.free_hint = self.free_hint.min(i / 64);
        } else {
            self.free[i / 64] &= !(1 << (i % 64));
            self.used = self.used.max(i + 1);
        }
    }

    pub fn restore(&mut self, snapshot: &Snapshot) {
        self.states.copy_from_slice(&snapshot.states);
        self.generations.copy_from_slice(&snapshot.generations);
        self.kinds.copy_from_slice(&snapshot.kinds);
        self.rebuild();
    }

    /// Computes everything else from states and generations.
    fn rebuild(&mut self) {
        self.version += 1;
        self.log.clear();
        self.free.fill(0);
        self.free_hint = 0;
        self.used = 0;
        self.live = 0;
        for (slot, &state) in self.states.iter().enumerate() {
            self.live += usize::from(self.is_somewhere(slot));
            if state == SlotState::Free {
                self.free[slot / 64] |= 1 << (slot % 64);
            }
            if state != SlotState::Free || self.generations[slot] > 0 {
                self.used = slot + 1;
            }
        }
    }
}

/// The most changes that are remembered. After a tick with more of them, it is as quick to look at
/// all slots.
const LOG_MAX: usize = 64 * 1024;
