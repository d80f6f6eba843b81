//! Whether listening bots heard what they subscribed to: all of it, once each, and
//! nothing else.
//!
//! What happened to a bot's entity is what its own bot was told of it; what else
//! happened is what any bot was told of.

use std::collections::{BTreeMap, BTreeSet};

use shared::wire::notice::{Notice, What};
use shared::wire::stream::Item;
use shared::{EntityId, NotificationKind, Schema, Tick};

use super::Findings;
use crate::wish::Wish;

/// What one bot wished to hear and was told.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    subscriptions: Vec<Subscription>,
    notices: Vec<(Tick, Notice)>,
    /// Ticks in which notices may have been left out.
    full: BTreeSet<Tick>,
    /// Changes of its own entity, without what was behind them.
    happened: Vec<(Tick, What)>,
    /// Its own entity's attributes, as told reliably.
    row: BTreeMap<u16, i32>,
    /// Who it was, and from when on.
    lives: Vec<(Tick, EntityId, u16)>,
    /// Ticks in which it died: of their changes it was not told.
    deaths: BTreeSet<Tick>,
}

#[derive(Clone, Debug)]
struct Subscription {
    id: u32,
    wish: Wish,
    from: Tick,
    /// The first tick in which it holds no more.
    until: Tick,
}

/// What tells one thing that happened from all others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Change(Tick, EntityId, u16),
    Notification(Tick, NotificationKind, EntityId, Vec<i32>),
}

impl Hearing {
    /// The bot subscribes, from a tick on.
    pub fn subscribe(&mut self, tick: Tick, id: u32, wish: Wish) {
        self.subscriptions.push(Subscription {
            id,
            wish,
            from: tick,
            until: Tick(u32::MAX),
        });
    }

    pub fn unsubscribe(&mut self, tick: Tick, id: u32) {
        for subscription in &mut self.subscriptions {
            if subscription.id == id {
                subscription.until = subscription.until.min(tick);
            }
        }
    }

    /// Notes what a bot is told. `entity` is its own, before the item takes effect.
    pub fn item(&mut self, entity: EntityId, tick: Tick, item: &Item) {
        match item {
            Item::Notice(notice) => self.notices.push((tick, notice.clone())),
            Item::Full => drop(self.full.insert(tick)),
            Item::Lost(id) => self.unsubscribe(tick, *id),
            Item::Enter {
                entity,
                kind,
                own: true,
                values,
            } => {
                self.lives.push((tick, *entity, *kind));
                self.row = values.iter().copied().collect();
            }
            Item::Leave(slot) if *slot == entity.slot => drop(self.deaths.insert(tick)),
            Item::State { slot, values } if *slot == entity.slot => {
                self.note_changes(tick, values);
            }
            _ => {}
        }
    }

    fn note_changes(&mut self, tick: Tick, values: &[(u16, i32)]) {
        let Some(&(_, entity, kind)) = self.lives.last() else {
            return;
        };
        for &(column, new) in values {
            let old = self.row.insert(column, new);
            if let Some(old) = old.filter(|&old| old != new) {
                let change = What::Change {
                    entity,
                    kind,
                    column,
                    old,
                    new,
                    command: None,
                };
                self.happened.push((tick, change));
            }
        }
    }

