//! Where entities were, for scripts that ask.

use shared::Tick;

use super::Oracle;

impl Oracle {
    /// Notes where the living are after this tick.
    pub(super) fn keep_places(&mut self) {
        if self.config.limits.rewind_ticks == 0 {
            return;
        }
        for entity in self.living().into_iter().chain(self.shared()) {
            let place = self.position(entity.slot.0);
            let tick = self.tick;
            self.slots[entity.slot.index()].past.insert(tick, place);
        }
    }

    /// The ticks that are kept, from the oldest on; some are before the world's first.
    fn kept(&self) -> impl Iterator<Item = i64> {
        let now = self.tick.0 as i64;
        now - i64::from(self.config.limits.rewind_ticks)..now
    }

    /// A coordinate after the tick with these low bits, or after the nearest that is kept.
    pub(super) fn coordinate(&self, slot: usize, axis: usize, tick: i32) -> i32 {
        let now = self.tick.0 as i64;
        // Exactly 2^31 ticks away is ahead.
        let wanted = now - i64::from((now as i32).wrapping_sub(tick));
        let nearest = self.kept().min_by_key(|kept| kept.abs_diff(wanted));
        let tick = nearest.and_then(|kept| u64::try_from(kept).ok()).map(Tick);
        let place = tick.and_then(|tick| self.slots[slot].past.get(&tick));
        place.map_or(-1, |place| place[axis])
    }

    /// In the backends' format.
    pub(super) fn past(&self) -> Vec<i32> {
        let dimensions = self.config.dimensions();
        let kept = i64::from(self.config.limits.rewind_ticks);
        let mut past = vec![];
        for place in 0..kept {
            let tick = self.kept().find(|tick| tick.rem_euclid(kept) == place);
            let tick = tick.and_then(|tick| u64::try_from(tick).ok()).map(Tick);
            for slot in &self.slots {
                let found = tick.and_then(|tick| slot.past.get(&tick));
                let axis = |axis: usize| found.map_or(0, |place| place[axis] + 1);
                past.extend((0..dimensions).map(axis));
            }
        }
        past
    }
}
