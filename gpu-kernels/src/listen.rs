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
//! | module | holds |
//! | --- | --- |
//! | `registry` | where clients subscribe |
//! | `entries` | the subscriptions as ticks know them, and their place in the matcher |
//! | `wanted` | what subscriptions can match at all |
//! | `ranges` | filters for ranges of values, looked up by cells |
//! | `candidates` | the changes and notifications of a batch |
//! | `writer` | how they are written into a batch |
//! | `clients` | each client's own entity and its notices in this tick |
//! | `notices` | the result |

mod candidates;
mod clients;
mod entries;
mod notices;
mod ranges;
mod registry;
mod wanted;
mod writer;

use shared::predicate::WorldNames;
use shared::{EntityId, Slot, WorldConfig};

use crate::content::{AutoMatcher, Batch, CpuMatcher, Matches, Subscriptions};
use crate::tick::error::StartError;
use crate::tick::output::TickOutput;
pub use notices::{ClientNotice, Notice, Notices};
pub use registry::{RegistryLimits, SubscribeError, SubscriptionRegistry, UnsubscribeError};

use candidates::Candidates;
use clients::Clients;
use entries::{Entries, Entry};
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
    /// Matches since entries were last suspended whose client was at its limit.
    dropped: usize,
    notices: Notices,
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

enum Matcher {
    Cpu(CpuMatcher),
    Auto(Box<AutoMatcher>),
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
            dropped: 0,
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
        self.notices.full = self.clients.full() as u64;
        self.resume_entries();
        self.notices.finish();
        &self.notices
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
                    self.candidates.wanted.add(&predicate);
                    self.clients.add_subscription(client);
                    self.entries.add(number, Entry::new(client, id, predicate));
                    self.insert_entry(number);
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
        if let Some(entry) = self.entries.remove(number) {
            self.candidates.wanted.remove(&entry.predicate);
            self.clients.remove_subscription(entry.client);
        }
    }

    /// Puts the entries that were suspended in this tick back into the matcher.
    fn resume_entries(&mut self) {
        for number in self.entries.take_suspended() {
            self.insert_entry(number);
        }
    }

    fn begin(&mut self) {
        self.dropped = 0;
        self.clients.begin();
        self.candidates.begin();
        let entries = self.entries.in_matcher().max(1);
        self.batch_len = (PAIRS_WANTED / entries).clamp(BATCH_MIN, BATCH_MAX);
    }

    /// Matches everything in a tick that a subscription may want. Ends early once all
    /// entries are suspended.
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
                if wanted >> column & 1 == 0 {
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
        let (batch, matches) = (&self.candidates.batch, &mut self.matches);
        self.matcher
            .match_batch(self.entries.subscriptions(), batch, matches);
        self.add_notices();
        self.notices.matched += n as u64;
        self.candidates.clear();
        if self.dropped > DROPPED_MAX {
            self.dropped = 0;
            let clients = &self.clients;
            self.entries.suspend(|client| clients.is_full(client));
        }
        // The next batch should give about `PAIRS_WANTED`, if it matches as this one did.
        let pairs = self.matches.total().max(1);
        self.batch_len = (PAIRS_WANTED / pairs.div_ceil(n)).clamp(BATCH_MIN, BATCH_MAX);
    }

    /// Turns the matches of a batch into notices.
    fn add_notices(&mut self) {
        for (i, candidate) in self.candidates.list.iter_mut().enumerate() {
            for &number in self.matches.of(i) {
                let Some(entry) = self.entries.get(number) else {
                    continue;
                };
                if candidate.only.is_some_and(|only| only != entry.client) {
                    continue;
                }
                let place = candidate.place.unwrap_or(self.notices.next_place());
                if !self.clients.tell(entry.client, place) {
                    self.dropped += 1;
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

impl Matcher {
    fn new(
        subscriptions: &mut Subscriptions,
        threads: usize,
        gpu: Option<u32>,
    ) -> Result<Matcher, StartError> {
        Ok(match gpu {
            Some(ordinal) => Matcher::Auto(Box::new(AutoMatcher::with_batches(
                subscriptions,
                threads,
                ordinal,
                BATCH_MAX,
                PAIRS_WANTED,
            )?)),
            None => Matcher::Cpu(CpuMatcher::new(threads)?),
        })
    }

    fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) {
        match self {
            Matcher::Cpu(matcher) => matcher.match_batch(subscriptions, batch, matches),
            Matcher::Auto(matcher) => matcher.match_batch(subscriptions, batch, matches),
        }
    }
}

/// A batch is made to give about this many pairs of candidate and subscription.
const PAIRS_WANTED: usize = 1 << 21;
const BATCH_MIN: usize = 256;
const BATCH_MAX: usize = 1 << 16;
/// More matches for clients at their limit cost more than to suspend their entries.
const DROPPED_MAX: usize = 1 << 18;
