//! What one bot wished to hear, was told beside its view, and knows of itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use shared::wire::notice::{Notice, What};
use shared::wire::stream::Item;
use shared::{CommandKind, EntityId, NotificationKind, Schema, Slot, Tick};

use crate::wish::Wish;

/// Notes that are compared with other bots' in the end: of some ticks, the same for
/// all bots, and not of those that are long past.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    /// One tick in so many is noted.
    every: u32,
    /// In this world something can be heard.
    notes_places: bool,
    subscriptions: Vec<Subscription>,
    notices: VecDeque<(Tick, Notice)>,
    /// Ticks in which notices may have been left out.
    full: BTreeSet<Tick>,
    /// Changes of whoever was in its view, without what was behind them.
    happened: VecDeque<(Tick, What)>,
    /// Who is in its view, by slot, with what was told reliably.
    in_view: FxHashMap<u32, Seen>,
    /// Who it was, and from when on.
    lives: Vec<(Tick, EntityId)>,
    /// Ticks in which it died: of their changes it was not told.
    deaths: BTreeSet<Tick>,
    /// Where its own entity was.
    places: VecDeque<(Tick, Slot, [i32; 3])>,
    /// By number of its shouts: how far they were to be heard, at most.
    shouts: BTreeMap<i32, i32>,
    /// It held regions, from which it may hear too.
    pub has_regions: bool,
}

#[derive(Clone, Debug)]
struct Seen {
    entity: EntityId,
    kind: u16,
    row: FxHashMap<u16, i32>,
}

#[derive(Clone, Debug)]
struct Subscription {
    id: u32,
    wish: Wish,
    from: Tick,
    /// The first tick in which it holds no more.
    until: Tick,
}

/// What tells one thing that happened from all others; in the order in which notices
/// come within a tick, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    Notification(Tick, NotificationKind, EntityId, Vec<i32>),
    Change(Tick, EntityId, u16),
}

/// What a bot was told of one thing.
#[derive(Clone, Debug)]
pub struct Told {
    /// By which command is left out: who is told of its own entity does not hear that.
    pub what: What,
    pub times: usize,
}

impl Hearing {
    /// Of a swarm of so many bots.
    pub fn new(bots: usize, schema: &Schema) -> Hearing {
        Hearing {
            every: bots.div_ceil(BOTS_JUDGED_ALWAYS).max(1) as u32,
            notes_places: !schema.notifications.is_empty(),
            ..Hearing::default()
        }
    }

    /// Whether a tick is one of those that are compared.
    pub fn is_noted(&self, tick: Tick) -> bool {
        tick.0.is_multiple_of(self.every.max(1))
    }

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

    /// Notes what the bot does that others may hear.
    pub fn acts(&mut self, command: CommandKind, words: &[i32]) {
        if let (CommandKind::Shout, &[radius, number]) = (command, words) {
            let farthest = self.shouts.entry(number).or_insert(0);
            *farthest = radius.max(*farthest);
        }
    }

    /// Notes where the bot's own entity is.
    pub fn moved(&mut self, tick: Tick, slot: Slot, place: &[i32]) {
        // Who shouts does so where it was before.
        if !self.notes_places || !(self.is_noted(tick) || self.is_noted(tick.next())) {
            return;
        }
        let mut all = [0; 3];
        all[..place.len()].copy_from_slice(place);
        self.places.push_back((tick, slot, all));
        drop_old(&mut self.places, tick, |place| place.0);
    }

    /// Notes what a bot is told. `entity` is its own, before the item takes effect.
    pub fn item(&mut self, entity: EntityId, tick: Tick, item: &Item) {
        match item {
            Item::Notice(notice) if self.is_noted(tick) => {
                self.notices.push_back((tick, notice.clone()));
                drop_old(&mut self.notices, tick, |notice| notice.0);
            }
            Item::Full => drop(self.full.insert(tick)),
            Item::Lost(id) => self.unsubscribe(tick, *id),
            Item::Enter {
                entity,
                kind,
                own,
                values,
            } => {
                if *own {
                    self.lives.push((tick, *entity));
                }
                let seen = Seen {
                    entity: *entity,
                    kind: *kind,
                    row: values.iter().copied().collect(),
                };
                self.in_view.insert(entity.slot.0, seen);
            }
            Item::Leave(slot) => {
                self.in_view.remove(&slot.0);
                if *slot == entity.slot {
                    self.deaths.insert(tick);
                }
            }
            Item::State { slot, values } => self.note_changes(tick, *slot, values),
            _ => {}
        }
    }

