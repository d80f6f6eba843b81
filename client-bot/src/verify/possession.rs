//! Checks that no thing is two bots' at once.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use shared::{EntityId, Slot, Tick};

use super::findings::Findings;

/// When a thing was a bot's: its entity held it, itself or in another thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Possession {
    thing: EntityId,
    from: Tick,
    /// The first tick in which it was no longer.
    until: Tick,
}

/// The things of a bot, by what it was sent.
#[derive(Default)]
pub struct PossessionLog {
    /// By slot: those that it has, and since when.
    now: FxHashMap<u32, (EntityId, Tick)>,
    /// Oldest first.
    past: VecDeque<Possession>,
}

impl PossessionLog {
    /// A thing has come, or come again as somebody else's.
    pub fn enter(&mut self, thing: EntityId, is_own: bool, tick: Tick) {
        let known = self.now.get(&thing.slot.0);
        if is_own && known.is_some_and(|known| known.0 == thing) {
            return;
        }
        self.leave(thing.slot, tick);
        if is_own {
            self.now.insert(thing.slot.0, (thing, tick));
        }
    }

    pub fn leave(&mut self, slot: Slot, until: Tick) {
        if let Some((thing, from)) = self.now.remove(&slot.0) {
            let own = Possession { thing, from, until };
            self.past.push_back(own);
        }
        if self.past.len() > POSSESSIONS_MAX {
            self.past.pop_front();
        }
    }

    /// All of them, where what the bot has now was its own in its newest tick.
    pub fn finish(&self, newest: Tick) -> Vec<Possession> {
        let now = self.now.values().map(|&(thing, from)| Possession {
            thing,
            from,
            until: newest.next(),
        });
        self.past.iter().copied().chain(now).collect()
    }
}

/// Checks that each thing was one bot's at a time; each possession comes with its bot. A bot whose stream is full learns late that
/// another one has it.
pub fn check_possessions(findings: &Findings, all: impl Iterator<Item = (Possession, usize)>) {
    let mut all: Vec<(Possession, usize)> = all.collect();
    all.sort_unstable();
    let mut last: Option<(Possession, usize)> = None;
    for (own, bot) in all {
        let Some((before, other)) = last.filter(|(before, _)| before.thing == own.thing) else {
            last = Some((own, bot));
            continue;
        };
        let describe = || {
            let (thing, from, until) = (own.thing, own.from, before.until);
            format!(
                "the thing {thing} was bot {other}'s until tick {until}, and bot {bot}'s from {from} on"
            )
        };
        let is_short = || before.until.since(own.from) <= LATE_TICKS;
        match bot == other || before.until <= own.from {
            true => findings.check(true, describe),
            false => findings.check_late(is_short(), describe),
        }
        if own.until >= before.until {
            last = Some((own, bot));
        }
    }
}

/// What a bot keeps of its past.
const POSSESSIONS_MAX: usize = 4096;
/// A full stream has room again in fewer ticks.
const LATE_TICKS: u32 = 50;

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    const AXE: EntityId = EntityId::new(7, 1);

    /// The errors, and what was late, where a thing was two bots' in these ticks.
    fn found(first: (u64, u64), second: (u64, u64)) -> (u64, u64) {
        let findings = Findings::default();
        let of_bot = |((from, until), bot): ((u64, u64), usize)| {
            let mut log = PossessionLog::default();
            log.enter(AXE, true, Tick(from));
            log.enter(AXE, true, Tick(from + 1));
            log.enter(AXE, false, Tick(until));
            let all = log.finish(Tick(1000));
            all.into_iter().map(move |own| (own, bot))
        };
        let all = [(first, 0), (second, 1)].into_iter().flat_map(of_bot);
        check_possessions(&findings, all);
        let Findings { errors, late, .. } = &findings;
        (errors.load(Relaxed), late.load(Relaxed))
    }

    #[test]
    fn a_thing_that_is_two_bots_for_long_is_an_error() {
        assert_eq!(found((10, 20), (20, 30)), (0, 0));
        assert_eq!(found((20, 30), (10, 20)), (0, 0));
        assert_eq!(found((10, 21), (20, 30)), (0, 1));
        assert_eq!(found((10, 90), (20, 30)), (1, 0));
        assert_eq!(found((10, 900), (20, 30)), (1, 0));
    }

    #[test]
    fn another_thing_in_the_same_slot_is_another_one() {
        let mut log = PossessionLog::default();
        log.enter(AXE, true, Tick(1));
        log.leave(AXE.slot, Tick(3));
        log.enter(EntityId::new(7, 2), true, Tick(5));
        let all = log.finish(Tick(9));
        let ticks = all.iter().map(|own| (own.from.0, own.until.0));
        assert_eq!(ticks.collect::<Vec<_>>(), [(1, 3), (5, 10)]);
    }
}
