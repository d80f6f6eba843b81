//! Who asked for what. It keeps what all ways of matching need: the filters, their
//! strings, and the index.

use shared::content::{ContentError, Predicate, Vocabulary};
use thiserror::Error;

use super::Limits;
use super::batch::{Batch, ResolvedStrings};
use super::compile::{Condition, Taken, compile, release};
use super::dictionary::Dictionary;
use super::index::Index;

/// Names one subscription for as long as it lasts; never reused while a matcher
/// lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SubscriptionId {
    slot: u32,
    generation: u32,
}

/// Why nothing was subscribed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubscribeError {
    #[error(transparent)]
    Predicate(#[from] ContentError),
    #[error("interface {found}, where numbers below {interfaces} were expected")]
    Interface { found: u32, interfaces: usize },
    #[error("{needed} filters in all, where the matcher has room for {limit}")]
    Filters { needed: usize, limit: usize },
    #[error("{needed} constraints in all, where the matcher has room for {limit}")]
    Constraints { needed: usize, limit: usize },
    #[error("the matcher's memory is too scattered for another filter")]
    Full,
}

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
    /// Subscriptions of each interface, as far as interfaces are used.
    per_interface: Vec<u32>,
    /// Interfaces with a subscription.
    interfaces: usize,
    /// How often anything was subscribed or unsubscribed.
    changes: u64,
}

#[derive(Default)]
struct Slot {
    generation: u32,
    held: Option<Held>,
}

struct Held {
    interface: u32,
    /// Of the predicate as it was given.
    filters: usize,
    constraints: usize,
    inserted: Inserted,
}

#[derive(Default)]
struct Inserted {
    /// Those that something can satisfy.
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
            // Taken as they are used, and never moved.
            slots: Vec::with_capacity(limits.filters),
            free_slots: vec![],
            next_filter: 0,
            free_filters: vec![],
            filters: 0,
            constraints: 0,
            per_interface: Vec::with_capacity(limits.interfaces),
            interfaces: 0,
            changes: 0,
        }
    }

    pub fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Filters of all subscriptions.
    pub fn filters(&self) -> usize {
        self.filters
    }

    /// Constraints of all subscriptions.
    pub fn constraints(&self) -> usize {
        self.constraints
    }

    /// Differs whenever the subscriptions may differ.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// How many interfaces have a subscription.
    pub fn interfaces(&self) -> usize {
        self.interfaces
    }

    /// From now on, the interface is told of whatever satisfies the predicate, too.
    /// Takes time in proportion to the predicate.
    pub fn subscribe(
        &mut self,
        interface: u32,
        predicate: &Predicate,
    ) -> Result<SubscriptionId, SubscribeError> {
        if interface as usize >= self.limits.interfaces {
            return Err(SubscribeError::Interface {
                found: interface,
                interfaces: self.limits.interfaces,
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
        let inserted = self.insert(interface, predicate)?;
        self.filters += predicate.filters.len();
        self.constraints += constraints(predicate);
        let used = interface as usize + 1;
        if self.per_interface.len() < used {
            self.per_interface.resize(used, 0);
        }
        let count = &mut self.per_interface[interface as usize];
        self.interfaces += usize::from(*count == 0);
        *count += 1;
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let entry = &mut self.slots[slot as usize];
        entry.held = Some(Held {
            interface,
            filters: predicate.filters.len(),
            constraints: constraints(predicate),
            inserted,
        });
        let generation = entry.generation;
        Ok(SubscriptionId { slot, generation })
    }

    /// Puts all filters into the index, or none.
    fn insert(
        &mut self,
        interface: u32,
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
            if self.index.insert(number, &conditions, interface).is_err() {
                self.free_filters.push(number);
                self.take_out(&inserted);
                return Err(SubscribeError::Full);
            }
            inserted.filters.push(number);
        }
        Ok(inserted)
    }

    fn take_out(&mut self, inserted: &Inserted) {
        for &number in &inserted.filters {
            self.index.remove(number);
            self.free_filters.push(number);
        }
        release(&inserted.strings, &mut self.dictionary);
    }

    /// Ends a subscription, in time proportional to it; false if it has ended
    /// before.
    pub fn unsubscribe(&mut self, id: SubscriptionId) -> bool {
        let Some(slot) = self.slots.get_mut(id.slot as usize) else {
            return false;
        };
        if slot.generation != id.generation {
            return false;
        }
        let Some(held) = slot.held.take() else {
            return false;
        };
        slot.generation = slot.generation.wrapping_add(1);
        self.changes += 1;
        self.free_slots.push(id.slot);
        self.take_out(&held.inserted);
        self.filters -= held.filters;
        self.constraints -= held.constraints;
        let count = &mut self.per_interface[held.interface as usize];
        *count -= 1;
        self.interfaces -= usize::from(*count == 0);
        true
    }

    /// What the strings of a batch are to the constraints.
    pub fn resolve(&mut self, batch: &Batch, resolved: &mut ResolvedStrings) {
        self.dictionary.resolve(batch.strings(), resolved);
    }

    /// Each filter that something can satisfy: its interface and conditions, in no
    /// order.
    pub fn filters_held(&self) -> impl Iterator<Item = (u32, &[Condition])> {
        self.index.filters()
    }

    /// Nodes in use by the index.
    pub fn index_nodes(&self) -> usize {
        self.index.nodes.len()
    }

    /// How many of the index's entries were written so far: what changes cost.
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
