//! The registry of subscriptions: clients subscribe from any thread, while ticks are matched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::predicate::{
    Constraint, Operator, Predicate, PredicateLimits, TextError, Value, WorldNames,
};
use shared::{Audience, ClientRow, EntityId, WorldConfig};
use thiserror::Error;

use super::ranges::Ranges;

/// Adds and ends subscriptions. Clones share one registry.
///
/// The time of each call is proportional to the predicate or to the entries that end, however many
/// subscriptions there are. No call waits for a tick that is being matched: it takes effect
/// with the next tick whose matching begins.
#[derive(Clone)]
pub struct SubscriptionRegistry(Arc<Shared>);

struct Shared {
    names: WorldNames,
    limits: RegistryLimits,
    /// By name: whether only an entity's own client may know its values.
    private: Vec<bool>,
    ranges: Ranges,
    records: Mutex<Records>,
}

/// Limits on the number and size of a world's subscriptions.
#[derive(Clone, Copy, Debug)]
pub struct RegistryLimits {
    pub clients: u32,
    pub per_client: usize,
    pub text_bytes: usize,
    pub predicate: PredicateLimits,
    /// Subscriptions of all clients together.
    pub subscriptions: usize,
    /// Filters of all subscriptions.
    pub filters: usize,
    /// Constraints of all filters.
    pub constraints: usize,
}

/// Why a subscription is rejected.
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

/// The client has no subscription of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no subscription {0}")]
pub struct UnsubscribeError(pub u32);

/// A change of the registry, which the next tick applies.
pub enum Edit {
    Add {
        number: u32,
        client: ClientRow,
        id: u32,
        predicate: Predicate,
    },
    Remove {
        number: u32,
    },
    SetEntity {
        client: ClientRow,
        entity: Option<EntityId>,
    },
}

/// The subscriptions of each client.
#[derive(Default)]
struct Records {
    /// By client, then by the client's own number.
    clients: Vec<BTreeMap<u32, Record>>,
    next_number: u32,
    free_numbers: Vec<u32>,
    subscriptions: usize,
    filters: usize,
    constraints: usize,
    /// Edits since the last tick, in order.
    edits: Vec<Edit>,
}

/// A subscription.
#[derive(Clone, Copy)]
struct Record {
    /// Below [`RegistryLimits::subscriptions`].
    number: u32,
    filters: usize,
    constraints: usize,
}