    /// The ids of the subscriptions that hold for something, ascending.
    fn wanted(&self, tick: Tick, what: &What, schema: &Schema) -> Vec<u32> {
        let own = self.own(tick);
        let held = self.subscriptions.iter();
        let held = held.filter(|s| s.from <= tick && tick < s.until);
        let mut ids: Vec<u32> = held
            .filter(|s| s.wish.holds(what, own, schema))
            .map(|s| s.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// All that it was told of, and how often. By which commands is left out: who is
    /// told of its own entity does not hear that.
    fn told(&self) -> BTreeMap<Key, (What, usize)> {
        let mut told = BTreeMap::new();
        for (tick, notice) in &self.notices {
            let mut what = notice.what.clone();
            if let What::Change { command, .. } = &mut what {
                *command = None;
            }
            let told = told.entry(key(*tick, &what)).or_insert((what, 0));
            told.1 += 1;
        }
        told
    }

    /// Who the bot was in a tick.
    fn own(&self, tick: Tick) -> EntityId {
        let life = self.lives.iter().rev().find(|life| life.0 <= tick);
        life.map_or(EntityId::NONE, |life| life.1)
    }
}

/// Compares what all bots heard, up to a tick of which all have heard.
pub fn check_hearing(findings: &Findings, schema: &Schema, all: &[(usize, &Hearing)], last: Tick) {
    if all
        .iter()
        .all(|(_, h)| h.subscriptions.is_empty() && h.notices.is_empty())
    {
        return;
    }
    let known = Known::new(all);
    for &(bot, hearing) in all {
        check_reasons(findings, schema, bot, hearing);
        check_told(findings, &known, bot, hearing, last);
        check_untold(findings, schema, &known, (bot, hearing), last);
    }
}

/// What happened, as far as bots know.
struct Known {
    /// Each with how often: the same may be notified of several times in one tick.
    happened: BTreeMap<Key, (What, usize)>,
    /// Bots' entities, and from which tick on their changes are known.
    lives: BTreeMap<EntityId, Tick>,
    deaths: BTreeSet<(Tick, EntityId)>,
}

impl Known {
    fn new(all: &[(usize, &Hearing)]) -> Known {
        let mut known = Known {
            happened: BTreeMap::new(),
            lives: BTreeMap::new(),
            deaths: BTreeSet::new(),
        };
        for (_, hearing) in all {
            for (tick, what) in &hearing.happened {
                known.happened.insert(key(*tick, what), (what.clone(), 1));
            }
            for &tick in &hearing.deaths {
                let before = Tick(tick.0.saturating_sub(1));
                known.deaths.insert((tick, hearing.own(before)));
            }
            let lives = hearing.lives.iter();
            known
                .lives
                .extend(lives.map(|&(from, entity, _)| (entity, from)));
        }
        // Of the rest, whatever somebody was told of.
        for (_, hearing) in all {
            for (key, (what, count)) in hearing.told() {
                if !known.is_judged_by_its_bot(&key) {
                    let known = known.happened.entry(key).or_insert((what, 0));
                    known.1 = known.1.max(count);
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

/// A bot was told of everything for the right reasons.
fn check_reasons(findings: &Findings, schema: &Schema, bot: usize, hearing: &Hearing) {
    for (tick, notice) in &hearing.notices {
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

/// What a bot was told of happened as others know it, and no more often.
fn check_told(findings: &Findings, known: &Known, bot: usize, hearing: &Hearing, last: Tick) {
    for (key, (what, count)) in hearing.told() {
        let tick = key.tick();
        findings.check(count == 1 || matches!(key, Key::Notification(..)), || {
            format!("tick {tick}: bot {bot} was told {count} times of {what:?}")
        });
        if tick > last {
            continue;
        }
        let truth = known.happened.get(&key);
        findings.check(truth.is_some_and(|truth| truth.0 == what), || {
            format!("tick {tick}: bot {bot} was told of {what:?}, another bot of {truth:?}")
        });
    }
}

/// What happened and a bot subscribed to, it was told of as often as it happened.
fn check_untold(
    findings: &Findings,
    schema: &Schema,
    known: &Known,
    (bot, hearing): (usize, &Hearing),
    last: Tick,
) {
    let told = hearing.told();
    for (key, (what, count)) in &known.happened {
        let tick = key.tick();
        if tick > last
            || hearing.full.contains(&tick)
            || hearing.wanted(tick, what, schema).is_empty()
        {
            continue;
        }
        let found = told.get(key).map_or(0, |told| told.1);
        findings.check(found == *count, || {
            format!(
                "tick {tick}: bot {bot} was told {found} times, not {count}, of {what:?}, \
                 to which it subscribed"
            )
        });
    }
}

impl Key {
    fn tick(&self) -> Tick {
        match *self {
            Key::Change(tick, ..) | Key::Notification(tick, ..) => tick,
        }
    }
}

fn key(tick: Tick, what: &What) -> Key {
    match what {
        What::Change { entity, column, .. } => Key::Change(tick, *entity, *column),
        What::Notification {
            kind,
            source,
            words,
        } => Key::Notification(tick, *kind, *source, words.clone()),
    }
}
