//! One bot's subscriptions, its notices, and its own state.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use client_core::{Message, Notice, NoticeBody};
use rustc_hash::FxHashMap;
use shared::{EntityId, NotificationKind, Schema, Slot, Tick};

use crate::filter::Filter;

/// A bot's record, which is compared with the records of other bots at the end. It covers
/// a sample of the last ticks, the same one for all bots.
#[derive(Clone, Debug, Default)]
pub struct BotRecord {
    /// One of so many ticks is recorded.
    period: u32,
    /// Whether this world has notifications, which can come by place.
    has_notifications: bool,
    subscriptions: Vec<Subscription>,
    notices: VecDeque<(Tick, Notice)>,
    /// Ticks in which notices may have been left out.
    full: BTreeSet<Tick>,
    /// Changes of entities in view, without the commands that caused them.
    changes: VecDeque<(Tick, NoticeBody)>,
    /// The entities in view by slot, with their reliably sent attributes.
    in_view: FxHashMap<u32, KnownEntity>,
    /// Its own entities, each with the tick of its birth.
    lives: Vec<(Tick, EntityId)>,
    /// Ticks in which its own entity died. It did not receive all changes of these ticks.
    deaths: BTreeSet<Tick>,
    /// Where its own entity was.
    places: VecDeque<(Tick, Slot, [i32; 3])>,
    /// Whether it had regions: it receives notifications there.
    pub has_regions: bool,
}

#[derive(Clone, Debug)]
struct KnownEntity {
    entity: EntityId,
    kind: u16,
    row: FxHashMap<u16, i32>,
}

#[derive(Clone, Debug)]
struct Subscription {
    id: u32,
    filter: Filter,
    from: Tick,
    /// The first tick in which it no longer holds.
    until: Tick,
}

/// Identifies an event. Within a tick, keys are ordered as notices are, as far as the
/// server defines an order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKey {
    Notification(Tick, NotificationKind, EntityId, Vec<i32>),
    Change(Tick, EntityId, u16),
}

/// The notices of one event.
#[derive(Clone, Debug)]
pub struct NoticeCount {
    /// Without the command, which a view lacks.
    pub body: NoticeBody,
    pub times: usize,
}

impl BotRecord {
    /// The empty record of a bot in a swarm of so many.
    pub fn new(bots: usize, schema: &Schema) -> BotRecord {
        BotRecord {
            period: bots.div_ceil(BOTS_PER_PERIOD).max(1) as u32,
            has_notifications: !schema.notifications.is_empty(),
            ..BotRecord::default()
        }
    }

    /// Whether a tick is in the sample.
    pub fn is_recorded(&self, tick: Tick) -> bool {
        tick.0.is_multiple_of(self.period.max(1).into())
    }

    /// Notes that a subscription holds from a tick on.
    pub fn subscribe(&mut self, tick: Tick, id: u32, filter: Filter) {
        self.subscriptions.push(Subscription {
            id,
            filter,
            from: tick,
            until: Tick::MAX,
        });
    }

    /// Notes that a subscription no longer holds from a tick on.
    pub fn unsubscribe(&mut self, tick: Tick, id: u32) {
        for subscription in &mut self.subscriptions {
            if subscription.id == id {
                subscription.until = subscription.until.min(tick);
            }
        }
    }

    /// Notes where the bot's own entity is.
    pub fn moved(&mut self, tick: Tick, slot: Slot, place: &[i32]) {
        if !self.has_notifications || !self.is_recorded(tick) {
            return;
        }
        let mut all = [0; 3];
        all[..place.len()].copy_from_slice(place);
        self.places.push_back((tick, slot, all));
        drop_old(&mut self.places, tick, |place| place.0);
    }

    /// Notes a message of the stream. `entity` is the bot's own before the message takes
    /// effect.
    pub fn message(&mut self, entity: EntityId, tick: Tick, message: &Message) {
        match message {
            Message::Notice(notice) if self.is_recorded(tick) => {
                self.notices.push_back((tick, notice.clone()));
                drop_old(&mut self.notices, tick, |notice| notice.0);
            }
            Message::Full => drop(self.full.insert(tick)),
            Message::Lost(id) => self.unsubscribe(tick, *id),
            Message::Enter {
                entity,
                kind,
                own,
                values,
                ..
            } => {
                if *own {
                    self.lives.push((tick, *entity));
                }
                let known = KnownEntity {
                    entity: *entity,
                    kind: *kind,
                    row: values.iter().copied().collect(),
                };
                self.in_view.insert(entity.slot.0, known);
            }
            Message::Leave(slot) => {
                self.in_view.remove(&slot.0);
                if *slot == entity.slot {
                    self.deaths.insert(tick);
                }
            }
            Message::State { slot, values } => self.note_changes(tick, *slot, values),
            _ => {}
        }
    }

