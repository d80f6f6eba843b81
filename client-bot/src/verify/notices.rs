//! Whether bots were told of what they subscribed to: all of it, once each, in order,
//! and nothing else.
//!
//! What changed is what those were told of it who had it in view. Of what else happened,
//! the bots know only together: it is whatever any of them was told of. So nobody finds
//! out what went on out of sight, should have been told to all of them, and was told to
//! none. What cannot be judged is counted.

use std::collections::{BTreeMap, BTreeSet};

use shared::wire::notice::{Notice, What};
use shared::{EntityId, Schema, Tick};

use super::Findings;
use super::listening::{Hearing, Key, Told};

/// What bots were told of that happened, as far as they know.
pub struct Known {
    /// Each with how often: the same may be notified of several times in one tick.
    pub happened: BTreeMap<Key, (What, usize)>,
    /// Bots' entities, and from which tick on their changes are known.
    lives: BTreeMap<EntityId, Tick>,
    deaths: BTreeSet<(Tick, EntityId)>,
}

impl Known {
    pub fn new(findings: &Findings, all: &[(usize, &Hearing)]) -> Known {
        let mut known = Known {
            happened: BTreeMap::new(),
            lives: BTreeMap::new(),
            deaths: BTreeSet::new(),
        };
        for (bot, hearing) in all {
            for (tick, what) in hearing.happened() {
                let key = Key::of(*tick, what);
                let known = known.happened.entry(key).or_insert((what.clone(), 1));
                findings.check(known.0 == *what, || {
                    format!(
                        "tick {tick}: bot {bot} saw {what:?}, another bot {:?}",
                        known.0
                    )
                });
            }
            known.deaths.extend(hearing.deaths());
            let lives = hearing.lives();
            known
                .lives
                .extend(lives.map(|(from, entity)| (entity, from)));
        }
        // Of the rest, whatever somebody was told of.
        for (_, hearing) in all {
            for (key, told) in hearing.told() {
                if !known.is_judged_by_its_bot(&key) {
                    let may_repeat = matches!(key, Key::Notification(..));
                    let times = if may_repeat { told.times } else { 1 };
                    let known = known.happened.entry(key).or_insert((told.what, 0));
                    known.1 = known.1.max(times);
                }
            }
        }
        known
    }

    /// Whether a bot was told of all changes of this entity in this tick.
    fn is_judged_by_its_bot(&self, key: &Key) -> bool {
        let Key::Change(tick, entity, _) = *key else {
            return false;
        };
        let lives = self.lives.get(&entity).is_some_and(|&from| from < tick);
        lives && !self.deaths.contains(&(tick, entity))
    }
}

/// Compares what one bot was told with what is known, in these ticks.
pub fn check(
    findings: &Findings,
    schema: &Schema,
    known: &Known,
    (bot, hearing): (usize, &Hearing),
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    check_reasons(findings, schema, bot, hearing);
    check_order(findings, bot, hearing);
    let told = hearing.told();
    for (key, told) in &told {
        check_told(findings, known, bot, key, told, ticks);
    }
    for (key, (what, times)) in &known.happened {
        let tick = key.tick();
        if !ticks.contains(&tick) || hearing.wanted(tick, what, schema).is_empty() {
            continue;
        }
        if hearing.was_full(tick) && !was_there_room(&told, key) {
            findings.leave_open();
            continue;
        }
        let found = told.get(key).map_or(0, |told| told.times);
        findings.check(found == *times, || {
            format!(
                "tick {tick}: bot {bot} was told {found} times, not {times}, of {what:?}, \
                 to which it subscribed"
            )
        });
    }
}

/// A bot was told of everything for the right reasons.
fn check_reasons(findings: &Findings, schema: &Schema, bot: usize, hearing: &Hearing) {
    for (tick, notice) in hearing.notices() {
        let wanted = hearing.wanted(*tick, &notice.body, schema);
        let is_reason = notice.heard || !wanted.is_empty();
        // Who is told of too much still hears what is near, whatever it subscribed to.
        let is_cut = notice.heard && notice.subscriptions.is_empty() && !wanted.is_empty();
        if is_cut && hearing.was_full(*tick) {
            findings.leave_open();
            continue;
        }
        findings.check(is_reason && notice.subscriptions == wanted, || {
            format!(
                "tick {tick}: bot {bot} was told of {:?} for its subscriptions {:?}, \
                 where {wanted:?} match",
                notice.body, notice.subscriptions
            )
        });
    }
}

/// Within a tick, notifications come first, then changes by slot and column.
fn check_order(findings: &Findings, bot: usize, hearing: &Hearing) {
    let place = |(tick, notice): &(Tick, Notice)| {
        let change = match notice.body {
            What::Notification { .. } => None,
            What::Change { entity, column, .. } => Some((entity.slot.0, column)),
        };
        (*tick, change)
    };
    let places = hearing.notices().map(place);
    for (one, next) in places.clone().zip(places.skip(1)) {
        let are_notifications = one.1.is_none() && next.1.is_none();
        findings.check(one < next || one == next && are_notifications, || {
            format!("bot {bot} was told of {next:?} (tick, slot and column) behind {one:?}")
        });
    }
}

