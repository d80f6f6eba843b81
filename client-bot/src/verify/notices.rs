//! Checks that bots receive the events that they subscribed to: all of them, once each, in order,
//! and nothing else.
//!
//! Changes are compared with what bots saw in their views. Other events are known only from
//! notices: an event happened if any bot received it. So an event out of sight that
//! should have been sent to bots, and was sent to none, is not found. Cases that cannot be
//! judged are counted.

use std::collections::{BTreeMap, BTreeSet};

use client_core::{Notice, NoticeBody};
use shared::{EntityId, Schema, Tick};

use super::findings::Findings;
use super::record::{BotRecord, EventKey, NoticeCount};

/// All events that the bots of a swarm know.
pub struct KnownEvents {
    /// By key: the event, and how many times it happened. Equal notifications can happen
    /// several times in one tick.
    pub events: BTreeMap<EventKey, (NoticeBody, usize)>,
    /// Bots' entities, and the tick after which their changes are known.
    lives: BTreeMap<EntityId, Tick>,
    deaths: BTreeSet<(Tick, EntityId)>,
}

impl KnownEvents {
    /// Joins the records of all bots; `findings` gets their contradictions.
    pub fn new(findings: &Findings, all: &[(usize, &BotRecord)]) -> KnownEvents {
        let mut known = KnownEvents {
            events: BTreeMap::new(),
            lives: BTreeMap::new(),
            deaths: BTreeSet::new(),
        };
        for (bot, record) in all {
            for (tick, change) in record.changes() {
                let key = EventKey::of(*tick, change);
                let known = known.events.entry(key).or_insert((change.clone(), 1));
                findings.check(known.0 == *change, || {
                    format!(
                        "tick {tick}: bot {bot} saw {change:?}, another bot {:?}",
                        known.0
                    )
                });
            }
            known.deaths.extend(record.deaths());
            let lives = record.lives();
            known
                .lives
                .extend(lives.map(|(from, entity)| (entity, from)));
        }
        // All other events are known from notices only.
        for (_, record) in all {
            for (key, count) in record.counts() {
                if !known.is_known_to_its_bot(&key) {
                    let may_repeat = matches!(key, EventKey::Notification(..));
                    let times = if may_repeat { count.times } else { 1 };
                    let known = known.events.entry(key).or_insert((count.body, 0));
                    known.1 = known.1.max(times);
                }
            }
        }
        known
    }

    /// Whether a bot saw all changes of this entity in this tick, as the entity is its own.
    fn is_known_to_its_bot(&self, key: &EventKey) -> bool {
        let EventKey::Change(tick, entity, _) = *key else {
            return false;
        };
        let lives = self.lives.get(&entity).is_some_and(|&from| from < tick);
        lives && !self.deaths.contains(&(tick, entity))
    }
}

/// Checks the notices of one bot in these ticks.
pub fn check(
    findings: &Findings,
    schema: &Schema,
    known: &KnownEvents,
    (bot, record): (usize, &BotRecord),
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    check_reasons(findings, schema, bot, record);
    check_order(findings, bot, record);
    let counts = record.counts();
    for (key, count) in &counts {
        check_event(findings, known, bot, key, count, ticks);
    }
    for (key, (body, times)) in &known.events {
        let tick = key.tick();
        if !ticks.contains(&tick) || record.matching(tick, body, schema).is_empty() {
            continue;
        }
        if record.was_full(tick) && !was_there_room(&counts, key) {
            findings.leave_open();
            continue;
        }
        let found = counts.get(key).map_or(0, |count| count.times);
        findings.check(found == *times, || {
            format!(
                "tick {tick}: bot {bot} received {found} times {body:?}, to which it \
                 subscribed, expected {times}"
            )
        });
    }
}

/// Checks that each notice names the subscriptions that match, and that it has a reason.
fn check_reasons(findings: &Findings, schema: &Schema, bot: usize, record: &BotRecord) {
    for (tick, notice) in record.notices() {
        let matching = record.matching(*tick, &notice.body, schema);
        let has_reason = notice.heard || !matching.is_empty();
        // Beyond the limit of notices, hearings still come, without subscriptions.
        let is_cut = notice.heard && notice.subscriptions.is_empty() && !matching.is_empty();
        if is_cut && record.was_full(*tick) {
            findings.leave_open();
            continue;
        }
        findings.check(has_reason && notice.subscriptions == matching, || {
            format!(
                "tick {tick}: bot {bot} received {:?} for its subscriptions {:?}, \
                 expected {matching:?}",
                notice.body, notice.subscriptions
            )
        });
    }
}

/// Checks that within a tick notifications come first, then changes by slot and column.
fn check_order(findings: &Findings, bot: usize, record: &BotRecord) {
    let place = |(tick, notice): &(Tick, Notice)| {
        let change = match notice.body {
            NoticeBody::Notification { .. } => None,
            NoticeBody::Change { entity, column, .. } => Some((entity.slot.0, column)),
        };
        (*tick, change)
    };
    let places = record.notices().map(place);
    for (one, next) in places.clone().zip(places.skip(1)) {
        let are_notifications = one.1.is_none() && next.1.is_none();
        findings.check(one < next || one == next && are_notifications, || {
            format!("bot {bot} received {next:?} (tick, slot and column) after {one:?}")
        });
    }
}

