//! Content subscriptions in the tick: which client gets which notice because it
//! subscribed to it.
//!
//! Each change and notification that a subscription may want becomes a content
//! notification of named values ([`WorldNames`]). All of a tick's are matched together, in
//! batches. Clients subscribe at a [`SubscriptionRegistry`], on any thread, while a tick is
//! matched.
//!
//! **Hidden values can't be found out.** No predicate can name a hidden attribute, and no
//! notice contains one. A filter that names a private attribute matches only events of the
//! client's own entity. A change of a private attribute is matched for the entity's own
//! client only, whatever the predicates of other clients say.
//!
//! **The notices of a client are limited.** In one tick a client gets at most
//! `limits.client_notices_per_tick`: the first ones, in the order of the tick. Which ones it
//! gets does not depend on the subscriptions of others. A client at its limit is skipped for
//! the rest of the tick.
//!
//! **The cost of a client's subscriptions is limited.** If all together cost more than a tick has
//! time for, those of the clients that cost most are matched apart from the others, each within
//! its share (`apart`); so are those of clients at their limit. A client whose share is used
//! up gets the notices that were found by then, with a mark that there may have been more.
//!
//! | module | holds |
//! | --- | --- |
//! | `registry` | where clients subscribe |
//! | `entries` | the subscriptions as ticks know them, and their place in the matcher |
//! | `matcher` | the matcher, and the length of its batches |
//! | `wanted` | events that subscriptions can match at all |
//! | `ranges` | filters for ranges of values, looked up by cells |
//! | `candidates` | the changes and notifications of a batch |
//! | `writer` | how they are written into a batch |
//! | `clients` | each client's own entity, and its notices and costs in this tick |
//! | `apart` | clients whose subscriptions cost too much |
//! | `notices` | the result |

mod apart;
mod candidates;
mod clients;
mod entries;
mod matcher;
mod notices;
mod ranges;
mod registry;
mod wanted;
mod writer;

use shared::predicate::WorldNames;
use shared::{ClientRow, EntityId, Slot, WorldConfig};

use crate::content::Matches;
use crate::content::cpu::SAMPLED;
use crate::tick::error::StartError;
use crate::tick::output::TickOutput;
pub use notices::{ClientNotice, Notice, Notices, SomeNotices};
pub use registry::{RegistryLimits, SubscribeError, SubscriptionRegistry, UnsubscribeError};

use apart::Apart;
use candidates::Candidates;
use clients::Clients;
use entries::{Entries, Entry};
use matcher::{Matcher, batch_len};
use registry::Edit;

/// A world's subscriptions, and the matcher that finds the notices of each tick.
pub struct Listeners {
    registry: SubscriptionRegistry,
    edits: Vec<Edit>,
    entries: Entries,
    clients: Clients,
    candidates: Candidates,
    /// How many candidates make a batch.
    batch_len: usize,
    matcher: Matcher,
    matches: Matches,
    apart: Apart,
    budget: Budget,
    /// How many filters may still be moved in this tick, into the matcher or out of it.
    moves_left: usize,
    notices: Notices,
}

/// The limit of matching in a tick, in filters checked.
#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Beyond it, the clients that cost most are matched apart.
    together: u64,
    /// Whatever others do, a client that costs less is not matched apart; nor one that costs
    /// [`FILTERS_ALWAYS`] for each event.
    client: u64,
    /// For all that are matched apart.
    apart: u64,
}

/// The cost of the last tick's matching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Filters that were looked at for all clients together: an estimate, from a sample.
    pub together: u64,
    /// Conditions and subscriptions that were looked at for clients that are matched apart.
    pub apart: u64,
    /// The number of these clients.
    pub clients_apart: usize,
}

/// The world before the tick: the result of all ticks before it.
pub trait Before {
    /// The entity that lives or last lived in a slot.
    fn id(&self, slot: Slot) -> EntityId;
    /// The kind of that entity.
    fn kind(&self, slot: Slot) -> u16;
    /// The values of all columns.
    fn row(&self, slot: Slot) -> &[i32];
}

