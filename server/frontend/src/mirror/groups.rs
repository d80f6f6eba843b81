//! Members by their groups, for talk and for clients that see what members share. Worlds without
//! groups have nothing of it.

use gpu_kernels::TickOutput;
use shared::world::schema::Schema;
use shared::{EntityId, EntityRef, Slot};

use super::Mirror;
use super::related::Related;
use super::things::are_things;

/// Who is a member of which groups, after a tick.
pub struct Groups(Vec<Group>);

/// By one attribute of the players' kind.
pub struct Group {
    /// The attribute's name.
    name: String,
    kind: u16,
    column: u16,
    /// What members share, as bits of the columns of their kind.
    shared: u64,
    /// By kind.
    are_things: Vec<bool>,
    /// Members, and their living groups.
    groups: Related,
    /// Groups whose members, or what they share, changed in this tick. Ascending.
    stirred: Vec<u32>,
}

impl Groups {
    /// `None` for a world without groups.
    pub fn of(schema: &Schema, shared: impl Fn(u16, &[u16]) -> u64) -> Option<Groups> {
        let are_things = are_things(schema);
        let groups = schema.groups.iter().map(|group| Group {
            name: schema.attributes[usize::from(group.column)].name.clone(),
            kind: group.kind,
            column: group.column,
            shared: shared(group.kind, &group.shared),
            are_things: are_things.clone(),
            groups: Related::new(schema.world.capacity),
            stirred: vec![],
        });
        let groups: Vec<Group> = groups.collect();
        (!groups.is_empty()).then_some(Groups(groups))
    }

    /// By attribute, ascending by column.
    pub fn all(&self) -> &[Group] {
        &self.0
    }

    /// By the name of an attribute.
    pub fn named(&self, name: &str) -> Option<&Group> {
        self.0.iter().find(|group| group.name == name)
    }

    fn take(&mut self, mirror: &Mirror, output: &TickOutput) {
        for group in &mut self.0 {
            group.take(mirror, output);
        }
    }
}

impl Group {
    /// The attribute that refers to the groups.
    pub fn column(&self) -> u16 {
        self.column
    }

    /// What members share, as bits of the columns of their kind.
    pub fn shared(&self) -> u64 {
        self.shared
    }

    /// The group to which an entity belongs.
    pub fn of_member(&self, member: Slot) -> Option<Slot> {
        self.groups.owner(member)
    }

    /// The members of a group, by slot.
    pub fn members(&self, group: Slot) -> impl Iterator<Item = Slot> + '_ {
        self.groups.of(group)
    }

    /// Whether the members of a group, or what they share, changed in this tick.
    pub fn is_stirred(&self, group: Slot) -> bool {
        self.stirred.binary_search(&group.0).is_ok()
    }

    /// Applies a tick, which the rest of the mirror has applied.
    fn take(&mut self, mirror: &Mirror, output: &TickOutput) {
        self.stirred.clear();
        for dead in &output.deaths {
            self.unlink(dead.slot);
            let members: Vec<Slot> = self.members(dead.slot).collect();
            members.into_iter().for_each(|member| self.unlink(member));
        }
        for birth in &output.births {
            if let Some(entity) = birth.entity
                && birth.kind == self.kind
            {
                self.link(mirror, entity.slot);
            }
        }
        for (slot, columns, _) in output.changes.range(0..output.changes.slots.len()) {
            if mirror.kind(slot) != self.kind {
                continue;
            }
            if columns.contains(&self.column) {
                self.unlink(slot);
                self.link(mirror, slot);
            } else if mirror.columns_to_send(slot) & self.shared != 0 {
                self.stir(self.groups.owner(slot));
            }
        }
        self.stirred.sort_unstable();
        self.stirred.dedup();
    }

    /// Finds all members anew, by the rest of the mirror.
    fn restore(&mut self, mirror: &Mirror) {
        self.stirred.clear();
        let living = mirror.entities.iter().filter(|entry| entry.is_alive);
        let members = living.filter(|entry| entry.kind == self.kind);
        let pair = |member: Slot| Some((self.group(mirror, member)?.0, member.0));
        let pairs = members.filter_map(|entry| pair(entry.id.slot)).collect();
        self.groups.replace(pairs);
    }

    /// The living group of a living member.
    fn group(&self, mirror: &Mirror, member: Slot) -> Option<Slot> {
        mirror.living(member)?;
        let reference = EntityRef(mirror.row(member)[usize::from(self.column)]);
        let group = mirror.referred(reference)?.slot;
        self.are_things[usize::from(mirror.kind(group))].then_some(group)
    }

    fn link(&mut self, mirror: &Mirror, member: Slot) {
        if let Some(group) = self.group(mirror, member) {
            self.groups.link(group, member);
            self.stir(Some(group));
        }
    }

    fn unlink(&mut self, member: Slot) {
        let group = self.groups.unlink(member);
        self.stir(group);
    }

    fn stir(&mut self, group: Option<Slot>) {
        self.stirred.extend(group.map(|group| group.0));
    }
}

impl Mirror {
    /// Members by their groups, in worlds that have some.
    pub fn groups(&self) -> Option<&Groups> {
        self.groups.as_deref()
    }

    /// The living entities that belong to the same group as this one, by slot, this one included; by
    /// the attribute of a name.
    pub fn fellows(&self, of: EntityId, attribute: &str) -> impl Iterator<Item = EntityId> + '_ {
        let group = self.groups().and_then(|groups| groups.named(attribute));
        let own = group.filter(|_| self.living(of.slot) == Some(of));
        let members = own.and_then(|own| Some(own.members(own.of_member(of.slot)?)));
        members.into_iter().flatten().map(|slot| self.id(slot))
    }

    /// Follows a tick's changes to groups, which the rest of the mirror has applied.
    pub(super) fn follow_groups(&mut self, output: &TickOutput) {
        if let Some(mut groups) = self.groups.take() {
            groups.take(self, output);
            self.groups = Some(groups);
        }
    }

    /// Finds the members of all groups anew, once all entities are there.
    pub(super) fn restore_groups(&mut self) {
        if let Some(mut groups) = self.groups.take() {
            groups.0.iter_mut().for_each(|group| group.restore(self));
            self.groups = Some(groups);
        }
    }
}

#[cfg(test)]
mod tests;
