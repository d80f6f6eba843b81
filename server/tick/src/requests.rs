//! The queue of unanswered requests, and its budget in a tick.
//!
//! Waiting clients share a tick's time for requests evenly, whatever their requests cost. So a cheap
//! request is answered at once, though other clients have many expensive ones waiting (weighted fair
//! queueing, with prices in place of lengths).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use frontend::inbox::PendingRequest;
use frontend::inbox::SessionKey;
use frontend::publication::SessionEvent;
use shared::predicate::filters_at_most;
use shared::wire::request::{Answer, GivenText, RequestBody};
use shared::{ClientRow, WorldConfig};

use super::directory::{Directory, Presence};
use super::holdings::RequestError;

/// The requests of all clients.
pub struct RequestQueue {
    /// By row, so that only one connection of a client has requests waiting.
    clients: HashMap<ClientRow, Waiting>,
    /// A turn for the oldest request of each client: the price that the client will have paid by
    /// then, and the number of the turn, which breaks ties. The turn of a client that changed
    /// its connection is stale.
    turns: BinaryHeap<Reverse<(u64, u64, ClientRow)>>,
    turns_count: u64,
    /// The highest price that an answered client had paid. New clients begin with it.
    paid: u64,
    prices: Prices,
}

/// What a granted request gives its client.
pub enum Granted {
    Plainly,
    Texts(Vec<GivenText>),
}

impl From<()> for Granted {
    fn from((): ()) -> Granted {
        Granted::Plainly
    }
}

/// The requests of a client, oldest first.
struct Waiting {
    /// The session that sent them.
    session: SessionKey,
    requests: VecDeque<Priced>,
    /// The number of its turn.
    turn: u64,
    /// The price of its answered requests, on top of the price at which it began.
    paid: u64,
}

struct Priced {
    request: PendingRequest,
    price: u64,
}

impl RequestQueue {
    pub fn new(config: &WorldConfig) -> RequestQueue {
        RequestQueue {
            clients: HashMap::new(),
            turns: BinaryHeap::new(),
            turns_count: 0,
            paid: 0,
            prices: Prices::new(config),
        }
    }

    /// Enqueues requests of a shard's sessions.
    pub fn push(
        &mut self,
        directory: &Directory,
        shard: usize,
        requests: impl Iterator<Item = PendingRequest>,
    ) {
        for request in requests {
            let (client, session) = (request.client, (shard, request.session));
            // The row may have another connection by now: the sender is gone.
            if !directory.is_session_of(client, session) {
                continue;
            }
            let new = || Waiting {
                session,
                requests: VecDeque::new(),
                turn: 0,
                paid: self.paid,
            };
            let waiting = self.clients.entry(client).or_insert_with(new);
            if waiting.session != session {
                *waiting = new();
            }
            let price = self.prices.of(&request);
            waiting.requests.push_back(Priced { request, price });
            if waiting.requests.len() == 1 {
                waiting.paid = waiting.paid.max(self.paid);
                self.give_turn(client);
            }
        }
    }

    /// Grants or rejects requests, as many as one tick can afford; the others wait. Puts the
    /// answers into `events`, by shard, and returns the number of rejections.
    pub fn answer<G: Into<Granted>>(
        &mut self,
        directory: &mut Directory,
        mut grant: impl FnMut(
            &mut Directory,
            ClientRow,
            &Presence,
            &RequestBody,
        ) -> Result<G, RequestError>,
        events: &mut Vec<(usize, SessionEvent)>,
    ) -> u64 {
        let mut rejected = 0;
        let mut price = 0;
        while price < TICK_PRICE_MAX
            && let Some(Reverse((_, turn, client))) = self.turns.pop()
        {
            let Some(waiting) = self.clients.get_mut(&client).filter(|w| w.turn == turn) else {
                continue;
            };
            let session = waiting.session;
            let presence = directory.presence(client);
            let presence = presence.filter(|_| directory.is_session_of(client, session));
            let (Some(presence), Some(request)) = (presence, waiting.requests.pop_front()) else {
                // The client has left since.
                self.clients.remove(&client);
                continue;
            };
            self.paid = self.paid.max(waiting.paid);
            waiting.paid += request.price;
            price += request.price;
            let request = request.request;
            let granted = match request.body {
                Ok(body) => grant(directory, request.client, &presence, &body),
                Err(error) => Err(error.into()),
            };
            self.give_turn(client);
            rejected += u64::from(granted.is_err());
            let (shard, session) = session;
            let answered = |result| SessionEvent::Answered {
                session,
                answer: Answer {
                    request: request.number,
                    result,
                },
            };
            let event = match granted.map(G::into) {
                Ok(Granted::Plainly) => answered(Ok(())),
                Ok(Granted::Texts(texts)) => SessionEvent::Texts {
                    session,
                    request: request.number,
                    texts,
                },
                Err(error) => answered(Err(error.to_string())),
            };
            events.push((shard, event));
        }
        if self.turns.is_empty() {
            // No client waits, so none is behind another.
            self.clients.clear();
            self.paid = 0;
        }
        rejected
    }

    /// Gives the oldest request of a client, if it has one, a turn among those of all.
    fn give_turn(&mut self, client: ClientRow) {
        let Some(waiting) = self.clients.get_mut(&client) else {
            return;
        };
        let Some(oldest) = waiting.requests.front() else {
            return;
        };
        let paid = waiting.paid + oldest.price;
        self.turns_count += 1;
        waiting.turn = self.turns_count;
        self.turns.push(Reverse((paid, waiting.turn, client)));
    }
}

/// The prices of requests, in units of some two microseconds.
struct Prices {
    filters_max: u64,
    /// For one filter.
    filter: u64,
}

impl Prices {
    fn new(config: &WorldConfig) -> Prices {
        let schema = &config.schema;
        let columns = (schema.kinds.len() * schema.attributes.len()) as u64;
        Prices {
            filters_max: u64::from(config.limits.predicate_filters),
            filter: FILTER_PRICE + columns / COLUMNS_PER_PRICE,
        }
    }

    /// The price of a request; for a subscription, including its end. A text with more filters
    /// than allowed is rejected before they are multiplied out.
    fn of(&self, request: &PendingRequest) -> u64 {
        let predicate = match &request.body {
            Ok(RequestBody::Subscribe { predicate, .. }) => predicate,
            // A channel has many members.
            Ok(RequestBody::Talk(_) | RequestBody::Text { .. }) => return TALK_PRICE,
            Ok(RequestBody::TextsOf { handles }) => return 1 + handles.len() as u64,
            _ => return 1,
        };
        let filters = (filters_at_most(predicate) as u64).min(self.filters_max);
        SUBSCRIBE_PRICE + filters * self.filter + predicate.len() as u64 / BYTES_PER_PRICE
    }
}

/// The price of all requests that one tick answers: some milliseconds.
const TICK_PRICE_MAX: u64 = 8192;
const SUBSCRIBE_PRICE: u64 = 12;
const TALK_PRICE: u64 = 16;
const FILTER_PRICE: u64 = 4;
/// Kinds of entities times attributes; a filter may match each.
const COLUMNS_PER_PRICE: u64 = 128;
const BYTES_PER_PRICE: u64 = 16;

#[cfg(test)]
mod tests;