    fn note_changes(&mut self, tick: Tick, slot: Slot, values: &[(u16, i32)]) {
        let is_noted = self.is_noted(tick);
        let Some(seen) = self.in_view.get_mut(&slot.0) else {
            return;
        };
        for &(column, new) in values {
            let old = seen.row.insert(column, new);
            let Some(old) = old.filter(|&old| old != new && is_noted) else {
                continue;
            };
            let change = What::Change {
                entity: seen.entity,
                kind: seen.kind,
                column,
                old,
                new,
                command: None,
            };
            self.happened.push_back((tick, change));
        }
        drop_old(&mut self.happened, tick, |happened| happened.0);
    }

    /// Whether it neither subscribed to anything nor was told of anything.
    pub fn is_empty(&self) -> bool {
        self.subscriptions.is_empty() && self.notices.is_empty()
    }

    /// The ids of the subscriptions that hold for something, ascending.
    pub fn wanted(&self, tick: Tick, what: &What, schema: &Schema) -> Vec<u32> {
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

    /// All notices, in the order in which they came.
    pub fn notices(&self) -> impl Iterator<Item = &(Tick, Notice)> + Clone {
        self.notices.iter()
    }

    /// All that it was told of, and how often.
    pub fn told(&self) -> BTreeMap<Key, Told> {
        let mut told = BTreeMap::new();
        for (tick, notice) in &self.notices {
            let mut what = notice.body.clone();
            if let What::Change { command, .. } = &mut what {
                *command = None;
            }
            let told = told.entry(Key::of(*tick, &what));
            told.or_insert(Told { what, times: 0 }).times += 1;
        }
        told
    }

    /// What it heard because of where it was, and how often.
    pub fn heard(&self) -> FxHashMap<Key, usize> {
        let mut all = FxHashMap::default();
        for (tick, notice) in self.notices.iter().filter(|(_, notice)| notice.heard) {
            *all.entry(Key::of(*tick, &notice.body)).or_insert(0) += 1;
        }
        all
    }

    /// Changes that it saw.
    pub fn happened(&self) -> impl Iterator<Item = &(Tick, What)> {
        self.happened.iter()
    }

    /// Whether some notices of a tick may have been left out.
    pub fn was_full(&self, tick: Tick) -> bool {
        self.full.contains(&tick)
    }

    /// Who it was, and from when on it knew.
    pub fn lives(&self) -> impl Iterator<Item = (Tick, EntityId)> {
        self.lives.iter().copied()
    }

    /// The ticks in which it died, as whom.
    pub fn deaths(&self) -> impl Iterator<Item = (Tick, EntityId)> {
        let before = |tick: Tick| Tick(tick.0.saturating_sub(1));
        let deaths = self.deaths.iter();
        deaths.map(move |&tick| (tick, self.own(before(tick))))
    }

    /// Where its own entity was, tick by tick, as far as it was told.
    pub fn places(&self) -> impl Iterator<Item = &(Tick, Slot, [i32; 3])> {
        self.places.iter()
    }

    /// How far one of its shouts was to be heard.
    pub fn shout_radius(&self, number: i32) -> Option<i32> {
        self.shouts.get(&number).copied()
    }

    /// Who the bot was in a tick.
    pub fn own(&self, tick: Tick) -> EntityId {
        let life = self.lives.iter().rev().find(|life| life.0 <= tick);
        life.map_or(EntityId::NONE, |life| life.1)
    }
}

impl Key {
    pub fn of(tick: Tick, what: &What) -> Key {
        match what {
            What::Change { entity, column, .. } => Key::Change(tick, *entity, *column),
            What::Notification {
                kind,
                source,
                words,
            } => Key::Notification(tick, *kind, *source, words.clone()),
        }
    }

    pub fn tick(&self) -> Tick {
        match *self {
            Key::Change(tick, ..) | Key::Notification(tick, ..) => tick,
        }
    }
}

fn drop_old<T>(all: &mut VecDeque<T>, now: Tick, tick_of: impl Fn(&T) -> Tick) {
    while let Some(first) = all.front()
        && tick_of(first).0 + NOTED_TICKS <= now.0
    {
        all.pop_front();
    }
}

/// For how long what was told is known: so much fits into memory.
pub const NOTED_TICKS: u32 = 600;
/// In larger swarms, fewer ticks are noted.
const BOTS_JUDGED_ALWAYS: usize = 100;
