//! How often entities use commands: of those that clients give, not of those of rules and
//! timers.

use shared::{Slot, Tick, WorldConfig};

use super::{State, TickCommands};
use crate::tick::state::{self, part};

/// By slot, then by command that rests: the first tick in which the entity may use it again.
pub struct Ready {
    per_slot: usize,
    ticks: Vec<Tick>,
}

impl Ready {
    pub fn new(config: &WorldConfig) -> Ready {
        let per_slot = config.schema.resting_commands().count();
        Ready {
            per_slot,
            ticks: vec![Tick(0); config.schema.world.capacity as usize * per_slot],
        }
    }

    pub fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    pub fn restore(&mut self, ticks: &[Tick]) {
        self.ticks.copy_from_slice(ticks);
    }

    /// Whether any command of the world rests.
    pub fn is_used(&self) -> bool {
        self.per_slot > 0
    }
}

impl State {
    /// Whether a command rests, by its place among those that do.
    pub fn rests(&self, slot: Slot, place: usize) -> bool {
        self.ready.ticks[slot.index() * self.ready.per_slot + place] > self.tick
    }

    /// The entity has used a command, which rests for so many ticks.
    pub fn rest(&mut self, slot: Slot, place: usize, ticks: u32) {
        self.set_ready(slot, place, self.tick.after(ticks));
    }

    /// The entity dies: the next one in the slot has used nothing.
    pub fn bury_uses(&mut self, slot: Slot) {
        for place in 0..self.ready.per_slot {
            self.set_ready(slot, place, Tick(0));
        }
    }

    fn set_ready(&mut self, slot: Slot, place: usize, ready: Tick) {
        let at = slot.index() * self.ready.per_slot + place;
        let before = std::mem::replace(&mut self.ready.ticks[at], ready);
        let element = |ready| state::ready(slot.index(), place, ready);
        self.subtract(part::SLOTS, element(before));
        self.add(part::SLOTS, element(ready));
    }
}

/// Whether the entity of a frame's n-th command has given it as often before as it may. A
/// frame has the commands of an entity one after another.
#[inline]
pub fn is_surplus(most: usize, commands: TickCommands<'_>, n: usize) -> bool {
    let command = commands.get(n);
    let before = commands.given_before(n).iter().rev();
    let own = before.take_while(|other| other.entity == command.entity);
    let same = own.filter(|other| other.kind == command.kind);
    same.take(most).count() == most
}