impl Listeners {
    /// Listeners without subscriptions; `None` in worlds where clients can't subscribe.
    ///
    /// With a GPU's number, each batch is matched on the side that costs less. With `None`,
    /// no GPU is used.
    ///
    /// # Errors
    /// If the names of the world can't be used in predicates, or threads can't start.
    pub fn new(
        config: &WorldConfig,
        threads: usize,
        gpu: Option<u32>,
    ) -> Result<Option<Listeners>, StartError> {
        if config.limits.subscriptions_per_client == 0 {
            return Ok(None);
        }
        let schema = &config.schema;
        let names = WorldNames::new(schema)
            .map_err(|error| StartError::Subscriptions(error.to_string()))?;
        let registry = SubscriptionRegistry::new(config, names);
        let names = registry.names();
        let apart = Apart::new(schema, names);
        let mut entries = Entries::new(names, registry.limits());
        let matcher = Matcher::new(entries.subscriptions(), threads, gpu)?;
        Ok(Some(Listeners {
            candidates: Candidates::new(schema, names),
            registry,
            edits: vec![],
            entries,
            clients: Clients::new(config),
            batch_len: 0,
            matcher,
            matches: Matches::new(),
            apart,
            budget: Budget::of(schema.world.tick_hz),
            moves_left: 0,
            notices: Notices::default(),
        }))
    }

    /// Where clients subscribe.
    pub fn registry(&self) -> SubscriptionRegistry {
        self.registry.clone()
    }

    /// The reason why no GPU is used although [`Listeners::new`] was given one.
    pub fn why_no_gpu(&self) -> Option<&str> {
        match &self.matcher {
            Matcher::Cpu(_) => None,
            Matcher::Auto(matcher) => matcher.why_no_gpu(),
        }
    }

    /// The notices of a tick. `before` must not include this tick yet.
    pub fn listen(&mut self, output: &TickOutput, before: &impl Before) -> &Notices {
        self.notices.clear();
        self.apply_edits();
        self.begin();
        if self.entries.in_matcher() > 0 {
            self.match_tick(output, before);
        }
        self.apart.listen(
            self.budget.apart,
            (&mut self.clients, &mut self.notices),
            self.entries.subscriptions(),
            output,
            before,
        );
        self.notices.full = (self.clients.full() + self.notices.cut.len()) as u64;
        self.notices.finish();
        &self.notices
    }

    /// The cost of the last tick's matching.
    pub fn costs(&self) -> Costs {
        Costs {
            together: self.clients.work(),
            apart: self.apart.work(),
            clients_apart: self.apart.len(),
        }
    }

    /// As [`Listeners::listen`], but swaps the result into `notices`, whose memory is
    /// reused for the next tick. The caller may keep them.
    pub fn listen_into(
        &mut self,
        output: &TickOutput,
        before: &impl Before,
        notices: &mut Notices,
    ) {
        self.listen(output, before);
        std::mem::swap(&mut self.notices, notices);
    }

    fn apply_edits(&mut self) {
        let mut edits = std::mem::take(&mut self.edits);
        self.registry.take_edits(&mut edits);
        for edit in edits.drain(..) {
            match edit {
                Edit::Add {
                    number,
                    client,
                    id,
                    predicate,
                } => {
                    self.clients.add_subscription(client);
                    if self.apart.has(client) {
                        let subscriptions = self.entries.subscriptions();
                        let subscription = (number, id);
                        self.apart
                            .add(client, subscription, &predicate, subscriptions);
                        self.entries.add(number, Entry::new(client, id, predicate));
                    } else {
                        self.candidates.wanted.add(&predicate);
                        self.entries.add(number, Entry::new(client, id, predicate));
                        self.insert_entry(number);
                    }
                }
                Edit::Remove { number } => self.remove_entry(number),
                Edit::SetEntity { client, entity } => self.clients.set_entity(client, entity),
            }
        }
        self.edits = edits;
    }

