//! Where clients subscribe: from any thread, while ticks are matched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::content::{
    Constraint, Operator, Predicate, PredicateLimits, TextError, Value, WorldNames,
};
use shared::{Audience, ClientRow, EntityId, WorldConfig};
use thiserror::Error;

use super::ranges::Ranges;

/// Takes and ends subscriptions. A clone is the same desk.
///
/// Everything takes time in proportion to what is asked for, however many
/// subscriptions there are, and never waits for a tick that is being matched: what
/// was accepted counts from the next tick on whose matching begins after that.
#[derive(Clone)]
pub struct Desk(Arc<Office>);

struct Office {
    names: WorldNames,
    limits: DeskLimits,
    /// By name: whether only an entity's own client may know its values.
    private: Vec<bool>,
    ranges: Ranges,
    ledger: Mutex<Ledger>,
}

/// What a world's subscriptions may come to.
#[derive(Clone, Copy, Debug)]
pub struct DeskLimits {
    pub clients: u32,
    pub per_client: usize,
    pub text_bytes: usize,
    pub predicate: PredicateLimits,
    /// Of all clients together.
    pub subscriptions: usize,
    pub filters: usize,
    pub constraints: usize,
}

/// Why a client is not subscribed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SubscribeError {
    #[error("a text of {found} bytes, where at most {limit} are allowed")]
    LongText { found: usize, limit: usize },
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("subscription {0} exists already: end it first")]
    Exists(u32),
    #[error("{limit} subscriptions already: end one first")]
    TooMany { limit: usize },
    #[error("there is no room for more subscriptions in this world")]
    Full,
    #[error("client row {0} does not exist")]
    Client(u32),
}

/// There is no such subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no subscription {0}")]
pub struct UnsubscribeError(pub u32);

/// What was asked for since the last tick, in order.
pub enum Request {
    Add {
        number: u32,
        client: ClientRow,
        id: u32,
        predicate: Predicate,
    },
    Remove {
        number: u32,
    },
    Embody {
        client: ClientRow,
        entity: Option<EntityId>,
    },
}

/// Who has which subscription.
#[derive(Default)]
struct Ledger {
    /// By client, then by the client's own number.
    clients: Vec<BTreeMap<u32, Entry>>,
    next_number: u32,
    free_numbers: Vec<u32>,
    subscriptions: usize,
    filters: usize,
    constraints: usize,
    requests: Vec<Request>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// Below [`DeskLimits::subscriptions`].
    number: u32,
    filters: usize,
    constraints: usize,
}

impl DeskLimits {
    pub fn new(config: &WorldConfig) -> DeskLimits {
        let limits = &config.limits;
        let per_client = limits.subscriptions_per_client as usize;
        let all = (limits.clients as usize).saturating_mul(per_client);
        let filters = all.saturating_mul(limits.predicate_filters as usize);
        let filters = filters.min(FILTERS_MAX);
        DeskLimits {
            clients: limits.clients,
            per_client,
            text_bytes: limits.predicate_bytes as usize,
            predicate: PredicateLimits {
                filters: limits.predicate_filters as usize,
                constraints_per_filter: CONSTRAINTS_PER_FILTER_MAX,
                ..PredicateLimits::default()
            },
            subscriptions: all.min(FILTERS_MAX),
            filters,
            constraints: (filters * (CONSTRAINTS_PER_FILTER_MAX + 2)).min(CONSTRAINTS_MAX),
        }
    }
}

impl Desk {
    pub fn new(config: &WorldConfig, names: WorldNames) -> Desk {
        let mut private = vec![false; names.vocabulary.len()];
        for (name, attribute) in names.columns.iter().zip(&config.schema.attributes) {
            if let Some(name) = name {
                private[usize::from(name.0)] = attribute.audience == Audience::Private;
            }
        }
        Desk(Arc::new(Office {
            ranges: Ranges::new(&config.schema, &names),
            names,
            limits: DeskLimits::new(config),
            private,
            ledger: Mutex::new(Ledger {
                clients: vec![BTreeMap::new(); config.limits.clients as usize],
                ..Ledger::default()
            }),
        }))
    }

    pub fn limits(&self) -> &DeskLimits {
        &self.0.limits
    }

    /// The names that predicates may use.
    pub fn names(&self) -> &WorldNames {
        &self.0.names
    }

