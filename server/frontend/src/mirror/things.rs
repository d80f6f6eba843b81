//! Things by their holders, for clients that see them. Worlds that show none have nothing of it.

use std::collections::BTreeSet;

use gpu_kernels::TickOutput;
use shared::world::config::WorldConfig;
use shared::world::schema::Schema;
use shared::world::shown::{Shown, ShownThings};
use shared::{EntityId, EntityRef, Slot};

use super::Mirror;

/// Who holds which things, after a tick.
pub struct Things {
    shown: ShownThings,
    /// The column with the holders.
    column: usize,
    /// By kind, and by that of the thing: whether an entity can hold it.
    can_hold: Vec<Vec<bool>>,
    /// By kind.
    are_things: Vec<bool>,
    /// A holder and a thing of it, by slot.
    pairs: BTreeSet<(u32, u32)>,
    /// By slot: the living holder of a thing, or [`NOBODY`].
    holders: Vec<u32>,
    /// Holders of whose things, directly or in other things, some came, went or changed in this
    /// tick. Ascending.
    stirred: Vec<u32>,
}

impl Things {
    /// `None` for a world that shows none.
    pub fn of(config: &WorldConfig) -> Option<Things> {
        let schema = &config.schema;
        let column = schema.holder_column().filter(|_| config.shown.are_some())?;
        let kinds = || 0..u16::try_from(schema.kinds.len()).unwrap_or(u16::MAX);
        let can_hold = |holder: u16| {
            let things = kinds().map(|thing| schema.can_hold(holder, thing));
            things.collect()
        };
        Some(Things {
            shown: config.shown.clone(),
            column,
            can_hold: kinds().map(can_hold).collect(),
            are_things: are_things(schema),
            pairs: BTreeSet::new(),
            holders: vec![NOBODY; schema.world.capacity as usize],
            stirred: vec![],
        })
    }

    /// Which things clients see.
    pub fn shown(&self) -> &ShownThings {
        &self.shown
    }

    /// Holders of whose things some came, went or changed in this tick, ascending.
    pub fn stirred(&self) -> &[u32] {
        &self.stirred
    }

    /// Whether something came, went or changed among the things of an entity in this tick, also in
    /// other things of it.
    pub fn is_stirred(&self, holder: Slot) -> bool {
        self.stirred.binary_search(&holder.0).is_ok()
    }

