//! Subscriptions as ticks know them: an entry for each, by its number at the registry,
//! and its place in the matcher.

use std::collections::HashMap;

use shared::ClientRow;
use shared::predicate::{Predicate, WorldNames};

use super::registry::RegistryLimits;
use crate::content::{Limits, SubscriptionId, Subscriptions};

/// The entries of all clients.
///
/// An entry is either in the matcher, or its client's are matched apart from all others.
pub struct Entries {
    /// By number. A matcher identifies an entry by this number.
    rows: Vec<Option<Entry>>,
    subscriptions: Subscriptions,
    /// By client: the numbers of its entries, in the order in which they came.
    of_clients: HashMap<ClientRow, Vec<u32>>,
}

/// One subscription.
pub struct Entry {
    pub client: ClientRow,
    /// The client's own number of the subscription.
    pub id: u32,
    pub predicate: Predicate,
    /// `None` while it is not in the matcher.
    subscription: Option<SubscriptionId>,
}

impl Entry {
    /// An entry that is not in the matcher yet.
    pub fn new(client: ClientRow, id: u32, predicate: Predicate) -> Entry {
        Entry {
            client,
            id,
            predicate,
            subscription: None,
        }
    }
}

impl Entries {
    pub fn new(names: &WorldNames, limits: &RegistryLimits) -> Entries {
        let mut predicate = limits.predicate;
        // The registry may add one for the client's own entity, and one for a cell.
        predicate.constraints_per_filter += 2;
        let limits = Limits {
            predicate,
            subscribers: limits.subscriptions,
            filters: limits.filters,
            constraints: limits.constraints,
        };
        Entries {
            // Reserved at once, so that it never moves.
            rows: Vec::with_capacity(limits.subscribers),
            subscriptions: Subscriptions::new(names.vocabulary.clone(), limits),
            of_clients: HashMap::new(),
        }
    }

    /// The subscriptions in the matcher.
    pub fn subscriptions(&mut self) -> &mut Subscriptions {
        &mut self.subscriptions
    }

    /// The number of entries in the matcher.
    pub fn in_matcher(&self) -> usize {
        self.subscriptions.subscribers()
    }

    pub fn get(&self, number: u32) -> Option<&Entry> {
        self.rows[number as usize].as_ref()
    }

    /// Adds an entry under a free number.
    pub fn add(&mut self, number: u32, entry: Entry) {
        let place = number as usize;
        if self.rows.len() <= place {
            self.rows.resize_with(place + 1, || None);
        }
        let own = self.of_clients.entry(entry.client).or_default();
        own.push(number);
        self.rows[place] = Some(entry);
    }

    /// Puts an entry into the matcher. The error is the entry's client and id, if there
    /// is no room for it.
    pub fn insert(&mut self, number: u32) -> Result<(), (ClientRow, u32)> {
        let Some(entry) = &mut self.rows[number as usize] else {
            return Ok(());
        };
        // The registry has checked everything but the matcher's memory.
        let subscription = self.subscriptions.subscribe(number, &entry.predicate);
        entry.subscription = Some(subscription.map_err(|_| (entry.client, entry.id))?);
        Ok(())
    }

    /// Takes an entry out of the matcher.
    pub fn take_out(&mut self, number: u32) {
        let entry = self.rows.get_mut(number as usize).and_then(Option::as_mut);
        if let Some(subscription) = entry.and_then(|entry| entry.subscription.take()) {
            self.subscriptions.unsubscribe(subscription);
        }
    }

    /// Removes an entry, also from the matcher. `None` if there is no entry.
    pub fn remove(&mut self, number: u32) -> Option<Entry> {
        self.take_out(number);
        let entry = self.rows.get_mut(number as usize)?.take()?;
        if let Some(own) = self.of_clients.get_mut(&entry.client) {
            own.retain(|&other| other != number);
            if own.is_empty() {
                self.of_clients.remove(&entry.client);
            }
        }
        Some(entry)
    }

    /// An entry, and the matcher's subscriptions.
    pub fn with_subscriptions(&mut self, number: u32) -> Option<(&Entry, &mut Subscriptions)> {
        let entry = self.rows.get(number as usize)?.as_ref()?;
        Some((entry, &mut self.subscriptions))
    }

    /// The numbers of a client's entries.
    pub fn of_client(&self, client: ClientRow) -> &[u32] {
        self.of_clients.get(&client).map_or(&[], Vec::as_slice)
    }

    /// The number of clients with entries.
    pub fn clients(&self) -> usize {
        self.of_clients.len()
    }
}
