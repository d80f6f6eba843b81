//! Things: entities without a place, which belong to a holder; groups, which have members.

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

    /// Whether an entity has a relation: to its holder, which all things have, or to a group.
    fn has_relation(&self, relation: u8, slot: Slot) -> bool {
        match relation {
            HOLDER => self.is_thing(slot),
            _ => self.slots[slot.index()].kind == self.config.player_kind,
        }
    }

    /// What an entity says of its holder, or its group.
    fn reference(&self, relation: u8, slot: Slot) -> EntityRef {
        let schema = &self.config.schema;
        let column = match relation {
            HOLDER => {
                let mut columns = schema.attributes.iter();
                let column = columns.position(|attribute| attribute.name == "holder");
                column.expect("things have holders")
            }
            group => usize::from(schema.groups[usize::from(group) - 1].column),
        };
        EntityRef(self.slots[slot.index()].row[column])
    }

    /// The holder of a thing: it lives, and is somewhere, or a thing of a kind before its own. Or the
    /// group of a member: a thing that lives.
    fn related(&self, relation: u8, slot: Slot) -> Option<Slot> {
        let reference = self.reference(relation, slot);
        let other = reference.slot();
        let generation = self.slots.get(other.index())?.generation;
        if !self.is_alive(EntityId {
            slot: other,
            generation,
        }) || !reference.is_generation(generation)
        {
            return None;
        }
        let kind = |slot: Slot| self.slots[slot.index()].kind;
        let can_be = match relation {
            HOLDER => !self.is_thing(other) || kind(other) < kind(slot),
            _ => self.is_thing(other),
        };
        can_be.then_some(other)
    }

    /// Whether an entity has a holder, or a group, that has ended or can't be one.
    pub(super) fn has_lost(&self, relation: u8, slot: Slot) -> bool {
        self.has_relation(relation, slot)
            && self.reference(relation, slot) != EntityRef::NONE
            && self.related(relation, slot).is_none()
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
            let reference = self.reference(HOLDER, thing);
            let is_meant = |player: &&EntityId| reference == player.reference();
            if players.iter().any(|player| is_meant(&player)) {
                return true;
            }
            match self.related(HOLDER, thing) {
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

    /// The slots of the things of a holder, or of the members of a group, ascending.
    pub(super) fn held(&self, relation: u8, holder: Slot) -> Vec<Slot> {
        let living = self.living().into_iter().map(|entity| entity.slot);
        let own = living.filter(|&slot| self.has_relation(relation, slot));
        own.filter(|&slot| self.related(relation, slot) == Some(holder))
            .collect()
    }
}

/// The relation of things to their holders.
const HOLDER: u8 = 0;
