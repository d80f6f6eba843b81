//! The other members of the groups of a client's entity, with what they share, wherever they are. They
//! come and go with the stream, so each is sent once, and nothing is lost. Whether a member is in view,
//! too, does not matter.

use std::collections::{BTreeMap, BTreeSet};

use frontend::mirror::Mirror;
use frontend::mirror::groups::{Group, Groups};
use shared::world::group::MEMBERS_SENT_MAX;
use shared::{EntityId, Slot};

use super::frame::FrameWriter;

/// The members that a client has.
#[derive(Debug, Default)]
pub struct Members {
    /// By attribute that refers to a group.
    groups: Vec<Roster>,
    /// Those that the client has or will have, by slot.
    seen: BTreeMap<u32, Seen>,
    /// Those of them that are to be sent as a whole.
    waiting: BTreeSet<u32>,
    /// The slot of the last one that was sent: those behind it go first.
    last: u32,
}

/// A group of the client's entity.
#[derive(Debug, Default)]
struct Roster {
    group: Option<EntityId>,
    /// Ascending.
    members: Vec<u32>,
}

#[derive(Debug)]
struct Seen {
    entity: EntityId,
    /// A bit for each attribute whose group it shares with the client's entity.
    groups: u8,
    /// Whether the client has it, perhaps as it was before.
    is_sent: bool,
}

impl Members {
    /// Writes what has changed for the client, which acts as this entity. Those that have left are
    /// written at once; others in as many bits, at least one, or not at all.
    pub fn write(
        &mut self,
        own: EntityId,
        mirror: &Mirror,
        frame: &mut FrameWriter<'_>,
        bits_max: Option<usize>,
    ) {
        let Some(groups) = mirror.groups() else {
            return;
        };
        let mut stirred = BTreeSet::new();
        self.groups.resize_with(groups.all().len(), Roster::default);
        for (number, group) in groups.all().iter().enumerate() {
            if group.shared() != 0 {
                self.follow(number, group, own, mirror, &mut stirred);
            }
        }
        self.write_left(frame);
        self.write_changes(&stirred, groups, mirror, frame, bits_max.is_some());
        if let Some(bits_max) = bits_max {
            self.write_waiting(groups, mirror, frame, bits_max.min(BITS_MAX));
        }
    }

    /// Looks at the members of a group, where something has changed there, and notes them.
    fn follow(
        &mut self,
        number: usize,
        group: &Group,
        own: EntityId,
        mirror: &Mirror,
        stirred: &mut BTreeSet<u32>,
    ) {
        let is_there = mirror.living(own.slot) == Some(own) && mirror.is_ready(own.slot);
        let of_own = group.of_member(own.slot).filter(|_| is_there);
        let of_own = of_own.map(|group| mirror.id(group));
        let roster = &mut self.groups[number];
        let is_as_before = roster.group == of_own;
        if is_as_before && !of_own.is_some_and(|of_own| group.is_stirred(of_own.slot)) {
            return;
        }
        let members = of_own
            .into_iter()
            .flat_map(|of_own| group.members(of_own.slot));
        let others = members.filter(|member| *member != own.slot);
        let now: Vec<u32> = others.take(MEMBERS_SENT_MAX).map(|slot| slot.0).collect();
        stirred.extend(&now);
        roster.group = of_own;
        let before = std::mem::replace(&mut roster.members, now.clone());
        let bit = 1 << number;
        for member in before
            .iter()
            .filter(|member| now.binary_search(member).is_err())
        {
            if let Some(seen) = self.seen.get_mut(member) {
                // What the client may not know any more, it does not keep.
                seen.groups &= !bit;
                self.waiting.insert(*member);
            }
        }
        for member in now
            .iter()
            .filter(|member| before.binary_search(member).is_err())
        {
            let seen = self.seen.entry(*member).or_insert(Seen {
                entity: mirror.id(Slot(*member)),
                groups: 0,
                is_sent: false,
            });
            seen.groups |= bit;
            self.waiting.insert(*member);
        }
    }

    fn write_left(&mut self, frame: &mut FrameWriter<'_>) {
        let waiting = &mut self.waiting;
        self.seen.retain(|&member, seen| {
            let is_gone = seen.groups == 0;
            if is_gone {
                waiting.remove(&member);
                if seen.is_sent {
                    frame.codec.member_left(frame.message(), Slot(member));
                }
            }
            !is_gone
        });
    }

    /// Writes what has changed of what some members share. Where it may not be written, they are sent
    /// as a whole later.
    fn write_changes(
        &mut self,
        stirred: &BTreeSet<u32>,
        groups: &Groups,
        mirror: &Mirror,
        frame: &mut FrameWriter<'_>,
        may_write: bool,
    ) {
        for &member in stirred {
            let Some(seen) = self.seen.get(&member) else {
                continue;
            };
            let slot = Slot(member);
            match mirror.columns_to_send(slot) & shared(groups, seen.groups) {
                0 => {}
                _ if self.waiting.contains(&member) => {}
                columns if may_write => {
                    let values = mirror.values(slot, columns);
                    (frame.codec).member_changed(frame.message(), slot, values);
                }
                _ => drop(self.waiting.insert(member)),
            }
        }
    }

    fn write_waiting(
        &mut self,
        groups: &Groups,
        mirror: &Mirror,
        frame: &mut FrameWriter<'_>,
        bits_max: usize,
    ) {
        let end = frame.bit_len() + bits_max;
        let behind = self.waiting.range(self.last.saturating_add(1)..);
        let before = self.waiting.range(..=self.last);
        let order: Vec<u32> = behind.chain(before).copied().collect();
        for member in order {
            let slot = Slot(member);
            // The name of a newborn comes with it.
            if !mirror.is_ready(slot) {
                continue;
            }
            self.waiting.remove(&member);
            self.last = member;
            if let Some(seen) = self.seen.get_mut(&member) {
                seen.is_sent = true;
                let columns = groups.all().iter().enumerate();
                let columns = columns.filter(|(number, _)| seen.groups >> number & 1 == 1);
                let columns: Vec<u16> = columns.map(|(_, group)| group.column()).collect();
                let values = mirror.values(slot, shared(groups, seen.groups));
                let who = (seen.entity, mirror.name(slot));
                (frame.codec).member(frame.message(), who, &columns, values);
            }
            if frame.bit_len() >= end {
                return;
            }
        }
    }
}

/// What is shared in those groups whose number has a bit.
fn shared(groups: &Groups, bits: u8) -> u64 {
    let all = groups.all().iter().enumerate();
    let own = all.filter(|(number, _)| bits >> number & 1 == 1);
    own.fold(0, |columns, (_, group)| columns | group.shared())
}

/// At most so much of a frame, as clients read some KiB in a tick: 4 KiB.
const BITS_MAX: usize = 4 * 1024 * 8;

#[cfg(test)]
mod tests {
    use shared::wire::{MEMBERS_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSION_MIN};

    use crate::Session;

    #[test]
    fn clients_of_older_versions_are_sent_none() {
        let limits = world_file::default().limits;
        for version in PROTOCOL_VERSION_MIN..=PROTOCOL_VERSION {
            let members = Session::of_version(&limits, version).members;
            assert_eq!(members.is_some(), version >= MEMBERS_VERSION);
        }
    }
}
