//! Whether bots were told of what they subscribed to: all of it, once each, in order,
//! and nothing else.
//!
//! What happened to a bot's entity is what its own bot was told of it. Of what else
//! happened, the bots know only together: it is whatever any of them was told of. So
//! nobody finds out what all of them should have been told of, and none was. What
//! cannot be judged is counted.

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
    pub fn new(all: &[(usize, &Hearing)]) -> Known {
        let mut known = Known {
            happened: BTreeMap::new(),
            lives: BTreeMap::new(),
            deaths: BTreeSet::new(),
        };
        for (_, hearing) in all {
            for (tick, what) in hearing.happened() {
                let key = Key::of(*tick, what);
                known.happened.insert(key, (what.clone(), 1));
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
                    let known = known.happened.entry(key).or_insert((told.what, 0));
                    known.1 = known.1.max(told.times);
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
        let wanted = hearing.wanted(*tick, &notice.what, schema);
        let is_reason = notice.heard || !wanted.is_empty();
        findings.check(is_reason && notice.subscriptions == wanted, || {
            format!(
                "tick {tick}: bot {bot} was told of {:?} for its subscriptions {:?}, \
                 where {wanted:?} match",
                notice.what, notice.subscriptions
            )
        });
    }
}

/// Within a tick, notifications come first, then changes by slot and column.
fn check_order(findings: &Findings, bot: usize, hearing: &Hearing) {
    let place = |(tick, notice): &(Tick, Notice)| {
        let change = match notice.what {
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
        Key::Change(_, entity, column) => (entity.slot.0, *column) < last,
    }
}
