//! Clients whose subscriptions cost more than their share, or match more than the client may
//! get: they are matched one by one, apart from all others, each within its share of a tick.
//!
//! The matcher of all subscriptions is fast for predicates that its index separates. One that
//! most events satisfy, or almost, costs it as much as thousands of others. Such a client's
//! predicates are compared here, event after event, until the client has all notices that it
//! may get, or until its share is used up. All clients here have the same share; what some
//! leave is divided among those that need more. The result does not depend on threads.

use std::collections::{BTreeMap, HashMap};

use shared::ClientRow;
use shared::predicate::{Predicate, WorldNames};

use super::Before;
use super::candidates::{Candidate, Candidates};
use super::clients::Clients;
use super::notices::Notices;
use super::wanted::Sorts;
use crate::content::Subscriptions;
use crate::content::batch::ResolvedStrings;
use crate::content::single::{Single, Values};
use crate::tick::output::TickOutput;

/// The clients that are matched apart.
pub struct Apart {
    clients: BTreeMap<ClientRow, Own>,
    /// Clients that were apart before, as long as they have subscriptions.
    history: HashMap<ClientRow, Stay>,
    /// The predicates of the clients here.
    candidates: Candidates,
    resolved: ResolvedStrings,
    values: Values,
    /// The conditions and subscriptions that were looked at in this tick.
    work: u64,
    ticks: u64,
}

/// One client.
struct Own {
    subscriptions: Vec<OwnSubscription>,
    /// Events before this one were matched with all others'.
    from: u32,
    until: u64,
}

struct OwnSubscription {
    /// At the registry.
    number: u32,
    /// The client's own number of it.
    id: u32,
    predicate: Predicate,
    single: Single,
    sorts: Sorts,
}

/// When a client was apart last.
#[derive(Clone, Copy)]
struct Stay {
    /// The tick of its return.
    until: u64,
    /// How many stays in a row it had.
    count: u32,
}

/// A client that gets notices from a tick's events.
struct Active<'a> {
    client: ClientRow,
    own: &'a Own,
    /// Its limit of cost, and its cost.
    share: u64,
    spent: u64,
}

impl Apart {
    pub fn new(schema: &shared::Schema, names: &WorldNames) -> Apart {
        Apart {
            clients: BTreeMap::new(),
            history: HashMap::new(),
            candidates: Candidates::new(schema, names),
            resolved: ResolvedStrings::default(),
            values: Values::default(),
            work: 0,
            ticks: 0,
        }
    }

    pub fn has(&self, client: ClientRow) -> bool {
        self.clients.contains_key(&client)
    }

    /// The number of clients here.
    pub fn len(&self) -> usize {
        self.clients.len()
    }

    /// The cost of this tick's matching here.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// A client is matched apart from an event of this tick on. The more often in a row, the
    /// longer.
    pub fn enter(&mut self, client: ClientRow, from: u32) {
        let before = self.history.get(&client);
        let count = before.map_or(0, |stay| {
            let was_away = self.ticks.saturating_sub(stay.until) > stay_ticks(stay.count);
            if was_away { 0 } else { stay.count + 1 }
        });
        let until = self.ticks + stay_ticks(count);
        self.history.insert(client, Stay { until, count });
        let own = Own {
            subscriptions: vec![],
            from,
            until,
        };
        self.clients.insert(client, own);
    }

    /// Adds a subscription of a client that is matched apart.
    pub fn add(
        &mut self,
        client: ClientRow,
        (number, id): (u32, u32),
        predicate: &Predicate,
        subscriptions: &mut Subscriptions,
    ) {
        let Some(own) = self.clients.get_mut(&client) else {
            return;
        };
        self.candidates.wanted.add(predicate);
        own.subscriptions.push(OwnSubscription {
            number,
            id,
            single: Single::new(predicate, subscriptions),
            sorts: self.candidates.wanted.sorts(predicate),
            predicate: predicate.clone(),
        });
    }

    /// Removes a subscription, if it is here.
    pub fn remove(&mut self, client: ClientRow, number: u32, subscriptions: &mut Subscriptions) {
        let Some(own) = self.clients.get_mut(&client) else {
            return;
        };
        let place = own.subscriptions.iter().position(|s| s.number == number);
        if let Some(place) = place {
            let removed = own.subscriptions.remove(place);
            self.candidates.wanted.remove(&removed.predicate);
            removed.single.release(subscriptions);
        }
    }

    /// A client has no subscriptions any more. Its row's next client begins anew.
    pub fn forget(&mut self, client: ClientRow) {
        self.clients.remove(&client);
        self.history.remove(&client);
    }

    /// Clients whose time here is over, ascending: as many as have `filters_max` filters
    /// together, but at least one. Gives the numbers of their subscriptions, which are not here
    /// any more.
    pub fn take_due(
        &mut self,
        filters_max: usize,
        subscriptions: &mut Subscriptions,
    ) -> Vec<(ClientRow, Vec<u32>)> {
        let mut due = vec![];
        let mut filters = 0;
        for (&client, own) in &self.clients {
            if own.until > self.ticks {
                continue;
            }
            let own = own.subscriptions.iter();
            filters += own.map(|s| s.predicate.filters.len()).sum::<usize>();
            if filters > filters_max && !due.is_empty() {
                break;
            }
            due.push(client);
        }
        let mut take = |client| {
            let own = self.clients.remove(&client)?;
            self.history
                .entry(client)
                .and_modify(|stay| stay.until = self.ticks);
            let numbers = own.subscriptions.into_iter().map(|removed| {
                self.candidates.wanted.remove(&removed.predicate);
                removed.single.release(subscriptions);
                removed.number
            });
            Some((client, numbers.collect()))
        };
        due.into_iter().filter_map(&mut take).collect()
    }