/// Checks that an event that a bot received is a known one, and that changes were sent
/// once.
fn check_event(
    findings: &Findings,
    known: &KnownEvents,
    bot: usize,
    key: &EventKey,
    count: &NoticeCount,
    ticks: &std::ops::RangeInclusive<Tick>,
) {
    let (tick, body) = (key.tick(), &count.body);
    let may_repeat = matches!(key, EventKey::Notification(..));
    findings.check(count.times == 1 || may_repeat, || {
        format!(
            "tick {tick}: bot {bot} received {} times {body:?}",
            count.times
        )
    });
    if !ticks.contains(&tick) {
        return;
    }
    let known = known.events.get(key);
    findings.check(known.is_some_and(|known| known.0 == *body), || {
        format!("tick {tick}: bot {bot} received {body:?}, another bot {known:?}")
    });
}

/// Whether an event comes before the last change that a bot received in that tick. A
/// limit cuts off the last events of a tick, so this one was within the limit.
fn was_there_room(counts: &BTreeMap<EventKey, NoticeCount>, key: &EventKey) -> bool {
    let tick = key.tick();
    let changes = counts.keys().filter_map(|event| match event {
        EventKey::Change(t, entity, column) if *t == tick => Some((entity.slot.0, *column)),
        _ => None,
    });
    let Some(last) = changes.max() else {
        return false;
    };
    match key {
        EventKey::Notification(..) => true,
        EventKey::Change(_, entity, column) => (entity.slot.0, *column) <= last,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use client_core::Message;

    use super::*;
    use crate::filter::Filter;

    const OTHER: EntityId = EntityId {
        slot: shared::Slot(9),
        generation: 1,
    };

    fn schema() -> Schema {
        world_file::default().schema
    }

    /// A change of hit points, which are in the third column.
    fn change(slot: u32, new: i32) -> NoticeBody {
        NoticeBody::Change {
            entity: EntityId::new(slot, 1),
            kind: 0,
            column: 2,
            old: new + 5,
            new,
            command: None,
            by: EntityId::NONE,
        }
    }

    fn notice(body: NoticeBody, subscriptions: &[u32]) -> Message {
        Message::Notice(Notice {
            body,
            heard: false,
            subscriptions: subscriptions.to_vec(),
        })
    }

    /// The record of a bot that subscribed to all changes of hit points as 1, and to those
    /// below 50 as 2, and received these messages in tick 20.
    fn bot(messages: &[Message]) -> BotRecord {
        let mut bot = BotRecord::new(2, &schema());
        let filter = |new_below| Filter::Change {
            column: 2,
            kind: None,
            old_below: None,
            new_below,
        };
        bot.subscribe(Tick(10), 1, filter(None));
        bot.subscribe(Tick(10), 2, filter(Some(50)));
        for message in messages {
            bot.message(EntityId::NONE, Tick(20), message);
        }
        bot
    }

    /// The number of errors and of open cases, if another bot received all events: in
    /// slots 5, 6 and 7.
    fn judge(messages: &[Message]) -> (u64, u64) {
        let all = [
            notice(change(5, 70), &[1]),
            notice(change(6, 40), &[1, 2]),
            notice(change(7, 30), &[1, 2]),
        ];
        let (one, other) = (bot(messages), bot(&all));
        let records = [(0, &one), (1, &other)];
        let findings = Findings::default();
        let known = KnownEvents::new(&findings, &records);
        let ticks = Tick(0)..=Tick(100);
        for record in records {
            check(&findings, &schema(), &known, record, &ticks);
        }
        (findings.errors.load(Relaxed), findings.open.load(Relaxed))
    }

    #[test]
    fn missing_repeated_and_wrongly_attributed_notices_are_errors() {
        let [a, b, c] = [
            notice(change(5, 70), &[1]),
            notice(change(6, 40), &[1, 2]),
            notice(change(7, 30), &[1, 2]),
        ];
        let judged =
            |messages: &[&Message]| judge(&messages.iter().copied().cloned().collect::<Vec<_>>());
        assert_eq!(judged(&[&a, &b, &c]), (0, 0));
        assert_eq!(judged(&[&a, &c]), (1, 0));
        assert_eq!(judged(&[]), (3, 0));
        // Out of order; then twice, which is out of order and too often.
        assert_eq!(judged(&[&a, &c, &b]), (1, 0));
        assert_eq!(judged(&[&a, &b, &b, &c]), (3, 0));
        let other_ids = notice(change(6, 40), &[1]);
        assert_eq!(judged(&[&a, &other_ids, &c]), (1, 0));
        // The other bot has another value; then no such change.
        let other_value = notice(change(6, 41), &[1, 2]);
        assert_eq!(judged(&[&a, &other_value, &c]).0, 1);
        let wrong = NoticeBody::Change {
            entity: OTHER,
            kind: 0,
            column: 0,
            old: 1,
            new: 2,
            command: None,
            by: EntityId::NONE,
        };
        assert_eq!(judged(&[&a, &b, &c, &notice(wrong, &[])]), (1, 0));
    }

    #[test]
    fn at_the_limit_only_the_last_events_of_a_tick_may_be_missing() {
        let [a, b] = [notice(change(5, 70), &[1]), notice(change(6, 40), &[1, 2])];
        assert_eq!(judge(&[a.clone(), b.clone(), Message::Full]), (0, 1));
        assert_eq!(judge(&[b, Message::Full]), (1, 1));
        assert_eq!(judge(&[a, Message::Full]), (0, 2));
    }
}
