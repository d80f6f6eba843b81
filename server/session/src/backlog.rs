//! What a client is told later, as a tick has more for it than its budget allows: the most
//! urgent comes first.

use std::cmp::Reverse;

use shared::wire::movement::URGENCIES;
use shared::{Slot, Tick};

/// Entities of which something waits, ascending by slot.
#[derive(Default)]
pub struct Backlog {
    waiting: Vec<Waiting>,
}

/// A buffer: places by urgency.
pub type Order = Vec<(Reverse<u32>, u32)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    slot: u32,
    tier: u32,
    /// The first tick in which it waited.
    since: Tick,
    /// What waits, as bits.
    columns: u64,
}

/// How urgent it is to tell of an entity in this tier that was told of last, or would have
/// been, in the tick `last`.
pub fn urgency(tier: u32, last: Tick, now: Tick) -> u32 {
    URGENCIES[tier as usize & 3].saturating_mul(now.since(last))
}

impl Backlog {
    /// Adds what is to be told of an entity, which is in this tier now.
    pub fn add(&mut self, slot: Slot, tier: u32, columns: u64, tick: Tick) {
        match self.find(slot) {
            Ok(place) => {
                let waiting = &mut self.waiting[place];
                waiting.columns |= columns;
                waiting.tier = tier;
            }
            Err(place) => {
                let waiting = Waiting {
                    slot: slot.0,
                    tier,
                    since: tick,
                    columns,
                };
                self.waiting.insert(place, waiting);
            }
        }
    }

    /// Drops what waits of an entity. False if nothing does.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let found = self.find(slot);
        if let Ok(place) = found {
            self.waiting.remove(place);
        }
        found.is_ok()
    }

    /// Whether something of an entity waits; notes its tier then.
    pub fn holds(&mut self, slot: Slot, tier: u32) -> bool {
        let found = self.find(slot);
        if let Ok(place) = found {
            self.waiting[place].tier = tier;
        }
        found.is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The number of entities of which something waits.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Passes on (entity, columns), the most urgent first, until `tell` says that there is no
    /// room for another. At most so many, and only entities that are ready.
    pub fn tell(
        &mut self,
        order: &mut Order,
        now: Tick,
        most: usize,
        is_ready: impl Fn(Slot) -> bool,
        mut tell: impl FnMut(Slot, u64) -> bool,
    ) {
        if self.waiting.is_empty() {
            return;
        }
        let all = (0..).zip(&self.waiting);
        let ready = all.filter(|(_, waiting)| is_ready(Slot(waiting.slot)));
        order.clear();
        order.extend(ready.map(|(place, waiting)| {
            let last = waiting.since.before(1);
            (Reverse(urgency(waiting.tier, last, now)), place)
        }));
        keep_first(order, most.max(1));
        let mut told = 0;
        for &(_, place) in order.iter() {
            let waiting = &mut self.waiting[place as usize];
            told += 1;
            let has_room = tell(Slot(waiting.slot), waiting.columns);
            waiting.slot = TOLD;
            if !has_room {
                break;
            }
        }
        match told == self.waiting.len() {
            true => self.waiting.clear(),
            false => self.waiting.retain(|waiting| waiting.slot != TOLD),
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

/// Sorts the first so many, and drops the others.
pub fn keep_first<T: Ord>(all: &mut Vec<T>, most: usize) {
    if all.len() > most {
        all.select_nth_unstable(most);
        all.truncate(most);
    }
    all.sort_unstable();
}

/// No slot of a world.
const TOLD: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(backlog: &mut Backlog, now: u64, room: usize) -> Vec<(u32, u64)> {
        told_of(backlog, now, room, |_| true)
    }

    fn told_of(
        backlog: &mut Backlog,
        now: u64,
        room: usize,
        is_ready: impl Fn(Slot) -> bool,
    ) -> Vec<(u32, u64)> {
        let mut told = vec![];
        backlog.tell(&mut vec![], Tick(now), room, is_ready, |slot, columns| {
            told.push((slot.0, columns));
            told.len() < room
        });
        told
    }

    #[test]
    fn the_nearest_come_first_until_others_have_waited_for_longer() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(5), 3, 1, Tick(10));
        backlog.add(Slot(2), 0, 2, Tick(10));
        backlog.add(Slot(9), 2, 4, Tick(10));
        assert_eq!(told(&mut backlog, 10, 1), [(2, 2)]);
        // A near one comes each tick: 8 against 2 and then 3, ... times 2 and 1.
        for now in 11..13 {
            backlog.add(Slot(2), 0, 2, Tick(now));
            assert_eq!(told(&mut backlog, now, 1), [(2, 2)], "tick {now}");
        }
        backlog.add(Slot(2), 0, 2, Tick(14));
        assert_eq!(told(&mut backlog, 14, 1), [(9, 4)]);
        assert_eq!(told(&mut backlog, 14, 9), [(2, 2), (5, 1)]);
        assert!(backlog.is_empty());
    }

    #[test]
    fn who_is_not_ready_waits_and_takes_nobodys_room() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(5), 0, 1, Tick(10));
        backlog.add(Slot(7), 3, 2, Tick(10));
        let is_ready = |slot| slot != Slot(5);
        assert_eq!(told_of(&mut backlog, 10, 1, is_ready), [(7, 2)]);
        assert_eq!(told_of(&mut backlog, 11, 1, is_ready), []);
        assert_eq!(told(&mut backlog, 12, 1), [(5, 1)]);
    }

    #[test]
    fn news_of_one_entity_is_told_together() {
        let mut backlog = Backlog::default();
        backlog.add(Slot(7), 1, 1, Tick(3));
        backlog.add(Slot(7), 0, 4, Tick(4));
        backlog.add(Slot(1), 0, 1, Tick(4));
        assert!(backlog.holds(Slot(7), 2) && !backlog.holds(Slot(8), 2));
        assert!(backlog.remove(Slot(1)) && !backlog.remove(Slot(1)));
        assert_eq!(told(&mut backlog, 5, 9), [(7, 5)]);
    }
}
