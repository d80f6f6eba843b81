//! The subscriptions of all subscribers, in the form for matchers: the filters,
//! their strings, and the index.

use shared::predicate::{Predicate, PredicateError, Vocabulary};
use thiserror::Error;

use super::Limits;
use super::batch::{Batch, ResolvedStrings};
use super::compile::{Condition, Taken, compile, release};
use super::dictionary::Dictionary;
use super::index::Index;

/// Identifies a subscription. It is not reused after the subscription has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionId {
    slot: u32,
    generation: u32,
}

/// Why a subscription is rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubscribeError {
    #[error(transparent)]
    Predicate(#[from] PredicateError),
    #[error("subscriber {found}, where numbers below {subscribers} were expected")]
    Subscriber { found: u32, subscribers: usize },
    #[error("{needed} filters in all, where the matcher has room for {limit}")]
    Filters { needed: usize, limit: usize },
    #[error("{needed} constraints in all, where the matcher has room for {limit}")]
    Constraints { needed: usize, limit: usize },
    #[error("the matcher's memory is too scattered for another filter")]
    Full,
}

/// All subscriptions, and the index of their filters.
pub struct Subscriptions {
    pub(super) limits: Limits,
    pub(super) vocabulary: Vocabulary,
    pub(super) dictionary: Dictionary,
    pub(super) index: Index,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    next_filter: u32,
    free_filters: Vec<u32>,
    filters: usize,
    constraints: usize,
    /// By subscriber: the number of its subscriptions. Grows with the largest number used.
    per_subscriber: Vec<u32>,
    /// The number of subscribers with a subscription.
    subscribers: usize,
    /// How many subscriptions were added or ended so far.
    changes: u64,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    subscription: Option<Subscription>,
}

struct Subscription {
    subscriber: u32,
    /// Filters of the predicate as it was given.
    filters: usize,
    /// Constraints of the predicate as it was given.
    constraints: usize,
    inserted: Inserted,
}

/// A subscription's entries in the index and the dictionary.
#[derive(Default)]
struct Inserted {
    /// The numbers of its filters, without those that nothing can satisfy.
    filters: Vec<u32>,
    strings: Vec<Taken>,
}

impl Subscriptions {
    pub fn new(vocabulary: Vocabulary, limits: Limits) -> Subscriptions {
        Subscriptions {
            limits,
            vocabulary,
            dictionary: Dictionary::default(),
            index: Index::new(limits.filters, limits.constraints),
            // Reserved at once, so that they never move.
            slots: Vec::with_capacity(limits.filters),
            free_slots: vec![],
            next_filter: 0,
            free_filters: vec![],
            filters: 0,
            constraints: 0,
            per_subscriber: Vec::with_capacity(limits.subscribers),
            subscribers: 0,
            changes: 0,
        }
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The number of filters of all subscriptions.
    pub fn filters(&self) -> usize {
        self.filters
    }

    /// The number of constraints of all subscriptions.
    pub fn constraints(&self) -> usize {
        self.constraints
    }

    /// A number that increases with each change of the subscriptions.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The number of subscribers with a subscription.
    pub fn subscribers(&self) -> usize {
        self.subscribers
    }

    /// Adds a subscription: from now on, the subscriber also matches notifications that satisfy the
    /// predicate. Takes time in proportion to the predicate.
    pub fn subscribe(
        &mut self,
        subscriber: u32,
        predicate: &Predicate,
    ) -> Result<SubscriptionId, SubscribeError> {
        if subscriber as usize >= self.limits.subscribers {
            return Err(SubscribeError::Subscriber {
                found: subscriber,
                subscribers: self.limits.subscribers,
            });
        }
        predicate.check(&self.vocabulary, &self.limits.predicate)?;
        let needed = self.filters + predicate.filters.len();
        if needed > self.limits.filters {
            let limit = self.limits.filters;
            return Err(SubscribeError::Filters { needed, limit });
        }
        let needed = self.constraints + constraints(predicate);
        if needed > self.limits.constraints {
            let limit = self.limits.constraints;
            return Err(SubscribeError::Constraints { needed, limit });
        }
        self.changes += 1;
        let inserted = self.insert(subscriber, predicate)?;
        self.filters += predicate.filters.len();
        self.constraints += constraints(predicate);
        let used = subscriber as usize + 1;
        if self.per_subscriber.len() < used {
            self.per_subscriber.resize(used, 0);
        }
        let count = &mut self.per_subscriber[subscriber as usize];
        self.subscribers += usize::from(*count == 0);
        *count += 1;
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let entry = &mut self.slots[slot as usize];
        entry.subscription = Some(Subscription {
            subscriber,
            filters: predicate.filters.len(),
            constraints: constraints(predicate),
            inserted,
        });
        let generation = entry.generation;
        Ok(SubscriptionId { slot, generation })
    }

    /// Adds all filters of a predicate to the index. On an error, adds none.
    fn insert(
        &mut self,
        subscriber: u32,
        predicate: &Predicate,
    ) -> Result<Inserted, SubscribeError> {
        let mut inserted = Inserted::default();
        for filter in &predicate.filters {
            let strings = &mut inserted.strings;
            let compiled = compile(filter, &self.vocabulary, &mut self.dictionary, strings);
            let Some(conditions) = compiled else {
                continue;
            };
            let number = self.free_filters.pop().unwrap_or_else(|| {
                self.next_filter += 1;
                self.next_filter - 1
            });
            if self.index.insert(number, &conditions, subscriber).is_err() {
                self.free_filters.push(number);
                self.remove(&inserted);
                return Err(SubscribeError::Full);
            }
            inserted.filters.push(number);
        }
        Ok(inserted)
    }

    /// Undoes an insertion.
    fn remove(&mut self, inserted: &Inserted) {
        for &number in &inserted.filters {
            self.index.remove(number);
            self.free_filters.push(number);
        }
        release(&inserted.strings, &mut self.dictionary);
    }

    /// Ends a subscription, in time proportional to its predicate. False if it has ended
    /// already.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else {
            return false;
        };
        if slot.generation != id.generation {
            return false;
        }
        let Some(subscription) = slot.subscription.take() else {
            return false;
        };
        slot.generation = slot.generation.wrapping_add(1);
        self.changes += 1;
        self.free_slots.push(id.slot);
        self.remove(&subscription.inserted);
        self.filters -= subscription.filters;
        self.constraints -= subscription.constraints;
        let count = &mut self.per_subscriber[subscription.subscriber as usize];
        *count -= 1;
        self.subscribers -= usize::from(*count == 0);
        true
    }

    /// Resolves the strings of a batch to numbers that conditions compare.
    pub fn resolve(&mut self, batch: &Batch, resolved: &mut ResolvedStrings) {
        self.dictionary.resolve(batch.strings(), resolved);
    }

    /// Each filter that something can satisfy, by its subscriber and conditions, in no
    /// particular order.
    pub fn compiled_filters(&self) -> impl Iterator<Item = (u32, &[Condition])> {
        self.index.filters()
    }

    /// The number of nodes of the index.
    pub fn index_nodes(&self) -> usize {
        self.index.nodes.len()
    }

    /// How many entries of the index were written so far: the work of all changes.
    pub fn index_moves(&self) -> u64 {
        self.index.moves()
    }

    /// Bytes in use by the index.
    pub fn index_bytes(&self) -> usize {
        self.index.bytes()
    }
}

fn constraints(predicate: &Predicate) -> usize {
    predicate.filters.iter().map(|f| f.constraints.len()).sum()
}
