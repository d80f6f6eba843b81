//! One bot's checks in play.

use std::collections::VecDeque;

use client_core::{Answer, DatagramSummary, Message, Movement, Region, View};
use rustc_hash::FxHashMap;
use shared::{EntityId, Schema, Slot, Tick};

use super::history::{HISTORY_TICKS, History};
use super::record::BotRecord;
use super::regions::RegionLog;
use super::sight::Placed;
use crate::behaviour::Request;

/// Compares what one bot is told with the history of the others, and keeps its record.
pub struct Checker {
    bot: usize,
    entity: EntityId,
    /// Positions of others that the bot was told in sampled ticks, to be compared.
    positions: VecDeque<(Tick, Positions)>,
    /// Completely received ticks in which to look for entities missing from view.
    complete: VecDeque<Tick>,
    /// Enters and leaves, oldest first.
    memberships: VecDeque<Membership>,
    /// Requests that are not answered yet, oldest first, with their numbers.
    requests: VecDeque<(u32, Request)>,
    regions: RegionLog,
    record: BotRecord,
    /// By slot: the last tick in which a reliable message named it.
    touched: FxHashMap<u32, Tick>,
    /// When its entity was last reborn.
    reborn: Option<Tick>,
}

type Positions = Vec<(Slot, [i32; 3])>;

/// An entity entered the view or left it.
struct Membership {
    tick: Tick,
    slot: u32,
    entered: bool,
}

impl Checker {
    /// A checker of one of so many bots.
    pub fn new(bot: usize, entity: EntityId, bots: usize, schema: &Schema) -> Checker {
        Checker {
            bot,
            entity,
            positions: VecDeque::new(),
            complete: VecDeque::new(),
            memberships: VecDeque::new(),
            requests: VecDeque::new(),
            regions: RegionLog::default(),
            record: BotRecord::new(bots, schema),
            touched: FxHashMap::default(),
            reborn: None,
        }
    }

    /// Notes a request that the bot sends.
    pub fn request(&mut self, number: u32, request: Request) {
        self.requests.push_back((number, request));
    }

    /// Whether its entity was just reborn, and may not be in view yet.
    pub fn is_newborn(&self, now: Tick) -> bool {
        self.reborn.is_some_and(|tick| now <= tick.next())
    }

    /// The slots that a reliable message named after a tick.
    pub fn touched_after(&self, tick: Tick) -> Vec<u32> {
        let touched = self.touched.iter().filter(|touched| *touched.1 > tick);
        touched.map(|(&slot, _)| slot).collect()
    }

    /// The bot's regions at the end, and its record.
    pub fn finish(self) -> (Vec<Region>, BotRecord) {
        (self.regions.last(), self.record)
    }

    /// Notes a message of the stream.
    pub fn message(&mut self, history: &History, tick: Tick, message: &Message) {
        self.record.message(self.entity, tick, message);
        match message {
            Message::Enter { entity, .. } => self.note_membership(tick, entity.slot.0, true),
            Message::Leave(slot) => {
                // It has no entity for now: others may get its slot.
                if *slot == self.entity.slot {
                    self.entity = EntityId::NONE;
                }
                self.note_membership(tick, slot.0, false);
            }
            Message::State { slot, .. } => drop(self.touched.insert(slot.0, tick)),
            Message::Reborn(entity) => {
                self.entity = *entity;
                self.reborn = Some(tick);
                history.register(self.bot, *entity);
            }
            Message::Answer(answer) => self.answer(history, tick, answer),
            Message::Notice(_) | Message::Full | Message::Lost(_) | Message::Interface(_) => {}
        }
    }

    fn note_membership(&mut self, tick: Tick, slot: u32, entered: bool) {
        self.touched.insert(slot, tick);
        self.memberships.push_back(Membership {
            tick,
            slot,
            entered,
        });
        let is_old = |m: &Membership| age(m.tick, tick) >= HISTORY_TICKS;
        while self.memberships.front().is_some_and(is_old) {
            self.memberships.pop_front();
        }
    }

    /// Checks that answers come in the order of the requests, and notes what was granted.
    fn answer(&mut self, history: &History, tick: Tick, answer: &Answer) {
        let next = self.requests.pop_front();
        let expected = next.as_ref().map(|next| next.0);
        history
            .findings
            .check(expected == Some(answer.request), || {
                format!(
                    "bot {}: request {} was answered, expected {expected:?}",
                    self.bot, answer.request
                )
            });
        let Some((_, request)) = next else { return };
        if let Err(reason) = &answer.result {
            return history.note_refusal(reason);
        }
        match request {
            Request::SetRegion { index, region } => {
                history.note_grant();
                self.regions.set(tick, index, region, HISTORY_TICKS);
                self.record.has_regions = true;
            }
            Request::Subscribe { id, filter } => {
                history.note_grant();
                self.record.subscribe(tick, id, filter);
            }
            Request::Unsubscribe { id } => self.record.unsubscribe(tick, id),
        }
    }

