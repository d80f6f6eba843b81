//! One bot's checks in play.

use std::collections::VecDeque;

use client_core::{Answer, DatagramSummary, Entity, Message, Movement, RankingInfo, Region, View};
use rustc_hash::FxHashMap;
use shared::wire::control::Quotas;
use shared::wire::members::MemberMessage;
use shared::wire::movement::wait_ticks_max;
use shared::{Course, EntityId, Schema, Slot, Tick};

use super::bag::BagLog;
use super::history::{HISTORY_TICKS, History};
use super::possession::Possession;
use super::record::BotRecord;
use super::regions::RegionLog;
use super::sight::Placed;
use super::spot::{Spot, SpotLog};
use super::standings::Standings;
use super::texts::TextLog;
use crate::behaviour::Request;
use suspects::{Misplaced, Missing, Suspects};

mod suspects;

/// Compares what one bot receives with the history of the others, and keeps its record.
pub struct Checker {
    bot: usize,
    entity: EntityId,
    /// Where the bot sees others in sampled ticks, to be compared.
    positions: VecDeque<(Tick, Vec<Shown>)>,
    /// Where its own entity was, until that is sure.
    places: VecDeque<(Tick, Shown)>,
    received: Received,
    /// Numbers of entities in the last ticks in which others were deferred.
    entity_counts: VecDeque<(Tick, usize)>,
    /// The tick of the newest frame of the stream: it has all enters and leaves by then.
    streamed: Tick,
    /// Completely received ticks in which to look for entities missing from view.
    complete: VecDeque<Tick>,
    /// Enters and leaves, oldest first.
    memberships: VecDeque<Membership>,
    /// Possible errors in ticks that the stream has not reached.
    suspects: Suspects,
    /// Requests that are not answered yet, oldest first, with their numbers.
    requests: VecDeque<(u32, Request)>,
    regions: RegionLog,
    /// From where it sees, if it has no entity.
    spot: SpotLog,
    record: BotRecord,
    /// By slot: the last tick in which a reliable message named it.
    touched: FxHashMap<u32, Tick>,
    /// When its entity was last reborn.
    reborn: Option<Tick>,
    standings: Standings,
    bag: BagLog,
    texts: TextLog,
}

/// Where an entity was in some tick.
#[derive(Clone, Copy)]
struct Shown {
    slot: Slot,
    position: [i32; 3],
    /// The tick of its course.
    since: Tick,
    /// Its course, and for how many ticks it may have been wrong, where news had to wait.
    late: Option<(Course, u32)>,
}

/// The completely received ticks without a gap up to the last one. In these, entities without
/// a new course stayed on theirs.
#[derive(Default)]
struct Received {
    first: Tick,
    last: Tick,
}

impl Received {
    fn add(&mut self, tick: Tick) {
        if tick != self.last.next() {
            self.first = tick;
        }
        self.last = tick;
    }

    /// Whether nothing was missed after a tick, up to the last one.
    fn has_all_after(&self, tick: Tick) -> bool {
        self.first <= tick.next()
    }
}

/// An entity entered the view or left it.
struct Membership {
    tick: Tick,
    slot: u32,
    entered: bool,
}

impl Checker {
    /// A checker of one of so many bots.
    pub fn new(
        bot: usize,
        entity: EntityId,
        bots: usize,
        quotas: Quotas,
        schema: &Schema,
    ) -> Checker {
        Checker {
            bot,
            entity,
            positions: VecDeque::new(),
            places: VecDeque::new(),
            received: Received::default(),
            entity_counts: VecDeque::new(),
            streamed: Tick(0),
            complete: VecDeque::new(),
            memberships: VecDeque::new(),
            suspects: Suspects::default(),
            requests: VecDeque::new(),
            regions: RegionLog::default(),
            spot: SpotLog::new(schema, quotas.spectator_step),
            record: BotRecord::new(bots, schema),
            touched: FxHashMap::default(),
            reborn: None,
            standings: Standings::default(),
            bag: BagLog::new(schema),
            texts: TextLog::default(),
        }
    }

