//! Things: entities without a place, which belong to a holder.

use shared::{EntityId, EntityRef, Slot};

use super::Oracle;

impl Oracle {
    /// Whether entities of a kind are things: the first axis of their position has one value.
    pub(super) fn is_kind_of_things(&self, kind: u16) -> bool {
        let schema = &self.config.schema;
        schema.world_kind != Some(kind) && schema.kinds[usize::from(kind)].attributes[0].max == 0
    }

    /// Whether a thing lives in a slot.
    pub(super) fn is_thing(&self, slot: Slot) -> bool {
        self.is_kind_of_things(self.slots[slot.index()].kind)
    }

    /// What a thing says of its holder.
    fn reference(&self, thing: Slot) -> EntityRef {
        let mut columns = self.config.schema.attributes.iter();
        let column = columns.position(|attribute| attribute.name == "holder");
        EntityRef(self.slots[thing.index()].row[column.expect("things have holders")])
    }

    /// The holder of a thing: it lives, and is somewhere, or a thing of a kind before its own.
    fn holder(&self, thing: Slot) -> Option<Slot> {
        let reference = self.reference(thing);
        let holder = reference.slot();
        let generation = self.slots.get(holder.index())?.generation;
        if !self.is_alive(EntityId {
            slot: holder,
            generation,
        }) || !reference.is_generation(generation)
        {
            return None;
        }
        let kind = |slot: Slot| self.slots[slot.index()].kind;
        (!self.is_thing(holder) || kind(holder) < kind(thing)).then_some(holder)
    }

    /// Whether a thing has a holder that has ended, or can't hold it.
    pub(super) fn has_lost_its_holder(&self, slot: Slot) -> bool {
        self.is_thing(slot)
            && self.reference(slot) != EntityRef::NONE
            && self.holder(slot).is_none()
    }

    /// Ends all things that accounts keep of players who died, also those in such things.
    pub(super) fn end_kept(&mut self, players: &[EntityId]) -> Vec<EntityId> {
        if self.config.kept_kinds.is_empty() {
            return vec![];
        }
        let living = self.living().into_iter();
        let is_kept = |slot: Slot| {
            let kind = self.slots[slot.index()].kind;
            self.config.kept_kinds.contains(&kind)
        };
        let is_of_player = |mut thing: Slot| loop {
            let reference = self.reference(thing);
            let is_meant = |player: &&EntityId| reference == player.reference();
            if players.iter().any(|player| is_meant(&player)) {
                return true;
            }
            match self.holder(thing) {
                Some(holder) if is_kept(holder) => thing = holder,
                _ => return false,
            }
        };
        let kept = living.filter(|entity| is_kept(entity.slot) && is_of_player(entity.slot));
        let kept: Vec<EntityId> = kept.collect();
        for &thing in &kept {
            self.die(thing);
        }
        kept
    }

    /// The slots of the things of a holder, ascending.
    pub(super) fn things_of(&self, holder: Slot) -> Vec<Slot> {
        let living = self.living().into_iter().map(|entity| entity.slot);
        let things = living.filter(|&slot| self.is_thing(slot));
        things
            .filter(|&slot| self.holder(slot) == Some(holder))
            .collect()
    }
}