    /// Notes a movement datagram, and makes the comparisons that are due.
    pub fn datagram(
        &mut self,
        history: &History,
        view: &View,
        summary: DatagramSummary,
        movement: &Movement,
    ) {
        let (tick, dimensions) = (summary.tick, history.dimensions);
        let position = |i: usize| &movement.positions[i * dimensions..][..dimensions];
        if let Ok(i) = movement.slots.binary_search(&self.entity.slot) {
            history.write(self.bot, tick, self.entity.slot, position(i));
            self.record.moved(tick, self.entity.slot, position(i));
        }
        // Bots take turns, so that the work is spread over the ticks.
        let turn = tick.0 as usize + self.bot;
        if turn.is_multiple_of(POSITIONS_PERIOD) {
            let others = movement.slots.iter().enumerate().map(|(i, &slot)| {
                let mut padded = [0; 3];
                padded[..dimensions].copy_from_slice(position(i));
                (slot, padded)
            });
            let others = others.filter(|(slot, _)| *slot != self.entity.slot);
            self.positions.push_back((tick, others.collect()));
        }
        if summary.is_complete && turn.is_multiple_of(MISSING_PERIOD) {
            self.complete.push_back(tick);
        }
        while let Some((due, positions)) = self
            .positions
            .pop_front_if(|p| age(p.0, tick) >= SETTLE_TICKS)
        {
            if age(due, tick) < OVERWRITTEN_TICKS {
                self.compare_positions(history, due, &positions);
            }
        }
        while let Some(due) = self
            .complete
            .pop_front_if(|due| age(*due, tick) >= SETTLE_TICKS)
        {
            // A view that is full may leave out anyone.
            let is_full = view.entities().len() >= history.visible_max;
            if !is_full && age(due, tick) < OVERWRITTEN_TICKS {
                self.look_for_missing(history, view, due);
            }
        }
    }

    /// Checks the positions of others against what their own bots were told.
    fn compare_positions(&self, history: &History, tick: Tick, positions: &Positions) {
        for &(slot, position) in positions {
            let Some(owner) = history.owner(slot) else {
                continue;
            };
            let expected = history.read(owner, tick).filter(|own| own.0 == slot);
            let Some((_, expected)) = expected else {
                continue;
            };
            let dimensions = history.dimensions;
            let is_same = position[..dimensions] == expected[..dimensions];
            history.findings.check(is_same, || {
                format!(
                    "tick {tick}: bot {} was told that slot {} is at {position:?}, \
                     its own bot {expected:?}",
                    self.bot, slot.0
                )
            });
        }
    }

    /// Checks that other bots that could be seen for two ticks were in view.
    fn look_for_missing(&self, history: &History, view: &View, last: Tick) {
        let Some(first) = last.0.checked_sub(2).map(Tick) else {
            return;
        };
        let ticks = [last, first.next(), first];
        let own = ticks.map(|tick| history.read(self.bot, tick));
        let [Some(a), Some(b), Some(c)] = own else {
            return;
        };
        let own = [a.1, b.1, c.1];
        // Bots are of one kind: that of all clients.
        let Some(kind) = view.own().map(|own| own.kind) else {
            return;
        };
        let regions: Vec<Region> = self.regions.throughout(first, last).collect();
        for other in (0..history.bots).filter(|&other| other != self.bot) {
            let visible = [0, 1, 2]
                .map(|i| visible_slot(history, &regions, kind, other, (ticks[i], &own[i])));
            let Some(slot) = visible[0].filter(|_| visible == [visible[0]; 3]) else {
                continue;
            };
            let is_seen = self.saw(view, slot.0, last);
            history.findings.check(is_seen, || {
                format!(
                    "tick {last}: bot {} does not see slot {}, which it should for two ticks",
                    self.bot, slot.0
                )
            });
        }
    }

    /// Whether a slot was in view in a tick of the recent past.
    fn saw(&self, view: &View, slot: u32, tick: Tick) -> bool {
        let mut later = self.memberships.iter();
        match later.find(|m| m.tick > tick && m.slot == slot) {
            Some(next) => !next.entered,
            None => view.entities().contains_key(&slot),
        }
    }
}

/// Another bot's slot, if a tick's positions say that it should be in view. Both bots'
/// entities are of this kind.
fn visible_slot(
    history: &History,
    regions: &[Region],
    kind: u16,
    other: usize,
    (tick, own): (Tick, &[i32; 3]),
) -> Option<Slot> {
    let dimensions = history.dimensions;
    let (slot, other) = history.read(other, tick)?;
    let places = regions.iter().map(|region| match region.follows {
        None => Some((*region, None)),
        Some(followed) => Some((*region, Some(history.read_entity(followed, tick)?))),
    });
    // Those that follow an entity whose place is not known may be anywhere.
    let places: Vec<_> = places.flatten().collect();
    let regions: Vec<_> = places
        .iter()
        .map(|(region, at)| (*region, at.as_ref().map(|at| &at[..dimensions])))
        .collect();
    let at = |place| Placed { kind, place };
    let (own, other) = (at(&own[..dimensions]), at(&other[..dimensions]));
    history.sight.sees(own, &regions, other).then_some(slot)
}

/// How many ticks ago a tick was.
fn age(tick: Tick, now: Tick) -> u32 {
    now.0.saturating_sub(tick.0)
}

/// After so many ticks every bot should have been told, in spite of lost datagrams.
const SETTLE_TICKS: u32 = 32;
/// After so many ticks the history may be about to be overwritten.
const OVERWRITTEN_TICKS: u32 = 96;
/// Each bot compares positions in one of so many ticks.
const POSITIONS_PERIOD: usize = 8;
/// Each bot looks for missing entities in one of so many ticks, as it looks at every bot.
const MISSING_PERIOD: usize = 32;
