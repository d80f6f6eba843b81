//! Things by their holders, for clients that see them. Worlds that show none have nothing of it.

use gpu_kernels::TickOutput;
use shared::world::config::WorldConfig;
use shared::world::schema::Schema;
use shared::world::shown::{Shown, ShownThings};
use shared::{EntityId, EntityRef, Slot};

use super::Mirror;
use super::related::Related;

/// Who holds which things, after a tick.
pub struct Things {
    shown: ShownThings,
    /// The column with the holders.
    column: usize,
    /// By kind, and by that of the thing: whether an entity can hold it.
    can_hold: Vec<Vec<bool>>,
    /// By kind.
    are_things: Vec<bool>,
    /// Things, and their living holders.
    holders: Related,
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
            holders: Related::new(schema.world.capacity),
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
        self.holders.of(holder)
    }

    /// Applies a tick, which the rest of the mirror has applied.
    fn take(&mut self, mirror: &Mirror, output: &TickOutput) {
        self.stirred.clear();
        for dead in &output.deaths {
            self.stir(dead.slot);
            self.holders.unlink(dead.slot);
            for thing in self.held_by(dead.slot).collect::<Vec<Slot>>() {
                self.holders.unlink(thing);
            }
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
                self.stir(slot);
                self.holders.unlink(slot);
                self.link(mirror, mirror.id(slot));
            } else {
                let own = mirror.masks(slot);
                if mirror.columns_to_send(slot) & (own.state | own.private) != 0 {
                    self.stir(slot);
                }
            }
        }
        self.stirred.sort_unstable();
        self.stirred.dedup();
    }

    /// Finds all holders anew, by the rest of the mirror.
    fn restore(&mut self, mirror: &Mirror) {
        self.stirred.clear();
        let mut pairs = vec![];
        for entry in mirror.entities.iter().filter(|entry| entry.is_alive) {
            if self.are_things[usize::from(entry.kind)]
                && let Some(holder) = self.holder(mirror, entry.id)
            {
                pairs.push((holder.0, entry.id.slot.0));
            }
        }
        self.holders.replace(pairs);
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
            self.holders.link(holder, thing.slot);
            self.stir(thing.slot);
        }
    }

    /// Notes an entity, and all that hold it. Each is of a kind before those that it holds, so they
    /// end.
    fn stir(&mut self, slot: Slot) {
        let mut next = Some(slot);
        while let Some(slot) = next {
            self.stirred.push(slot.0);
            next = self.holders.owner(slot);
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

/// By kind.
pub(super) fn are_things(schema: &Schema) -> Vec<bool> {
    let kinds = 0..u16::try_from(schema.kinds.len()).unwrap_or(u16::MAX);
    kinds.map(|kind| schema.is_thing(kind)).collect()
}

#[cfg(test)]
mod tests;