    /// Begins a tick.
    pub fn begin(&mut self) {
        self.work = 0;
        self.ticks += 1;
        for own in self.clients.values_mut() {
            own.from = 0;
        }
    }

    /// Adds the notices of all clients here, at a cost of `budget` at most.
    pub fn listen(
        &mut self,
        budget: u64,
        (clients, notices): (&mut Clients, &mut Notices),
        subscriptions: &mut Subscriptions,
        output: &TickOutput,
        before: &impl Before,
    ) {
        let Apart {
            clients: all,
            candidates,
            resolved,
            values,
            work,
            ..
        } = self;
        let mut active: Vec<Active> = all
            .iter()
            .filter(|(client, own)| !clients.is_full(**client) && !own.subscriptions.is_empty())
            .map(|(&client, own)| Active {
                client,
                own,
                share: 0,
                spent: 0,
            })
            .collect();
        if active.is_empty() {
            return;
        }
        let share = budget / active.len() as u64;
        for one in &mut active {
            one.share = share;
        }
        let mut left = 0;
        let mut events = Events::of(output);
        candidates.begin();
        while !active.is_empty() {
            let has_more = events.fill(candidates, clients, output, before);
            subscriptions.resolve(&candidates.batch, resolved);
            for (i, candidate) in candidates.list.iter_mut().enumerate() {
                if active.is_empty() {
                    break;
                }
                values.set(candidates.batch.attributes_of(i), resolved);
                for one in &mut active {
                    let matched = one.matches(candidate, values, resolved);
                    add(one.client, &matched, candidate, clients, notices);
                }
                let count = active.len() as u64;
                active.retain_mut(|one| {
                    let is_full = clients.is_full(one.client);
                    if !is_full && one.spent > one.share {
                        let more = left / count;
                        left -= more;
                        one.share += more;
                    }
                    let is_cut = !is_full && one.spent > one.share;
                    if is_cut {
                        notices.cut.push(one.client.0);
                    }
                    if is_full {
                        left += one.share.saturating_sub(one.spent);
                    }
                    if is_full || is_cut {
                        *work += one.spent;
                    }
                    !(is_full || is_cut)
                });
            }
            notices.matched += candidates.len() as u64;
            candidates.clear();
            if !has_more {
                break;
            }
        }
        *work += active.iter().map(|one| one.spent).sum::<u64>();
        notices.cut.sort_unstable();
    }
}

impl Active<'_> {
    /// The ids of the subscriptions that an event matches.
    fn matches(
        &mut self,
        candidate: &Candidate,
        values: &Values,
        resolved: &ResolvedStrings,
    ) -> Vec<u32> {
        let mut matched = vec![];
        if candidate.number < self.own.from {
            return matched;
        }
        self.spent += 1;
        if candidate.only.is_some_and(|only| only != self.client) {
            return matched;
        }
        for subscription in &self.own.subscriptions {
            self.spent += 1;
            if !subscription.sorts.has(candidate.sort) {
                continue;
            }
            let (matches, compared) = subscription.single.matches(values, resolved);
            self.spent += compared;
            if matches {
                matched.push(subscription.id);
            }
        }
        matched
    }
}

/// Adds a notice for a client, if any of its subscriptions match.
fn add(
    client: ClientRow,
    matched: &[u32],
    candidate: &mut Candidate,
    clients: &mut Clients,
    notices: &mut Notices,
) {
    if matched.is_empty() {
        return;
    }
    let place = candidate.place.unwrap_or(notices.next_place());
    if !clients.count(client, place) {
        return;
    }
    if candidate.place.is_none() {
        notices.push(candidate.notice);
        candidate.place = Some(place);
    }
    for &id in matched {
        notices.add_match(client, place, id);
    }
}

/// The events of a tick, in order, as far as they have been looked at.
struct Events {
    notification: usize,
    row: usize,
    /// Of the row's changes.
    change: usize,
    notifications: usize,
    rows: usize,
}

impl Events {
    fn of(output: &TickOutput) -> Events {
        Events {
            notification: 0,
            row: 0,
            change: 0,
            notifications: output.notifications.len(),
            rows: output.changes.slots.len(),
        }
    }

    /// Adds the next ones that are wanted, up to a batch. False if there are no more.
    fn fill(
        &mut self,
        candidates: &mut Candidates,
        clients: &Clients,
        output: &TickOutput,
        before: &impl Before,
    ) -> bool {
        while candidates.len() < BATCH_LEN {
            if self.notification < self.notifications {
                candidates.add_notification(clients, output, before, self.notification);
                self.notification += 1;
                continue;
            }
            if self.row == self.rows {
                return false;
            }
            let changes = &output.changes;
            let [start, end] = [0, 1].map(|i| changes.offsets[self.row + i] as usize);
            if start + self.change >= end {
                (self.row, self.change) = (self.row + 1, 0);
                continue;
            }
            let column = changes.columns[start + self.change];
            let kind = before.kind(shared::Slot(changes.slots[self.row]));
            if candidates.wanted.columns(kind).has(column.into()) {
                candidates.add_change(clients, output, before, (self.row, self.change));
            }
            self.change += 1;
        }
        true
    }
}

/// For how many ticks a client is matched apart.
fn stay_ticks(count: u32) -> u64 {
    STAY_TICKS << count.min(STAYS_LONGER)
}

/// Few, since most clients here have all their notices soon.
const BATCH_LEN: usize = 64;
const STAY_TICKS: u64 = 16;
/// So often a stay is twice as long as the one before.
const STAYS_LONGER: u32 = 6;