/// What a bot was told of happened as others know it, and no more often.
fn check_told(
    findings: &Findings,
    known: &Known,
    bot: usize,
    key: &Key,
    told: &Told,
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    let (tick, what) = (key.tick(), &told.what);
    let may_repeat = matches!(key, Key::Notification(..));
    findings.check(told.times == 1 || may_repeat, || {
        format!(
            "tick {tick}: bot {bot} was told {} times of {what:?}",
            told.times
        )
    });
    if !ticks.contains(&tick) {
        return;
    }
    let truth = known.happened.get(key);
    findings.check(truth.is_some_and(|truth| truth.0 == *what), || {
        format!("tick {tick}: bot {bot} was told of {what:?}, another bot of {truth:?}")
    });
}

/// Whether something comes before the last change that a bot was told of in that tick:
/// who may be told only so much is told of the first.
fn was_there_room(told: &BTreeMap<Key, Told>, key: &Key) -> bool {
    let tick = key.tick();
    let changes = told.keys().filter_map(|told| match told {
        Key::Change(t, entity, column) if *t == tick => Some((entity.slot.0, *column)),
        _ => None,
    });
    let Some(last) = changes.max() else {
        return false;
    };
    match key {
        Key::Notification(..) => true,
        Key::Change(_, entity, column) => (entity.slot.0, *column) <= last,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use shared::WorldConfig;
    use shared::wire::stream::Item;

    use super::*;
    use crate::wish::Wish;

    const OTHER: EntityId = EntityId {
        slot: shared::Slot(9),
        generation: 1,
    };

    fn schema() -> Schema {
        WorldConfig::default().schema
    }

    /// Hit points of somebody, which take the third column.
    fn change(slot: u32, new: i32) -> What {
        What::Change {
            entity: EntityId::new(slot, 1),
            kind: 0,
            column: 2,
            old: new + 5,
            new,
            command: None,
        }
    }

    fn notice(what: What, subscriptions: &[u32]) -> Item {
        Item::Notice(Notice {
            body: what,
            heard: false,
            subscriptions: subscriptions.to_vec(),
        })
    }

    /// A bot that subscribed to all changes of hit points as 1, and to those below 50
    /// as 2, and what it was told in tick 20.
    fn bot(items: &[Item]) -> Hearing {
        let mut bot = Hearing::new(2, &schema());
        let wish = |new_below| Wish::Change {
            column: 2,
            kind: None,
            old_below: None,
            new_below,
        };
        bot.subscribe(Tick(10), 1, wish(None));
        bot.subscribe(Tick(10), 2, wish(Some(50)));
        for item in items {
            bot.item(EntityId::NONE, Tick(20), item);
        }
        bot
    }

    /// How many checks fail, and how many things stay open, where another bot was told
    /// of everything: of slots 5, 6 and 7.
    fn judge(items: &[Item]) -> (u64, u64) {
        let all = [
            notice(change(5, 70), &[1]),
            notice(change(6, 40), &[1, 2]),
            notice(change(7, 30), &[1, 2]),
        ];
        let (one, other) = (bot(items), bot(&all));
        let hearings = [(0, &one), (1, &other)];
        let findings = Findings::default();
        let known = Known::new(&findings, &hearings);
        let ticks = Tick(0)..=Tick(100);
        for hearing in hearings {
            check(&findings, &schema(), &known, hearing, &ticks);
        }
        (findings.errors.load(Relaxed), findings.open.load(Relaxed))
    }

    #[test]
    fn whatever_is_missing_repeated_or_told_for_other_reasons_is_found() {
        let [a, b, c] = [
            notice(change(5, 70), &[1]),
            notice(change(6, 40), &[1, 2]),
            notice(change(7, 30), &[1, 2]),
        ];
        let judged = |items: &[&Item]| judge(&items.iter().copied().cloned().collect::<Vec<_>>());
        assert_eq!(judged(&[&a, &b, &c]), (0, 0));
        assert_eq!(judged(&[&a, &c]), (1, 0));
        assert_eq!(judged(&[]), (3, 0));
        // Out of order; twice: out of order too, and too often.
        assert_eq!(judged(&[&a, &c, &b]), (1, 0));
        assert_eq!(judged(&[&a, &b, &b, &c]), (3, 0));
        let other_ids = notice(change(6, 40), &[1]);
        assert_eq!(judged(&[&a, &other_ids, &c]), (1, 0));
        // The other bot knows of another value; and of no such change.
        let other_value = notice(change(6, 41), &[1, 2]);
        assert_eq!(judged(&[&a, &other_value, &c]).0, 1);
        let wrong = What::Change {
            entity: OTHER,
            kind: 0,
            column: 0,
            old: 1,
            new: 2,
            command: None,
        };
        assert_eq!(judged(&[&a, &b, &c, &notice(wrong, &[])]), (1, 0));
    }

    #[test]
    fn who_is_told_as_much_as_it_may_be_is_told_of_the_first() {
        let [a, b] = [notice(change(5, 70), &[1]), notice(change(6, 40), &[1, 2])];
        assert_eq!(judge(&[a.clone(), b.clone(), Item::Full]), (0, 1));
        assert_eq!(judge(&[b, Item::Full]), (1, 1));
        assert_eq!(judge(&[a, Item::Full]), (0, 2));
    }
}
