//! Members of groups compared with those before, across connections: the events about them.

use rustc_hash::FxHashMap;
use shared::wire::members::MemberMessage;
use shared::{EntityId, Tick};

use crate::event::{Change, Event, complete_halves};

/// The members that a game knows, by slot.
#[derive(Debug, Default)]
pub(crate) struct MemberRecord(FxHashMap<u32, Known>);

#[derive(Debug)]
struct Known {
    id: EntityId,
    groups: Vec<u16>,
    /// What it shares, by column.
    values: FxHashMap<u16, i32>,
    /// Known from an earlier connection only.
    is_stale: bool,
}

impl MemberRecord {
    /// Another connection begins: it sends all members anew.
    pub fn resume(&mut self) {
        self.0.values_mut().for_each(|known| known.is_stale = true);
    }

    /// The first frame of a connection is read: members of before that were not in it have left.
    pub fn settle(&mut self, tick: Tick, events: &mut Vec<Event>) {
        let gone = self.0.extract_if(|_, known| known.is_stale);
        events.extend(gone.map(|(_, known)| Event::MemberLeft {
            tick,
            entity: known.id,
        }));
    }

    /// Appends the events of a message. `lows` are the columns of the low halves of numbers.
    pub fn take(
        &mut self,
        tick: Tick,
        message: &MemberMessage,
        lows: &[u16],
        events: &mut Vec<Event>,
    ) {
        let mut left = |entity| events.push(Event::MemberLeft { tick, entity });
        let (entity, changes) = match message {
            MemberMessage::Left(slot) => {
                let known = self.0.remove(&slot.0);
                return known.into_iter().for_each(|known| left(known.id));
            }
            MemberMessage::Changed { slot, values } => {
                let Some(known) = self.0.get_mut(&slot.0) else {
                    return;
                };
                (known.id, known.set(values, lows))
            }
            MemberMessage::Member {
                entity,
                groups,
                values,
                ..
            } => {
                let known = self.0.get_mut(&entity.slot.0);
                match known.filter(|known| known.id == *entity && known.groups == *groups) {
                    Some(known) => {
                        known.is_stale = false;
                        (known.id, known.set(values, lows))
                    }
                    None => {
                        let known = Known {
                            id: *entity,
                            groups: groups.clone(),
                            values: values.iter().copied().collect(),
                            is_stale: false,
                        };
                        let before = self.0.insert(entity.slot.0, known);
                        let before = before.filter(|before| before.id != *entity);
                        before.into_iter().for_each(|before| left(before.id));
                        let entity = *entity;
                        events.push(Event::MemberJoined { tick, entity });
                        return;
                    }
                }
            }
        };
        if !changes.is_empty() {
            events.push(Event::MemberChanged {
                tick,
                entity,
                changes,
            });
        }
    }
}

impl Known {
    /// Sets values, and returns what changed.
    fn set(&mut self, values: &[(u16, i32)], lows: &[u16]) -> Vec<Change> {
        let set = values.iter().map(|&(column, new)| {
            let old = self.values.insert(column, new).unwrap_or(new);
            Change { column, old, new }
        });
        let mut changes: Vec<Change> = set.filter(|change| change.old != change.new).collect();
        let value = |column: u16| self.values.get(&column).copied();
        complete_halves(lows, value, &mut changes);
        changes
    }
}
