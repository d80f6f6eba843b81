//! Whether listening bots heard what they subscribed to: all of it, once each, and
//! nothing else. What happened to a bot's entity is what its own bot was told of it.

use std::collections::{BTreeMap, BTreeSet};

use shared::wire::notice::{Notice, What};
use shared::wire::stream::Item;
use shared::{EntityId, Schema, Tick};

use super::Findings;
use crate::wish::{Change, Wish};

/// What one bot wished to hear and was told.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    subscriptions: Vec<Subscription>,
    notices: Vec<(Tick, Notice)>,
    /// Ticks in which notices were left out.
    missed: BTreeSet<Tick>,
    /// Changes of its own entity.
    happened: Vec<(Tick, Change)>,
    /// Its own entity's lasting attributes, once told.
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

impl Hearing {
    pub fn subscribe(&mut self, tick: Tick, id: u32, wish: Wish) {
        self.unsubscribe(tick, id);
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
            Item::Missed(_) => drop(self.missed.insert(tick)),
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
                let Some(&(_, entity, kind)) = self.lives.last() else {
                    return;
                };
                for &(column, new) in values {
                    let Some(old) = self.row.insert(column, new).filter(|&old| old != new) else {
                        continue;
                    };
                    let change = Change {
                        entity,
                        kind,
                        column,
                        old,
                        new,
                    };
                    self.happened.push((tick, change));
                }
            }
            _ => {}
        }
    }

    pub fn is_silent(&self) -> bool {
        self.subscriptions.is_empty() && self.notices.is_empty()
    }

    /// The ids of the subscriptions that hold for a change.
    fn wanted(&self, tick: Tick, change: &Change, schema: &Schema) -> Vec<u32> {
        let own = self.own(tick);
        let held = self.subscriptions.iter();
        let held = held.filter(|s| s.from <= tick && tick < s.until);
        let mut ids: Vec<u32> = held
            .filter(|s| s.wish.holds(change, own, schema))
            .map(|s| s.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Who the bot was in a tick.
    fn own(&self, tick: Tick) -> EntityId {
        let life = self.lives.iter().rev().find(|life| life.0 <= tick);
        life.map_or(EntityId::NONE, |life| life.1)
    }
}

/// Compares what all bots heard, up to a tick that all have heard of.
pub fn check_hearing(findings: &Findings, schema: &Schema, all: &[(usize, &Hearing)], last: Tick) {
    let mut truth = BTreeMap::new();
    let mut deaths = BTreeSet::new();
    // Whose changes are known: from a tick on.
    let mut known = BTreeMap::new();
    for (_, hearing) in all {
        for &(tick, change) in &hearing.happened {
            truth.insert((tick, change.entity, change.column), change);
        }
        for &tick in &hearing.deaths {
            deaths.insert((tick, hearing.own(Tick(tick.0.saturating_sub(1)))));
        }
        known.extend(
            hearing
                .lives
                .iter()
                .map(|&(from, entity, _)| (entity, from)),
        );
    }
    for &(bot, hearing) in all {
        if hearing.is_silent() {
            continue;
        }
        let mut told = BTreeSet::new();
        for (tick, notice) in &hearing.notices {
            let (tick, change) = (*tick, change_of(&notice.what));
            let key = (tick, change.entity, change.column);
            findings.check(told.insert(key), || {
                format!("tick {tick}: bot {bot} was told twice of {change:?}")
            });
            let wanted = hearing.wanted(tick, &change, schema);
            findings.check(notice.subscriptions == wanted, || {
                format!(
                    "tick {tick}: bot {bot} was told of {change:?} for subscriptions {:?}, \
                     where {wanted:?} match",
                    notice.subscriptions
                )
            });
            let is_known = known.get(&change.entity).is_some_and(|&from| from < tick);
            if is_known && tick <= last && !deaths.contains(&(tick, change.entity)) {
                findings.check(truth.get(&key) == Some(&change), || {
                    format!(
                        "tick {tick}: bot {bot} was told of {change:?}, its own bot of {:?}",
                        truth.get(&key)
                    )
                });
            }
        }
        for (&(tick, entity, column), change) in &truth {
            if tick > last
                || hearing.missed.contains(&tick)
                || hearing.wanted(tick, change, schema).is_empty()
            {
                continue;
            }
            findings.check(told.contains(&(tick, entity, column)), || {
                format!("tick {tick}: bot {bot} was not told of {change:?}, which it subscribed to")
            });
        }
    }
}

fn change_of(what: &What) -> Change {
    match *what {
        What::Change {
            entity,
            kind,
            column,
            old,
            new,
            ..
        } => Change {
            entity,
            kind,
            column,
            old,
            new,
        },
    }
}