impl RegistryLimits {
    pub fn new(config: &WorldConfig) -> RegistryLimits {
        let limits = &config.limits;
        let per_client = limits.subscriptions_per_client as usize;
        let all = (limits.clients as usize).saturating_mul(per_client);
        let filters = all.saturating_mul(limits.predicate_filters as usize);
        let filters = filters.min(FILTERS_MAX);
        RegistryLimits {
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

impl SubscriptionRegistry {
    pub fn new(config: &WorldConfig, names: WorldNames) -> SubscriptionRegistry {
        let mut private = vec![false; names.vocabulary.len()];
        for (name, attribute) in names.columns.iter().zip(&config.schema.attributes) {
            if let Some(name) = name {
                private[usize::from(name.0)] = attribute.audience == Audience::Private;
            }
        }
        SubscriptionRegistry(Arc::new(Shared {
            ranges: Ranges::new(&config.schema, &names),
            names,
            limits: RegistryLimits::new(config),
            private,
            records: Mutex::new(Records {
                clients: vec![BTreeMap::new(); config.limits.clients as usize],
                ..Records::default()
            }),
        }))
    }

    pub fn limits(&self) -> &RegistryLimits {
        &self.0.limits
    }

    /// The names that predicates may use.
    pub fn names(&self) -> &WorldNames {
        &self.0.names
    }

    /// Subscribes a client: from the next tick on, it gets a notice of each change and
    /// notification that it may know and that the predicate matches. `id` is the client's
    /// own number of the subscription.
    pub fn subscribe(&self, client: ClientRow, id: u32, text: &str) -> Result<(), SubscribeError> {
        let limits = &self.0.limits;
        if client.0 >= limits.clients {
            return Err(SubscribeError::Client(client.0));
        }
        if text.len() > limits.text_bytes {
            let (found, limit) = (text.len(), limits.text_bytes);
            return Err(SubscribeError::LongText { found, limit });
        }
        // Before the text is read, which takes longer.
        self.0.records().check(client, id, limits)?;
        let mut predicate = Predicate::parse(text, &self.0.names.vocabulary, &limits.predicate)?;
        self.0.confine(client, &mut predicate);
        for filter in &mut predicate.filters {
            self.0.ranges.narrow(filter);
        }
        let filters = predicate.filters.len();
        let constraints = predicate.filters.iter().map(|f| f.constraints.len()).sum();

        let mut records = self.0.records();
        records.check(client, id, limits)?;
        if records.subscriptions + 1 > limits.subscriptions
            || records.filters + filters > limits.filters
            || records.constraints + constraints > limits.constraints
        {
            return Err(SubscribeError::Full);
        }
        records.subscriptions += 1;
        records.filters += filters;
        records.constraints += constraints;
        let number = records.take_number();
        let record = Record {
            number,
            filters,
            constraints,
        };
        records.clients[client.index()].insert(id, record);
        records.edits.push(Edit::Add {
            number,
            client,
            id,
            predicate,
        });
        Ok(())
    }

    /// Ends a subscription.
    pub fn unsubscribe(&self, client: ClientRow, id: u32) -> Result<(), UnsubscribeError> {
        let mut records = self.0.records();
        let own = records.clients.get_mut(client.index());
        let record = own.and_then(|own| own.remove(&id));
        records.end(record.ok_or(UnsubscribeError(id))?);
        Ok(())
    }

    /// Sets the client's own entity, whose private attributes it may know.
    pub fn set_entity(&self, client: ClientRow, entity: Option<EntityId>) {
        if client.0 < self.0.limits.clients {
            let edit = Edit::SetEntity { client, entity };
            self.0.records().edits.push(edit);
        }
    }

    /// Ends all subscriptions of a client, and removes its own entity. Both happen at once,
    /// so that the next client in this row never has the entity.
    pub fn forget(&self, client: ClientRow) {
        let mut records = self.0.records();
        let Some(own) = records.clients.get_mut(client.index()) else {
            return;
        };
        for record in std::mem::take(own).values() {
            records.end(*record);
        }
        let entity = None;
        records.edits.push(Edit::SetEntity { client, entity });
    }

    /// The number of subscriptions of all clients together.
    pub fn subscriptions(&self) -> usize {
        self.0.records().subscriptions
    }

    /// Moves the edits since the last call to `edits`, which must be empty.
    pub(super) fn take_edits(&self, edits: &mut Vec<Edit>) {
        std::mem::swap(&mut self.0.records().edits, edits);
    }

    /// Ends a subscription for which the matcher had no room, if it still exists.
    pub(super) fn end_lost(&self, client: ClientRow, id: u32, number: u32) {
        let mut records = self.0.records();
        let Some(own) = records.clients.get_mut(client.index()) else {
            return;
        };
        if own.get(&id).is_some_and(|record| record.number == number)
            && let Some(record) = own.remove(&id)
        {
            records.end(record);
        }
    }
}

impl Shared {
    /// Restricts filters that name a private attribute to the client's own entity, by a
    /// name that no text can contain.
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

    /// Poison is ignored: the records are consistent wherever a panic may happen.
    fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    /// Whether a client may have one more subscription, under this number.
    fn check(
        &self,
        client: ClientRow,
        id: u32,
        limits: &RegistryLimits,
    ) -> Result<(), SubscribeError> {
        let own = &self.clients[client.index()];
        if own.contains_key(&id) {
            return Err(SubscribeError::Exists(id));
        }
        if own.len() >= limits.per_client {
            let limit = limits.per_client;
            return Err(SubscribeError::TooMany { limit });
        }
        Ok(())
    }

    fn take_number(&mut self) -> u32 {
        self.free_numbers.pop().unwrap_or_else(|| {
            self.next_number += 1;
            self.next_number - 1
        })
    }

    /// Ends a subscription. Its number may be reused at once, since edits are applied in
    /// order.
    fn end(&mut self, record: Record) {
        self.subscriptions -= 1;
        self.filters -= record.filters;
        self.constraints -= record.constraints;
        self.free_numbers.push(record.number);
        let number = record.number;
        self.edits.push(Edit::Remove { number });
    }
}

/// Constraints of one filter, without those that the registry adds.
const CONSTRAINTS_PER_FILTER_MAX: usize = 16;
/// Filters of all subscriptions: their index takes about 70 MB.
const FILTERS_MAX: usize = 1 << 18;
const CONSTRAINTS_MAX: usize = 1 << 20;