    /// Puts an entry into the matcher, or ends its subscription if there is no room.
    fn insert_entry(&mut self, number: u32) {
        let Err((client, id)) = self.entries.insert(number) else {
            return;
        };
        self.notices.lost.push((client, id));
        // The removal that the registry adds to its edits then finds no entry.
        self.registry.end_lost(client, id, number);
        self.remove_entry(number);
    }

    fn remove_entry(&mut self, number: u32) {
        let Some(entry) = self.entries.remove(number) else {
            return;
        };
        let client = entry.client;
        match self.apart.has(client) {
            true => {
                let subscriptions = self.entries.subscriptions();
                self.apart.remove(client, number, subscriptions);
            }
            false => self.candidates.wanted.remove(&entry.predicate),
        }
        self.clients.remove_subscription(client);
        if !self.clients.has_subscriptions(client) {
            self.apart.forget(client);
        }
    }

    fn begin(&mut self) {
        self.clients.begin();
        self.candidates.begin();
        self.apart.begin();
        self.moves_left = MOVES_MAX;
        self.bring_back();
        let filters = self.entries.subscriptions().filters();
        self.batch_len = batch_len(filters);
    }

    /// Puts clients whose time apart is over back among all others.
    fn bring_back(&mut self) {
        let filters_max = self.moves_left / 2;
        let due = self
            .apart
            .take_due(filters_max, self.entries.subscriptions());
        for (_, numbers) in due {
            for number in numbers {
                let Some(entry) = self.entries.get(number) else {
                    continue;
                };
                self.candidates.wanted.add(&entry.predicate);
                let filters = entry.predicate.filters.len();
                self.moves_left = self.moves_left.saturating_sub(filters);
                self.insert_entry(number);
            }
        }
    }

    /// Sees to it that clients which cost too much are matched apart from now on: those that
    /// can get no more notices; and if the tick's work gets too much, those above their share.
    fn set_apart(&mut self, next_event: u32) {
        let clients = &self.clients;
        let share = self.budget.together / self.entries.clients().max(1) as u64;
        let always = self.budget.client + FILTERS_ALWAYS * self.notices.matched;
        let share = share.max(always);
        let is_much = clients.work() > self.budget.together;
        let is_costly = |&(_, work, dropped): &(ClientRow, u32, u32)| {
            dropped > DROPPED_MAX || is_much && u64::from(work) > share
        };
        if !is_much && !clients.may_have_dropped(DROPPED_MAX) {
            return;
        }
        let mut costly: Vec<_> = clients.costs().filter(is_costly).collect();
        costly.retain(|&(client, ..)| !self.apart.has(client));
        costly.sort_unstable_by_key(|&(client, work, dropped)| {
            (
                std::cmp::Reverse(u64::from(work) + u64::from(dropped)),
                client,
            )
        });
        for (client, work, dropped) in costly {
            let cost = u64::from(work) + u64::from(dropped);
            let filters = self.filters_of(client);
            // Moving is spread over ticks, except where staying costs more.
            let is_dear = cost > filters as u64 * MOVE_COST || dropped as usize > filters;
            if filters <= self.moves_left || is_dear {
                self.move_apart(client, next_event);
            }
        }
    }

    fn filters_of(&self, client: ClientRow) -> usize {
        let own = self.entries.of_client(client).iter();
        let own = own.filter_map(|&number| self.entries.get(number));
        own.map(|entry| entry.predicate.filters.len()).sum()
    }

    fn move_apart(&mut self, client: ClientRow, next_event: u32) {
        self.apart.enter(client, next_event);
        for number in self.entries.of_client(client).to_vec() {
            self.entries.take_out(number);
            let Some((entry, subscriptions)) = self.entries.with_subscriptions(number) else {
                continue;
            };
            self.candidates.wanted.remove(&entry.predicate);
            let filters = entry.predicate.filters.len();
            self.moves_left = self.moves_left.saturating_sub(filters);
            let subscription = (number, entry.id);
            self.apart
                .add(client, subscription, &entry.predicate, subscriptions);
        }
    }

