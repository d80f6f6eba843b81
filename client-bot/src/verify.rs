//! Whether what the bots were told can be true. It knows nothing of the server's
//! insides: it only compares what different bots were told.

mod at_rest;
mod earshot;
mod listening;
mod notices;
mod regions;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rustc_hash::FxHashMap;
use shared::wire::movement::Movement;
use shared::wire::session::{Answer, Region};
use shared::wire::stream::Item;
use shared::{CommandKind, EntityId, Schema, Slot, Tick};

use crate::behaviour::Request;
use crate::view::{Entity, Told, View};
pub use at_rest::check_at_rest;
use listening::{Hearing, NOTED_TICKS};
use notices::Known;
use regions::RegionLog;

/// What every bot was told of itself, for the others to compare with.
pub struct Ledger {
    dimensions: usize,
    /// The AOI radius in raw units.
    radius: i64,
    visible_max: usize,
    bots: usize,
    /// By slot, one more than the bot whose entity it is.
    owners: Vec<AtomicU32>,
    /// By tick modulo [`TICKS_KEPT`], then bot.
    cells: Vec<Cell>,
    /// Requests that were granted.
    pub granted: AtomicU64,
    /// The first reason for which one was not.
    refusal: Mutex<Option<String>>,
    pub findings: Findings,
}

/// One bot's own position in one tick.
#[derive(Default)]
struct Cell {
    /// One more than the tick.
    tick: AtomicU32,
    /// Whose it is: bots that die are born anew in other slots.
    slot: AtomicU32,
    position: [AtomicI32; 3],
}

/// What the comparisons came to.
#[derive(Default)]
pub struct Findings {
    pub checked: AtomicU64,
    pub errors: AtomicU64,
    /// What could not be judged, as nobody knows enough.
    pub open: AtomicU64,
    /// The first few, for people.
    examples: Mutex<Vec<String>>,
}

impl Findings {
    fn check(&self, holds: bool, describe: impl FnOnce() -> String) {
        self.checked.fetch_add(1, Relaxed);
        if holds {
            return;
        }
        self.errors.fetch_add(1, Relaxed);
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        if examples.len() < EXAMPLES_MAX {
            examples.push(describe());
        }
    }