    /// The rankings that the bot may ask for.
    pub fn set_rankings(&mut self, rankings: Vec<RankingInfo>) {
        self.standings = Standings::new(rankings);
    }

    /// Notes a request that the bot sends.
    pub fn request(&mut self, number: u32, request: Request) {
        self.requests.push_back((number, request));
    }

    /// Notes a text that the bot gives with a request.
    pub fn give_text(&mut self, request: u32, text: String) {
        self.texts.give(request, text);
    }

    /// From where the bot sees, if it is a spectator and its point rests.
    pub fn spot(&self, now: Tick) -> Option<Spot> {
        let is_idle = self.requests.iter().all(|(_, request)| {
            !matches!(request, Request::SetSight { .. } | Request::Watch { .. })
        });
        self.spot.at(now).filter(|_| is_idle)
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

    /// When which things were the bot's, by now.
    pub fn possessions(&self, now: Tick) -> Vec<Possession> {
        self.bag.possessions(now)
    }

    /// The bot's regions at the end, and its record.
    pub fn finish(self, history: &History) -> (Vec<Region>, BotRecord) {
        self.suspects.leave_open(&history.findings);
        (self.regions.last(), self.record)
    }

    /// Notes a message of the stream.
    pub fn message(&mut self, history: &History, tick: Tick, message: &Message) {
        if tick > self.streamed {
            self.judge_suspects(history, tick);
            self.streamed = tick;
        }
        let (findings, record) = ((&history.findings, self.bot), &self.record);
        let in_view = |slot| record.sees(Slot(slot));
        if self.bag.message(findings, tick, message, in_view) {
            if let Message::Enter { entity, .. } = message {
                self.touched.insert(entity.slot.0, tick);
            }
            if let Message::State { slot, .. } | Message::Leave(slot) = message {
                self.touched.insert(slot.0, tick);
            }
            return;
        }
        self.record.message(self.entity, tick, message);
        match message {
            Message::Enter {
                entity,
                own,
                values,
                ..
            } => {
                self.note_membership(tick, entity.slot.0, true);
                // Others received its course when it began; this is where it leads to.
                if !own && self.is_turn(tick, POSITIONS_PERIOD * history.share) {
                    let mut position = [0; 3];
                    for (axis, &(_, value)) in
                        position.iter_mut().zip(&values[..history.dimensions])
                    {
                        *axis = value;
                    }
                    let shown = Shown {
                        slot: entity.slot,
                        position,
                        since: tick,
                        late: None,
                    };
                    self.positions.push_back((tick, vec![shown]));
                }
            }
            Message::Leave(slot) => {
                // It has no entity for now: others may get its slot.
                if *slot == self.entity.slot {
                    self.entity = EntityId::NONE;
                    self.places.retain(|place| place.0 < tick);
                }
                self.note_membership(tick, slot.0, false);
            }
            Message::State { slot, .. } => drop(self.touched.insert(slot.0, tick)),
            Message::Reborn(entity) => {
                self.entity = *entity;
                self.reborn = Some(tick);
                history.register(self.bot, *entity);
            }
            // Only those that are rejected have no text.
            Message::Answer(answer) if self.texts.reject(answer.request) => {}
            Message::Answer(answer) => self.answer(history, tick, answer),
            Message::Texts { request, texts } => {
                let all = (&history.findings, &history.texts);
                self.texts.take(all, self.bot, *request, texts);
            }
            Message::Ranking(standing) => {
                self.standings
                    .judge(&history.findings, self.entity, standing);
            }
            Message::Members(message) => {
                let slot = match message {
                    MemberMessage::Left(slot) | MemberMessage::Changed { slot, .. } => *slot,
                    MemberMessage::Member { entity, .. } => entity.slot,
                };
                self.touched.insert(slot.0, tick);
            }
            Message::Notice(_)
            | Message::Full
            | Message::Lost(_)
            | Message::Refused { .. }
            | Message::Interface(_)
            | Message::Servers(_)
            | Message::Restart
            | Message::Layer { .. }
            | Message::Edits(_)
            | Message::Name { .. }
            | Message::Talk(_) => {}
        }
    }

    fn note_membership(&mut self, tick: Tick, slot: u32, entered: bool) {
        self.touched.insert(slot, tick);
        self.memberships.push_back(Membership {
            tick,
            slot,
            entered,
        });
        let is_old = |m: &Membership| tick.since(m.tick) >= HISTORY_TICKS;
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
            Request::SetSight { radius } => self.spot.see(radius),
            Request::Watch { point } => self.spot.go(tick, point),
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
        let tick = summary.tick;
        if summary.is_complete {
            self.received.add(tick);
        }
        if is_late(summary, movement) {
            self.note_count(tick, movement);
        }
        self.note_own(history, view, summary, movement);
        // Bots take turns, so that the work is spread over the ticks.
        if self.is_turn(tick, POSITIONS_PERIOD * history.share) {
            self.note_others(history, view, summary, movement);
        }
        let missing_period = MISSING_PERIOD * history.share * history.share;
        if summary.is_complete && self.is_turn(tick, missing_period) {
            self.complete.push_back(tick);
        }
        while let Some((due, positions)) = self
            .positions
            .pop_front_if(|p| tick.since(p.0) >= SETTLE_TICKS)
        {
            if tick.since(due) < OVERWRITTEN_TICKS {
                self.compare_positions(history, due, &positions);
            }
        }
        while let Some(due) = self
            .complete
            .pop_front_if(|due| tick.since(*due) >= SETTLE_TICKS)
        {
            // A view that is full may leave out anyone.
            let is_full = view.entities().len() >= history.visible_max;
            if !is_full && tick.since(due) < OVERWRITTEN_TICKS {
                self.look_for_missing(history, view, due);
            }
        }
    }

    /// Whether the bot has all movement of the tick of a datagram: it is empty, as all
    /// has arrived, or it has all that was lost by the tick that it builds on, and
    /// nothing is missing between the two.
    pub fn has_all_movement(&self, summary: DatagramSummary, movement: &Movement) -> bool {
        let has_rest = |base: Tick| self.received.has_all_after(base);
        summary.is_whole && (is_empty(movement) || movement.base.is_some_and(has_rest))
    }

    fn is_turn(&self, tick: Tick, period: usize) -> bool {
        (tick.0 as usize + self.bot).is_multiple_of(period)
    }

    /// Notes where the bot's own entity is: by the datagram, or by its course.
    fn note_own(
        &mut self,
        history: &History,
        view: &View,
        summary: DatagramSummary,
        movement: &Movement,
    ) {
        let (tick, slot) = (summary.tick, self.entity.slot);
        if let Some(position) = received_position(history, movement, slot) {
            let shown = Shown {
                slot,
                position,
                since: tick,
                late: None,
            };
            self.places.push_back((tick, shown));
        } else if let Some(own) = view.own().filter(|own| own.id.slot == slot)
            && self.is_known(own, summary)
        {
            let shown = Shown {
                slot,
                position: view.position(own, tick),
                since: own.course.tick,
                late: None,
            };
            self.places.push_back((tick, shown));
        }
        while let Some((due, place)) = self
            .places
            .pop_front_if(|place| tick.since(place.0) >= SURE_TICKS)
        {
            // The entity may have died, as the stream shows.
            if place.since == due || self.streamed >= due {
                let position = &place.position[..history.dimensions];
                history.write(self.bot, due, place.slot, position);
                self.record.moved(due, place.slot, position);
            }
        }
    }

    /// Notes where others are: by the datagram, or by their courses.
    fn note_others(
        &mut self,
        history: &History,
        view: &View,
        summary: DatagramSummary,
        movement: &Movement,
    ) {
        let (tick, own) = (summary.tick, self.entity.slot);
        let mut all = vec![];
        for &slot in movement.slots.iter().filter(|slot| **slot != own) {
            all.extend(
                received_position(history, movement, slot).map(|position| Shown {
                    slot,
                    position,
                    since: tick,
                    late: None,
                }),
            );
        }
        let is_late = is_late(summary, movement);
        let wait_max = self.wait_max(view);
        let others = view.entities().values().filter(|e| e.id.slot != own);
        let silent = others.filter(|other| self.is_up_to_date(other, summary));
        all.extend(silent.map(|other| Shown {
            slot: other.id.slot,
            position: view.position(other, tick),
            since: other.course.tick,
            late: is_late.then_some((other.course, wait_max)),
        }));
        self.positions.push_back((tick, all));
    }

    /// Whether it is sure that an entity stayed on its course in a tick.
    fn is_known(&self, entity: &Entity, summary: DatagramSummary) -> bool {
        summary.is_whole && self.is_up_to_date(entity, summary)
    }

    /// Whether the bot has received everything since the course of an entity.
    fn is_up_to_date(&self, entity: &Entity, summary: DatagramSummary) -> bool {
        let since = entity.course.tick;
        summary.is_complete && since < summary.tick && self.received.has_all_after(since)
    }

    /// Notes the number of entities of a tick in which others were deferred. Parts of it may
    /// have come before: then it is more.
    fn note_count(&mut self, tick: Tick, movement: &Movement) {
        self.entity_counts.push_back((tick, movement.slots.len()));
        let is_old = |count: &(Tick, usize)| tick.since(count.0) >= HISTORY_TICKS;
        while self.entity_counts.front().is_some_and(is_old) {
            self.entity_counts.pop_front();
        }
    }

    /// For how many ticks news of an entity's movement may have to wait, as promised for a
    /// view of this size, where at least so many were sent in each tick; and as long as it
    /// takes to send lost data again.
    fn wait_max(&self, view: &View) -> u32 {
        let sent = self.entity_counts.iter().map(|count| count.1).min();
        wait_ticks_max(view.entities().len(), sent.unwrap_or(1)).saturating_add(LOSS_TICKS)
    }

    /// Whether an entity that was shown on an old course has left it only as long ago as news
    /// may have to wait. `None`: that was too long ago to know.
    fn is_on_time(&self, history: &History, tick: Tick, shown: &Shown) -> Option<bool> {
        let (course, wait_max) = shown.late?;
        let owner = history.owner(shown.slot)?;
        if wait_max > JUDGED_TICKS_MAX {
            return None;
        }
        let was_right = |tick: Tick| {
            let own = history
                .read(owner, tick)
                .filter(|own| own.0 == shown.slot)?;
            Some(own.1 == course.at(tick, &history.edges))
        };
        let mut earlier = (0..=wait_max).map(|ago| tick.before(ago));
        // A tick before its course proves nothing.
        let is_right = |tick: Tick| tick <= shown.since || was_right(tick) != Some(false);
        Some(earlier.any(is_right))
    }

    /// Checks the positions of others against those of their own bots.
    fn compare_positions(&mut self, history: &History, tick: Tick, positions: &[Shown]) {
        let dimensions = history.dimensions;
        for &shown in positions {
            if self.came_or_went(&shown, tick) {
                continue;
            }
            if shown.since == tick {
                history.check_free(self.bot, tick, shown.slot, shown.position);
            }
            let Some(owner) = history.owner(shown.slot) else {
                continue;
            };
            let expected = history.read(owner, tick).filter(|own| own.0 == shown.slot);
            let Some((_, expected)) = expected else {
                continue;
            };
            let is_same = shown.position[..dimensions] == expected[..dimensions];
            if !is_same && shown.late.is_some() {
                match self.is_on_time(history, tick, &shown) {
                    Some(is_on_time) => history
                        .findings
                        .check(is_on_time, || self.lateness(tick, &shown, &expected)),
                    None => history.findings.leave_open(),
                }
                continue;
            }
            // It may have come or gone in between, of which the bot learns later.
            if !is_same && shown.since < tick && self.streamed < tick {
                let misplaced = Misplaced {
                    tick,
                    shown,
                    expected,
                };
                self.suspects.hold_misplaced(&history.findings, misplaced);
                continue;
            }
            history
                .findings
                .check(is_same, || self.misplacement(tick, &shown, &expected));
        }
    }

    /// Checks that other bots that could be seen for long enough were in view.
    fn look_for_missing(&mut self, history: &History, view: &View, last: Tick) {
        // Whoever is missing may be hidden.
        if !history.visibility.is_plain() {
            return history.findings.leave_open();
        }
        let span = history.enter_ticks_max;
        let Some(first) = last.0.checked_sub(u64::from(span)).map(Tick) else {
            return;
        };
        let ticks = (first.0..=last.0).rev().map(Tick);
        let own = ticks.map(|tick| Some((tick, history.read(self.bot, tick)?.1)));
        let Some(own) = own.collect::<Option<Vec<_>>>() else {
            return;
        };
        // Bots are of one kind: that of all clients.
        let Some(kind) = view.own().map(|own| own.kind) else {
            return;
        };
        let regions: Vec<Region> = self.regions.throughout(first, last).collect();
        let mut suspects = vec![];
        let others = (0..history.bots).step_by(history.view_every.get());
        for other in others.filter(|&other| other != self.bot) {
            let visible = |(tick, own): &(Tick, [i32; 3])| {
                visible_slot(history, &regions, kind, other, (*tick, own))
            };
            let Some(slot) = visible(&own[0]) else {
                continue;
            };
            if !own[1..].iter().all(|own| visible(own) == Some(slot)) {
                continue;
            }
            let is_seen = self.saw(view, slot.0, last);
            match is_seen || self.streamed >= last {
                true => history
                    .findings
                    .check(is_seen, || self.blindness(last, slot)),
                false => suspects.push(slot),
            }
        }
        if !suspects.is_empty() {
            let missing = Missing {
                tick: last,
                slots: suspects,
                regions,
            };
            self.suspects.hold_missing(&history.findings, missing);
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

/// Whether entities that a datagram does not name may have departed from their courses, as
/// there was no room for them.
fn is_late(summary: DatagramSummary, movement: &Movement) -> bool {
    summary.is_complete && !summary.is_whole && !is_empty(movement)
}

fn is_empty(movement: &Movement) -> bool {
    movement.slots.is_empty() && movement.unknown == 0
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
    let sight = &history.sight;
    let is_seen = sight.sees(own, sight.radius(), &regions, other);
    is_seen.then_some(slot)
}

/// The position of an entity in a datagram.
fn received_position(history: &History, movement: &Movement, slot: Slot) -> Option<[i32; 3]> {
    let i = movement.slots.binary_search(&slot).ok()?;
    let dimensions = history.dimensions;
    let mut position = [0; 3];
    position[..dimensions].copy_from_slice(&movement.positions[i * dimensions..][..dimensions]);
    Some(position)
}

/// After so many ticks every bot should have the data, in spite of lost datagrams.
const SETTLE_TICKS: u32 = 32;
/// After so many ticks a bot should know that its entity has died.
const SURE_TICKS: u32 = 8;
/// Movement that is lost is sent again, at last after so many ticks.
const LOSS_TICKS: u32 = 16;
/// The history reaches back so far, while positions are compared [`SETTLE_TICKS`] late.
const JUDGED_TICKS_MAX: u32 = 80;
/// After so many ticks the history may be about to be overwritten.
const OVERWRITTEN_TICKS: u32 = 96;
/// Each bot compares positions in one of so many ticks.
const POSITIONS_PERIOD: usize = 8;
/// Each bot looks for missing entities in one of so many ticks, as it looks at every bot.
const MISSING_PERIOD: usize = 32;

#[cfg(test)]
mod tests;