    /// Matches everything in a tick that a subscription may want. Ends early once all
    /// clients are matched apart.
    fn match_tick(&mut self, output: &TickOutput, before: &impl Before) {
        for i in 0..output.notifications.len() {
            self.candidates
                .add_notification(&self.clients, output, before, i);
            if !self.match_full_batch() {
                return;
            }
        }
        for (row, (slot, columns, _)) in output.changes.iter().enumerate() {
            let wanted = self.candidates.wanted.columns(before.kind(slot));
            for (i, &column) in columns.iter().enumerate() {
                if !wanted.has(column.into()) {
                    continue;
                }
                self.candidates
                    .add_change(&self.clients, output, before, (row, i));
                if !self.match_full_batch() {
                    return;
                }
            }
        }
        self.match_batch();
    }

    /// Matches the candidates if they make a batch. False if no entry is left that could
    /// match more.
    fn match_full_batch(&mut self) -> bool {
        if self.candidates.len() < self.batch_len {
            return true;
        }
        self.match_batch();
        self.entries.in_matcher() > 0
    }

    fn match_batch(&mut self) {
        let n = self.candidates.len();
        if n == 0 {
            return;
        }
        let work_before = self.clients.work();
        let (batch, matches) = (&self.candidates.batch, &mut self.matches);
        self.matcher
            .match_batch(self.entries.subscriptions(), batch, matches);
        self.charge_sampled();
        self.add_notices();
        self.notices.matched += n as u64;
        let last = self.candidates.list.last();
        let next_event = last.map_or(0, |candidate| candidate.number + 1);
        self.candidates.clear();
        // The next batch should cost about as much as is wanted, if it is like this one.
        let cost = self.clients.work() - work_before;
        self.batch_len = batch_len((cost as usize).div_ceil(n));
        self.set_apart(next_event);
    }

    /// Charges the matcher's work to clients, by its sample.
    fn charge_sampled(&mut self) {
        let (entries, clients) = (&self.entries, &mut self.clients);
        let mut charge = |number: u32| {
            if let Some(entry) = entries.get(number) {
                clients.charge(entry.client, SAMPLED);
            }
        };
        match &self.matcher {
            Matcher::Cpu(matcher) => matcher.sampled().for_each(&mut charge),
            Matcher::Auto(matcher) => matcher.sampled().for_each(&mut charge),
        }
    }

    /// Turns the matches of a batch into notices.
    fn add_notices(&mut self) {
        for (i, candidate) in self.candidates.list.iter_mut().enumerate() {
            for &number in self.matches.of(i) {
                let Some(entry) = self.entries.get(number) else {
                    continue;
                };
                self.clients.charge(entry.client, 1);
                if candidate.only.is_some_and(|only| only != entry.client) {
                    continue;
                }
                let place = candidate.place.unwrap_or(self.notices.next_place());
                if !self.clients.count(entry.client, place) {
                    continue;
                }
                if candidate.place.is_none() {
                    self.notices.push(candidate.notice);
                    candidate.place = Some(place);
                }
                self.notices.add_match(entry.client, place, entry.id);
            }
        }
    }
}

impl Budget {
    fn of(tick_hz: u32) -> Budget {
        let a_tick = |a_second: u64| a_second / u64::from(tick_hz.max(1));
        Budget {
            together: a_tick(TOGETHER_PER_SECOND),
            client: a_tick(CLIENT_PER_SECOND),
            apart: a_tick(APART_PER_SECOND),
        }
    }
}

/// A thread checks a hundred million filters in a second, or more.
const TOGETHER_PER_SECOND: u64 = 1 << 25;
const CLIENT_PER_SECOND: u64 = 1 << 18;
const APART_PER_SECOND: u64 = 1 << 24;
/// Some filters can't be looked up by any value, such as ranges around the middle of all.
const FILTERS_ALWAYS: u64 = 2;
/// To match a client apart costs about as much as so many of its matches.
const DROPPED_MAX: u32 = 64;
/// To move a filter takes some microseconds, ...
const MOVES_MAX: usize = 1024;
/// ... as long as to check so many.
const MOVE_COST: u64 = 512;