    /// From the next tick on, the client is told of whatever satisfies the predicate
    /// and is any of its business. `id` is the client's own number for it.
    pub fn subscribe(&self, client: ClientRow, id: u32, text: &str) -> Result<(), SubscribeError> {
        let limits = &self.0.limits;
        if client.0 >= limits.clients {
            return Err(SubscribeError::Client(client.0));
        }
        if text.len() > limits.text_bytes {
            let (found, limit) = (text.len(), limits.text_bytes);
            return Err(SubscribeError::LongText { found, limit });
        }
        let mut predicate = Predicate::parse(text, &self.0.names.vocabulary, &limits.predicate)?;
        self.0.confine(client, &mut predicate);
        for filter in &mut predicate.filters {
            self.0.ranges.narrow(filter);
        }
        let filters = predicate.filters.len();
        let constraints = predicate.filters.iter().map(|f| f.constraints.len()).sum();

        let mut ledger = self.0.ledger();
        let own = &ledger.clients[client.index()];
        if own.contains_key(&id) {
            return Err(SubscribeError::Exists(id));
        }
        if own.len() >= limits.per_client {
            let limit = limits.per_client;
            return Err(SubscribeError::TooMany { limit });
        }
        if ledger.subscriptions + 1 > limits.subscriptions
            || ledger.filters + filters > limits.filters
            || ledger.constraints + constraints > limits.constraints
        {
            return Err(SubscribeError::Full);
        }
        ledger.subscriptions += 1;
        ledger.filters += filters;
        ledger.constraints += constraints;
        let number = ledger.take_number();
        let entry = Entry {
            number,
            filters,
            constraints,
        };
        ledger.clients[client.index()].insert(id, entry);
        ledger.requests.push(Request::Add {
            number,
            client,
            id,
            predicate,
        });
        Ok(())
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, client: ClientRow, id: u32) -> Result<(), UnsubscribeError> {
        let mut ledger = self.0.ledger();
        let own = ledger.clients.get_mut(client.index());
        let entry = own.and_then(|own| own.remove(&id));
        let entry = entry.ok_or(UnsubscribeError(id))?;
        ledger.end(entry);
        Ok(())
    }

    /// Says which entity is the client's own: whose private attributes it may know.
    pub fn embody(&self, client: ClientRow, entity: Option<EntityId>) {
        if client.0 < self.0.limits.clients {
            let request = Request::Embody { client, entity };
            self.0.ledger().requests.push(request);
        }
    }

    /// Ends all of a client's subscriptions; it has no entity of its own any more. Both
    /// at once: whoever gets its row next never has the entity.
    pub fn forget(&self, client: ClientRow) {
        let mut ledger = self.0.ledger();
        let Some(own) = ledger.clients.get_mut(client.index()) else {
            return;
        };
        for entry in std::mem::take(own).values() {
            ledger.end(*entry);
        }
        let entity = None;
        ledger.requests.push(Request::Embody { client, entity });
    }

    /// Subscriptions of all clients.
    pub fn subscriptions(&self) -> usize {
        self.0.ledger().subscriptions
    }

    /// What was asked for since the last time, in `requests`, which must be empty.
    pub(super) fn take_requests(&self, requests: &mut Vec<Request>) {
        std::mem::swap(&mut self.0.ledger().requests, requests);
    }

    /// Ends a subscription for which the index had no room, if it is still there.
    pub(super) fn lose(&self, client: ClientRow, id: u32, number: u32) {
        let mut ledger = self.0.ledger();
        let Some(own) = ledger.clients.get_mut(client.index()) else {
            return;
        };
        if own.get(&id).is_some_and(|entry| entry.number == number)
            && let Some(entry) = own.remove(&id)
        {
            ledger.end(entry);
        }
    }
}

impl Office {
    /// A filter that names a private attribute is only ever satisfied by the client's
    /// own entity. It says so by a name that no text means.
    fn confine(&self, client: ClientRow, predicate: &mut Predicate) {
        let is_private = |c: &Constraint| self.private[usize::from(c.name.0)];
        for filter in &mut predicate.filters {
            if filter.constraints.iter().any(is_private) {
                filter.constraints.push(Constraint {
                    name: self.names.client,
                    operator: Operator::Equal,
                    value: Value::Integer(i64::from(client.0)),
                });
            }
        }
    }

    /// It is whole after each line that changes it, so a panic elsewhere does no harm.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn take_number(&mut self) -> u32 {
        self.free_numbers.pop().unwrap_or_else(|| {
            self.next_number += 1;
            self.next_number - 1
        })
    }

    /// Its number may be taken anew at once: requests are answered in order.
    fn end(&mut self, entry: Entry) {
        self.subscriptions -= 1;
        self.filters -= entry.filters;
        self.constraints -= entry.constraints;
        self.free_numbers.push(entry.number);
        let number = entry.number;
        self.requests.push(Request::Remove { number });
    }
}

/// Constraints of one filter.
const CONSTRAINTS_PER_FILTER_MAX: usize = 16;
/// Of a world's subscriptions together: some 70 MB of index.
const FILTERS_MAX: usize = 1 << 18;
const CONSTRAINTS_MAX: usize = 1 << 20;