    /// The things that an entity holds itself, by slot.
    pub fn held_by(&self, holder: Slot) -> impl Iterator<Item = Slot> + '_ {
        let pairs = self.pairs.range((holder.0, 0)..=(holder.0, u32::MAX));
        pairs.map(|&(_, thing)| Slot(thing))
    }

    /// Applies a tick, which the rest of the mirror has applied.
    fn take(&mut self, mirror: &Mirror, output: &TickOutput) {
        self.stirred.clear();
        for dead in &output.deaths {
            self.stir(dead.slot.0);
            self.unlink(dead.slot.0);
            let things: Vec<Slot> = self.held_by(dead.slot).collect();
            things.into_iter().for_each(|thing| self.unlink(thing.0));
        }
        for birth in &output.births {
            if let Some(entity) = birth.entity
                && self.are_things[usize::from(birth.kind)]
            {
                self.link(mirror, entity);
            }
        }
        for (slot, columns, _) in output.changes.range(0..output.changes.slots.len()) {
            let kind = mirror.kind(slot);
            if !self.are_things[usize::from(kind)] {
                continue;
            }
            if columns
                .iter()
                .any(|&column| usize::from(column) == self.column)
            {
                self.stir(slot.0);
                self.unlink(slot.0);
                self.link(mirror, mirror.id(slot));
            } else {
                let own = mirror.masks(slot);
                if mirror.columns_to_send(slot) & (own.state | own.private) != 0 {
                    self.stir(slot.0);
                }
            }
        }
        self.stirred.sort_unstable();
        self.stirred.dedup();
    }

    /// Finds all holders anew, by the rest of the mirror.
    fn restore(&mut self, mirror: &Mirror) {
        self.stirred.clear();
        self.holders.fill(NOBODY);
        let mut pairs = vec![];
        for entry in mirror.entities.iter().filter(|entry| entry.is_alive) {
            if self.are_things[usize::from(entry.kind)]
                && let Some(holder) = self.holder(mirror, entry.id)
            {
                self.holders[entry.id.slot.index()] = holder.0;
                pairs.push((holder.0, entry.id.slot.0));
            }
        }
        self.pairs = pairs.into_iter().collect();
    }

    /// The living holder of a living thing.
    fn holder(&self, mirror: &Mirror, thing: EntityId) -> Option<Slot> {
        mirror
            .living(thing.slot)
            .filter(|living| *living == thing)?;
        let reference = EntityRef(mirror.row(thing.slot)[self.column]);
        let holder = mirror.referred(reference)?.slot;
        let (of_holder, own) = (mirror.kind(holder), mirror.kind(thing.slot));
        self.can_hold[usize::from(of_holder)][usize::from(own)].then_some(holder)
    }

    fn link(&mut self, mirror: &Mirror, thing: EntityId) {
        if let Some(holder) = self.holder(mirror, thing) {
            self.holders[thing.slot.index()] = holder.0;
            self.pairs.insert((holder.0, thing.slot.0));
            self.stir(thing.slot.0);
        }
    }

    fn unlink(&mut self, thing: u32) {
        let holder = std::mem::replace(&mut self.holders[thing as usize], NOBODY);
        if holder != NOBODY {
            self.pairs.remove(&(holder, thing));
        }
    }

    /// Notes an entity, and all that hold it. Each is of a kind before those that it holds, so they
    /// end.
    fn stir(&mut self, slot: u32) {
        let mut next = slot;
        while next != NOBODY {
            self.stirred.push(next);
            next = self.holders[next as usize];
        }
    }
}

impl Mirror {
    /// Things by their holders, in worlds that show any to clients.
    pub fn things(&self) -> Option<&Things> {
        self.things.as_deref()
    }

    /// The living entity to which a reference refers.
    pub fn referred(&self, reference: EntityRef) -> Option<EntityId> {
        let living = self.living(reference.slot())?;
        reference.is_generation(living.generation).then_some(living)
    }

    /// Appends the things that an entity holds, directly or in other things, of those that clients
    /// see: first what it holds itself, then what that holds, each by slot. At most so many. If
    /// `of_another`, only those that are seen of entities in view.
    pub fn bag(&self, holder: Slot, of_another: bool, most: usize, bag: &mut Vec<Slot>) {
        let Some(things) = &self.things else { return };
        let is_seen = |thing: &Slot| match things.shown.of(self.kind(*thing)) {
            Shown::None => false,
            Shown::Holder => !of_another,
            Shown::All => true,
        };
        let (start, mut next) = (bag.len(), Some(holder));
        let mut place = start;
        while let Some(holder) = next
            && bag.len() - start < most
        {
            let left = most - (bag.len() - start);
            bag.extend(things.held_by(holder).filter(is_seen).take(left));
            next = bag.get(place).copied();
            place += 1;
        }
    }

    /// Follows a tick's changes to things, which the rest of the mirror has applied.
    pub(super) fn follow_things(&mut self, output: &TickOutput) {
        if let Some(mut things) = self.things.take() {
            things.take(self, output);
            self.things = Some(things);
        }
    }

    /// Finds the holders of all things anew, once all entities are there.
    pub(super) fn restore_things(&mut self) {
        if let Some(mut things) = self.things.take() {
            things.restore(self);
            self.things = Some(things);
        }
    }
}

fn are_things(schema: &Schema) -> Vec<bool> {
    let kinds = 0..u16::try_from(schema.kinds.len()).unwrap_or(u16::MAX);
    kinds.map(|kind| schema.is_thing(kind)).collect()
}

/// No slot.
const NOBODY: u32 = u32::MAX;

#[cfg(test)]
mod tests;