    /// Whether an entity with this slot is in view, by the stream so far.
    pub fn sees(&self, slot: Slot) -> bool {
        self.in_view.contains_key(&slot.0)
    }

    /// The number of entities in view.
    pub fn sees_count(&self) -> usize {
        self.in_view.len()
    }

    fn note_changes(&mut self, tick: Tick, slot: Slot, values: &[(u16, i32)]) {
        let is_recorded = self.is_recorded(tick);
        let Some(known) = self.in_view.get_mut(&slot.0) else {
            return;
        };
        for &(column, new) in values {
            let old = known.row.insert(column, new);
            let Some(old) = old.filter(|&old| old != new && is_recorded) else {
                continue;
            };
            let change = NoticeBody::Change {
                entity: known.entity,
                kind: known.kind,
                column,
                old,
                new,
                command: None,
                by: EntityId::NONE,
            };
            self.changes.push_back((tick, change));
        }
        drop_old(&mut self.changes, tick, |change| change.0);
    }

    /// Whether the bot had no subscriptions and received no notices.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty() && self.notices.is_empty()
    }

    /// The ids of the subscriptions that match an event, ascending.
    pub fn matching(&self, tick: Tick, body: &NoticeBody, schema: &Schema) -> Vec<u32> {
        let own = self.own(tick);
        let current = self.subscriptions.iter();
        let current = current.filter(|s| s.from <= tick && tick < s.until);
        let mut ids: Vec<u32> = current
            .filter(|s| s.filter.matches(body, own, schema))
            .map(|s| s.id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// All notices in the order of arrival.
    pub fn notices(&self) -> impl Iterator<Item = &(Tick, Notice)> + Clone {
        self.notices.iter()
    }

    /// The notices, counted by event.
    pub fn counts(&self) -> BTreeMap<EventKey, NoticeCount> {
        let mut counts = BTreeMap::new();
        for (tick, notice) in &self.notices {
            let mut body = notice.body.clone();
            if let NoticeBody::Change { command, by, .. } = &mut body {
                *command = None;
                *by = EntityId::NONE;
            }
            let count = counts.entry(EventKey::of(*tick, &body));
            count.or_insert(NoticeCount { body, times: 0 }).times += 1;
        }
        counts
    }

    /// The notices that reached the bot by place, counted by event.
    pub fn hearings(&self) -> FxHashMap<EventKey, usize> {
        let mut all = FxHashMap::default();
        for (tick, notice) in self.notices.iter().filter(|(_, notice)| notice.heard) {
            *all.entry(EventKey::of(*tick, &notice.body)).or_insert(0) += 1;
        }
        all
    }

    /// The changes that the bot saw in its view.
    pub fn changes(&self) -> impl Iterator<Item = &(Tick, NoticeBody)> {
        self.changes.iter()
    }

    /// Whether some notices of a tick may have been left out.
    pub fn was_full(&self, tick: Tick) -> bool {
        self.full.contains(&tick)
    }

    /// Its own entities, each with the tick of its birth.
    pub fn lives(&self) -> impl Iterator<Item = (Tick, EntityId)> {
        self.lives.iter().copied()
    }

    /// The deaths of its own entities.
    pub fn deaths(&self) -> impl Iterator<Item = (Tick, EntityId)> {
        let before = |tick: Tick| Tick(tick.0.saturating_sub(1));
        let deaths = self.deaths.iter();
        deaths.map(move |&tick| (tick, self.own(before(tick))))
    }

    /// Where its own entity was, in ticks for which it received a place.
    pub fn places(&self) -> impl Iterator<Item = &(Tick, Slot, [i32; 3])> {
        self.places.iter()
    }

    /// The bot's own entity in a tick.
    pub fn own(&self, tick: Tick) -> EntityId {
        let life = self.lives.iter().rev().find(|life| life.0 <= tick);
        life.map_or(EntityId::NONE, |life| life.1)
    }
}

impl EventKey {
    pub fn of(tick: Tick, body: &NoticeBody) -> EventKey {
        match body {
            NoticeBody::Change { entity, column, .. } => EventKey::Change(tick, *entity, *column),
            NoticeBody::Notification {
                kind,
                source,
                words,
            } => EventKey::Notification(tick, *kind, *source, words.clone()),
        }
    }

    pub fn tick(&self) -> Tick {
        match *self {
            EventKey::Change(tick, ..) | EventKey::Notification(tick, ..) => tick,
        }
    }
}

fn drop_old<T>(all: &mut VecDeque<T>, now: Tick, tick_of: impl Fn(&T) -> Tick) {
    while let Some(first) = all.front()
        && tick_of(first).after(RECORDED_TICKS) <= now
    {
        all.pop_front();
    }
}

/// How many ticks a record covers, so that it fits into memory.
pub const RECORDED_TICKS: u32 = 600;
/// Up to so many bots, every tick is recorded; up to twice as many, every second tick.
const BOTS_PER_PERIOD: usize = 100;
