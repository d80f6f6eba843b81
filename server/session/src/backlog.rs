//! Updates beyond a client's budget, deferred to later ticks: the most urgent come first.

use std::cmp::Reverse;

use shared::wire::movement::URGENCIES;
use shared::{Slot, Tick};

/// Entities with deferred updates, ascending by slot.
#[derive(Default)]
pub struct Backlog {
    waiting: Vec<Waiting>,
}

/// A buffer: indices by urgency.
pub type UrgencyOrder = Vec<(Reverse<u32>, u32)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    slot: u32,
    tier: u32,
    /// The first tick in which it waited.
    since: Tick,
    /// The deferred columns, as the bits of a mirror.
    columns: u64,
}

/// The urgency of an update of an entity in this tier whose last update was sent, or was due,
/// in the tick `last`.
pub fn urgency(tier: u32, last: Tick, now: Tick) -> u32 {
    URGENCIES[tier as usize & 3].saturating_mul(now.since(last))
}

impl Backlog {
    /// Adds columns to send of an entity, which is in this tier now.
    pub fn add(&mut self, slot: Slot, tier: u32, columns: u64, tick: Tick) {
        match self.find(slot) {
            Ok(index) => {
                let waiting = &mut self.waiting[index];
                waiting.columns |= columns;
                waiting.tier = tier;
            }
            Err(index) => {
                let waiting = Waiting {
                    slot: slot.0,
                    tier,
                    since: tick,
                    columns,
                };
                self.waiting.insert(index, waiting);
            }
        }
    }

    /// Drops the deferred update of an entity. False if there is none.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let found = self.find(slot);
        if let Ok(index) = found {
            self.waiting.remove(index);
        }
        found.is_ok()
    }

    /// Whether an entity has a deferred update; notes its tier then.
    pub fn holds(&mut self, slot: Slot, tier: u32) -> bool {
        let found = self.find(slot);
        if let Ok(index) = found {
            self.waiting[index].tier = tier;
        }
        found.is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of entities with deferred updates.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Passes (entity, columns) to `send`, the most urgent first, until it returns false: no room
    /// for another. At most `most`, and only entities that are ready.
    pub fn drain_urgent(
        &mut self,
        order: &mut UrgencyOrder,
        now: Tick,
        most: usize,
        is_ready: impl Fn(Slot) -> bool,
        mut send: impl FnMut(Slot, u64) -> bool,
    ) {
        if self.waiting.is_empty() {
            return;
        }
        let all = (0..).zip(&self.waiting);
        let ready = all.filter(|(_, waiting)| is_ready(Slot(waiting.slot)));
        order.clear();
        order.extend(ready.map(|(index, waiting)| {
            let last = waiting.since.before(1);
            (Reverse(urgency(waiting.tier, last, now)), index)
        }));
        keep_first(order, most.max(1));
        let mut drained = 0;
        for &(_, index) in order.iter() {
            let waiting = &mut self.waiting[index as usize];
            drained += 1;
            let has_room = send(Slot(waiting.slot), waiting.columns);
            waiting.slot = DRAINED;
            if !has_room {
                break;
            }
        }
        match drained == self.waiting.len() {
            true => self.waiting.clear(),
            false => self.waiting.retain(|waiting| waiting.slot != DRAINED),
        }
    }

    fn find(&self, slot: Slot) -> Result<usize, usize> {
        // Most are added in ascending order.
        match self.waiting.last() {
            Some(last) if last.slot >= slot.0 => {
                self.waiting.binary_search_by_key(&slot.0, |w| w.slot)
            }
            _ => Err(self.waiting.len()),
        }
    }
}

/// Sorts the first `most`, and drops the others.
pub fn keep_first<T: Ord>(all: &mut Vec<T>, most: usize) {
    if all.len() > most {
        all.select_nth_unstable(most);
        all.truncate(most);
    }
    all.sort_unstable();
}

/// Marks a removed entry: no slot of a world.
const DRAINED: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(backlog: &mut Backlog, now: u64, room: usize) -> Vec<(u32, u64)> {
        drain_ready(backlog, now, room, |_| true)
    }

    fn drain_ready(
        backlog: &mut Backlog,
        now: u64,
        room: usize,
        is_ready: impl Fn(Slot) -> bool,
    ) -> Vec<(u32, u64)> {
        let mut drained = vec![];
        backlog.drain_urgent(&mut vec![], Tick(now), room, is_ready, |slot, columns| {
            drained.push((slot.0, columns));
            drained.len() < room
        });
        drained
    }

    #[test]
    fn the_nearest_come_first_until_others_have_waited_for_longer() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(5), 3, 1, Tick(10));
        backlog.add(Slot(2), 0, 2, Tick(10));
        backlog.add(Slot(9), 2, 4, Tick(10));
        assert_eq!(drain(&mut backlog, 10, 1), [(2, 2)]);
        // A near one comes each tick: 8 against 2 and then 3, ... times 2 and 1.
        for now in 11..13 {
            backlog.add(Slot(2), 0, 2, Tick(now));
            assert_eq!(drain(&mut backlog, now, 1), [(2, 2)], "tick {now}");
        }
        backlog.add(Slot(2), 0, 2, Tick(14));
        assert_eq!(drain(&mut backlog, 14, 1), [(9, 4)]);
        assert_eq!(drain(&mut backlog, 14, 9), [(2, 2), (5, 1)]);
        assert!(backlog.is_empty());
    }

    #[test]
    fn an_entity_that_is_not_ready_waits_and_takes_no_room() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(5), 0, 1, Tick(10));
        backlog.add(Slot(7), 3, 2, Tick(10));
        let is_ready = |slot| slot != Slot(5);
        assert_eq!(drain_ready(&mut backlog, 10, 1, is_ready), [(7, 2)]);
        assert_eq!(drain_ready(&mut backlog, 11, 1, is_ready), []);
        assert_eq!(drain(&mut backlog, 12, 1), [(5, 1)]);
    }

    #[test]
    fn updates_of_one_entity_are_joined() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(7), 1, 1, Tick(3));
        backlog.add(Slot(7), 0, 4, Tick(4));
        backlog.add(Slot(1), 0, 1, Tick(4));
        assert!(backlog.holds(Slot(7), 2) && !backlog.holds(Slot(8), 2));
        assert!(backlog.remove(Slot(1)) && !backlog.remove(Slot(1)));
        assert_eq!(drain(&mut backlog, 5, 9), [(7, 5)]);
    }
}