    fn leave_open(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    pub fn examples(&self) -> Vec<String> {
        self.examples
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Ledger {
    pub fn new(schema: &Schema, bots: usize) -> Ledger {
        Ledger {
            dimensions: schema.dimensions(),
            radius: i64::from(schema.world.aoi.raw()),
            visible_max: schema.world.visible_max as usize,
            bots,
            owners: (0..schema.world.capacity)
                .map(|_| AtomicU32::new(0))
                .collect(),
            cells: (0..bots * TICKS_KEPT).map(|_| Cell::default()).collect(),
            granted: AtomicU64::new(0),
            refusal: Mutex::new(None),
            findings: Findings::default(),
        }
    }

    fn note_refusal(&self, reason: &str) {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.get_or_insert_with(|| reason.to_owned());
    }

    /// Bots whose behaviour is to ask for things were granted some. The world may
    /// refuse others.
    pub fn check_granted(&self) {
        let granted = self.granted.load(Relaxed) > 0;
        let refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        self.findings.check(granted, || match &*refusal {
            Some(reason) => format!("the bots asked in vain: {reason}"),
            None => "the bots were not answered".to_owned(),
        });
    }

    /// A bot has an entity from now on.
    pub fn register(&self, bot: usize, entity: EntityId) {
        self.owners[entity.slot.index()].store(bot as u32 + 1, Relaxed);
    }

    fn cell(&self, bot: usize, tick: Tick) -> &Cell {
        &self.cells[(tick.0 as usize % TICKS_KEPT) * self.bots + bot]
    }

    fn write(&self, bot: usize, tick: Tick, slot: Slot, position: &[i32]) {
        let cell = self.cell(bot, tick);
        cell.slot.store(slot.0, Relaxed);
        for (place, &value) in cell.position.iter().zip(position) {
            place.store(value, Relaxed);
        }
        cell.tick.store(tick.0 + 1, Relaxed);
    }

    /// In which slot and where a bot was told that it is in a tick, if it was told.
    fn read(&self, bot: usize, tick: Tick) -> Option<(Slot, [i32; 3])> {
        let cell = self.cell(bot, tick);
        let known = cell.tick.load(Relaxed) == tick.0 + 1;
        known.then(|| {
            let position = [0, 1, 2].map(|axis| cell.position[axis].load(Relaxed));
            (Slot(cell.slot.load(Relaxed)), position)
        })
    }

    fn owner(&self, slot: Slot) -> Option<usize> {
        (self.owners.get(slot.index())?.load(Relaxed) as usize).checked_sub(1)
    }

    fn is_near(&self, a: &[i32], b: &[i32]) -> bool {
        squared_distance(a, b) <= self.radius * self.radius
    }
}

type Positions = Vec<(Slot, [i32; 3])>;

/// One bot's part of the comparisons in play.
pub struct Checker {
    bot: usize,
    entity: EntityId,
    /// What this bot was told of others in sampled ticks, awaiting comparison.
    told: VecDeque<(Tick, Positions)>,
    /// Ticks for which to look for somebody missing.
    arrivals: VecDeque<Tick>,
    /// (tick, slot, entered rather than left), oldest first.
    memberships: VecDeque<(Tick, u32, bool)>,
    /// What the bot asked for and was not answered yet, oldest first.
    asked: VecDeque<(u32, Request)>,
    regions: RegionLog,
    hearing: Hearing,
    /// By slot: when it was last told reliably of who is there.
    touched: FxHashMap<u32, Tick>,
    /// When it was last born anew.
    reborn: Option<Tick>,
}

impl Checker {
    pub fn new(bot: usize, entity: EntityId, ledger: &Ledger, schema: &Schema) -> Checker {
        Checker {
            bot,
            entity,
            told: VecDeque::new(),
            arrivals: VecDeque::new(),
            memberships: VecDeque::new(),
            asked: VecDeque::new(),
            regions: RegionLog::default(),
            hearing: Hearing::new(ledger.bots, schema),
            touched: FxHashMap::default(),
            reborn: None,
        }
    }

    /// The bot asks for something.
    pub fn asks(&mut self, number: u32, request: Request) {
        self.asked.push_back((number, request));
    }

    /// The bot gives a command.
    pub fn acts(&mut self, command: CommandKind, words: &[i32]) {
        self.hearing.acts(command, words);
    }

    /// Takes in an answer: they come in the order of asking.
    fn answered(&mut self, ledger: &Ledger, tick: Tick, answer: &Answer) {
        let next = self.asked.pop_front();
        let expected = next.as_ref().map(|next| next.0);
        ledger.findings.check(expected == Some(answer.request), || {
            format!(
                "bot {}: request {} was answered, where {expected:?} was next",
                self.bot, answer.request
            )
        });
        let Some((_, request)) = next else { return };
        match (request, &answer.result) {
            (_, Err(reason)) => ledger.note_refusal(reason),
            (Request::SetRegion { index, region }, Ok(())) => {
                ledger.granted.fetch_add(1, Relaxed);
                self.regions.set(tick, index, region, TICKS_KEPT as u32);
                self.hearing.has_regions = true;
            }
            (Request::Subscribe { id, wish }, Ok(())) => {
                ledger.granted.fetch_add(1, Relaxed);
                self.hearing.subscribe(tick, id, wish);
            }
            (Request::Unsubscribe { id }, Ok(())) => self.hearing.unsubscribe(tick, id),
        }
    }

    /// Whether it was born anew just now, and may not have come into its own view.
    pub fn is_newborn(&self, now: Tick) -> bool {
        self.reborn.is_some_and(|tick| now.0 <= tick.0 + 1)
    }

    /// The slots of which it was told reliably after a tick.
    pub fn touched_after(&self, tick: Tick) -> Vec<u32> {
        let touched = self.touched.iter().filter(|touched| *touched.1 > tick);
        touched.map(|(&slot, _)| slot).collect()
    }

    /// What the bot holds and heard, at the end.
    pub fn finish(self) -> (Vec<Region>, Hearing) {
        (self.regions.held(), self.hearing)
    }

    /// Notes an enter or a leave, who the bot is, what it was granted and what it
    /// heard.
    pub fn item(&mut self, ledger: &Ledger, tick: Tick, item: &Item) {
        self.hearing.item(self.entity, tick, item);
        let (slot, entered) = match item {
            Item::Enter { entity, .. } => (entity.slot.0, true),
            Item::Leave(slot) => (slot.0, false),
            Item::Answer(answer) => return self.answered(ledger, tick, answer),
            Item::State { slot, .. } => {
                self.touched.insert(slot.0, tick);
                return;
            }
            Item::Notice(_) | Item::Full | Item::Lost(_) => return,
            Item::Reborn(entity) => {
                self.entity = *entity;
                self.reborn = Some(tick);
                return ledger.register(self.bot, *entity);
            }
        };
        // Nobody for now: its slot may go to others.
        if !entered && slot == self.entity.slot.0 {
            self.entity = EntityId::NONE;
        }
        self.touched.insert(slot, tick);
        self.memberships.push_back((tick, slot, entered));
        while self
            .memberships
            .front()
            .is_some_and(|m| m.0.0 + TICKS_KEPT as u32 <= tick.0)
        {
            self.memberships.pop_front();
        }
    }

    /// Notes a movement datagram, and makes the comparisons that are due.
    pub fn told(&mut self, ledger: &Ledger, view: &View, told: Told, movement: &Movement) {
        let tick = told.tick;
        let own = movement.slots.binary_search(&self.entity.slot);
        if let Ok(i) = own {
            let position = &movement.positions[i * ledger.dimensions..][..ledger.dimensions];
            ledger.write(self.bot, tick, self.entity.slot, position);
            self.hearing.moved(tick, self.entity.slot, position);
        }
        let turn = tick.0 as usize + self.bot;
        if turn.is_multiple_of(TOLD_EVERY_TICKS) {
            let others = movement.slots.iter().enumerate().map(|(i, &slot)| {
                let mut position = [0; 3];
                let told = &movement.positions[i * ledger.dimensions..][..ledger.dimensions];
                position[..ledger.dimensions].copy_from_slice(told);
                (slot, position)
            });
            let others = others.filter(|(slot, _)| *slot != self.entity.slot);
            self.told.push_back((tick, others.collect()));
        }
        if told.is_complete && turn.is_multiple_of(ARRIVALS_EVERY_TICKS) {
            self.arrivals.push_back(tick);
        }
        self.compare_told(ledger, tick);
        self.look_for_missing(ledger, view, tick);
    }

    /// What a bot was told of another for a tick is what that one's own bot was
    /// told for it.
    fn compare_told(&mut self, ledger: &Ledger, now: Tick) {
        while self
            .told
            .front()
            .is_some_and(|t| t.0.0 + SETTLE_TICKS <= now.0)
        {
            let Some((tick, others)) = self.told.pop_front() else {
                return;
            };
            if tick.0 + TICKS_SAFE <= now.0 {
                continue;
            }
            for (slot, position) in others {
                let Some(owner) = ledger.owner(slot) else {
                    continue;
                };
                let truth = ledger.read(owner, tick).filter(|truth| truth.0 == slot);
                let Some((_, truth)) = truth else {
                    continue;
                };
                let same = position[..ledger.dimensions] == truth[..ledger.dimensions];
                ledger.findings.check(same, || {
                    format!(
                        "tick {tick}: bot {} was told that slot {} is at {position:?}, its own bot {truth:?}",
                        self.bot, slot.0
                    )
                });
            }
        }
    }

    /// Who has been within the radius, or in one of the bot's regions, for two ticks
    /// is in view.
    fn look_for_missing(&mut self, ledger: &Ledger, view: &View, now: Tick) {
        while self
            .arrivals
            .front()
            .is_some_and(|t| t.0 + SETTLE_TICKS <= now.0)
        {
            let Some(tick) = self.arrivals.pop_front() else {
                return;
            };
            let cut = view.entities().len() >= ledger.visible_max;
            if cut || tick.0 + TICKS_SAFE <= now.0 || tick.0 < 2 {
                continue;
            }
            let ticks = [tick, Tick(tick.0 - 1), Tick(tick.0 - 2)];
            let own = ticks.map(|t| ledger.read(self.bot, t));
            let [Some(last), Some(before), Some(first)] = own else {
                continue;
            };
            let held: Vec<Region> = self.regions.throughout(ticks[2], tick).collect();
            for other in 0..ledger.bots {
                let near = |tick: Tick, own: [i32; 3]| {
                    let (slot, other) = ledger.read(other, tick)?;
                    let other = &other[..ledger.dimensions];
                    let in_region = |region: &Region| {
                        let followed = match region.follows {
                            Some(followed) => Some(self.place(ledger, followed, tick)?),
                            None => None,
                        };
                        let followed = followed.as_ref().map(|f| &f[..ledger.dimensions]);
                        Some(region.holds(other, followed))
                    };
                    let seen = ledger.is_near(&own[..ledger.dimensions], other)
                        || held.iter().any(|region| in_region(region) == Some(true));
                    seen.then_some(slot)
                };
                let slots = [
                    near(ticks[0], last.1),
                    near(ticks[1], before.1),
                    near(ticks[2], first.1),
                ];
                let Some(slot) = slots[0].filter(|_| slots == [slots[0]; 3]) else {
                    continue;
                };
                if other == self.bot {
                    continue;
                }
                let seen = self.saw(view, slot.0, tick);
                ledger.findings.check(seen, || {
                    format!(
                        "tick {tick}: bot {} does not see slot {}, within its radius or \
                         regions for two ticks",
                        self.bot, slot.0
                    )
                });
            }
        }
    }

    /// Where a bot's entity was in a tick, if its bot was told.
    fn place(&self, ledger: &Ledger, entity: EntityId, tick: Tick) -> Option<[i32; 3]> {
        let bot = ledger.owner(entity.slot)?;
        let (slot, place) = ledger.read(bot, tick)?;
        (slot == entity.slot).then_some(place)
    }

    /// Whether a slot was in view in a tick that may be past.
    fn saw(&self, view: &View, slot: u32, tick: Tick) -> bool {
        let after = self.memberships.iter().find(|m| m.0 > tick && m.1 == slot);
        match after {
            Some(&(_, _, entered)) => !entered,
            None => view.entities().contains_key(&slot),
        }
    }
}

/// What a bot knows at the end.
pub struct FinalView {
    pub bot: usize,
    pub entity: EntityId,
    /// Its entity waits to be born anew, or was just now.
    pub is_dead: bool,
    pub newest: Tick,
    pub entities: FxHashMap<u32, Entity>,
    /// Slots of which it was told reliably in the last second.
    pub touched: Vec<u32>,
    /// What it is granted to see beside its area of interest.
    pub regions: Vec<Region>,
    pub hearing: Hearing,
}

/// Whether bots were told of what they subscribed to and of what can be heard where
/// they are, until shortly before the end.
pub fn check_hearing(ledger: &Ledger, schema: &Schema, views: &[FinalView]) {
    let all: Vec<_> = views.iter().map(|v| (v.bot, &v.hearing)).collect();
    let newest = views.iter().map(|v| v.newest.0).min().unwrap_or(0);
    let last = Tick(newest.saturating_sub(TICKS_UNHEARD));
    let newest = views.iter().map(|v| v.newest.0).max().unwrap_or(0);
    let first = Tick((newest + 1).saturating_sub(NOTED_TICKS));
    if all.iter().all(|(_, hearing)| hearing.is_empty()) {
        return;
    }
    let known = Known::new(&ledger.findings, &all);
    for &one in &all {
        notices::check(&ledger.findings, schema, &known, one, &(first..=last));
    }
    earshot::check(ledger, &known, &all, &(first..=last));
}

fn squared_distance(a: &[i32], b: &[i32]) -> i64 {
    let along = |(a, b): (&i32, &i32)| (i64::from(*a) - i64::from(*b)).pow(2);
    a.iter().zip(b).map(along).sum()
}

/// Ticks that the ledger holds.
const TICKS_KEPT: usize = 128;
/// Ticks after which everybody should have been told, losses included.
const SETTLE_TICKS: u32 = 32;
/// Ticks after which the ledger may be about to overwrite what is compared.
const TICKS_SAFE: u32 = 96;
/// In play, each bot compares one tick in so many.
const TOLD_EVERY_TICKS: usize = 8;
/// Looking for somebody missing means looking at every bot.
const ARRIVALS_EVERY_TICKS: usize = 32;
/// The last ticks, of which not every bot may have heard.
const TICKS_UNHEARD: u32 = 5;
const EXAMPLES_MAX: usize = 10;
