//! Requests that wait for their answers, and how many are answered in a tick.
//!
//! Clients share the time that a tick has for requests: each gets as much of it as any other
//! that waits, whatever its requests cost. So a cheap request is answered at once, though
//! other clients have many dear ones waiting (weighted fair queueing, with prices in place of
//! lengths).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use frontend::inbox::PendingRequest;
use frontend::inbox::SessionKey;
use frontend::publication::SessionEvent;
use shared::predicate::filters_at_most;
use shared::wire::request::{Answer, RequestBody};
use shared::{ClientRow, WorldConfig};

use super::directory::{Directory, Presence};
use super::holdings::RequestError;

/// The requests of all clients.
pub struct RequestQueue {
    /// By row, so that what waits for one client is one connection's share.
    clients: HashMap<ClientRow, Waiting>,
    /// A turn for the oldest request of each client: the price that it will have paid by
    /// then, and the number of the turn, which decides between equal ones. A client that
    /// goes on with another connection leaves its turn behind.
    turns: BinaryHeap<Reverse<(u64, u64, ClientRow)>>,
    turns_given: u64,
    /// What a client has paid by now that was answered as late as any. One that asks for the
    /// first time begins with it.
    paid: u64,
    prices: Prices,
}

/// The requests of a client, oldest first.
struct Waiting {
    /// The session that sent them.
    place: SessionKey,
    requests: VecDeque<Priced>,
    /// The number of its turn.
    turn: u64,
    /// The price of its answered requests, on top of what everybody has paid.
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
            turns_given: 0,
            paid: 0,
            prices: Prices::new(config),
        }
    }

    /// Takes in requests of a shard's sessions.
    pub fn push(
        &mut self,
        directory: &Directory,
        shard: usize,
        requests: impl Iterator<Item = PendingRequest>,
    ) {
        for request in requests {
            let (client, place) = (request.client, (shard, request.session));
            // The row may have gone on with another connection: nobody is there to be
            // answered.
            if !directory.is_at(client, place) {
                continue;
            }
            let new = || Waiting {
                place,
                requests: VecDeque::new(),
                turn: 0,
                paid: self.paid,
            };
            let waiting = self.clients.entry(client).or_insert_with(new);
            if waiting.place != place {
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
    /// answers into `events`, by shard, and says how many are rejections.
    pub fn answer(
        &mut self,
        directory: &mut Directory,
        mut grant: impl FnMut(
            &mut Directory,
            ClientRow,
            &Presence,
            &RequestBody,
        ) -> Result<(), RequestError>,
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
            let place = waiting.place;
            let presence = directory.presence(client);
            let presence = presence.filter(|_| directory.is_at(client, place));
            let (Some(presence), Some(request)) = (presence, waiting.requests.pop_front()) else {
                // It is gone since it asked.
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
            let answer = Answer {
                request: request.number,
                result: granted.map_err(|error| error.to_string()),
            };
            let (shard, session) = place;
            events.push((shard, SessionEvent::Answered { session, answer }));
        }
        if self.turns.is_empty() {
            // Nobody waits, so nobody is behind another.
            self.clients.clear();
            self.paid = 0;
        }
        rejected
    }

    /// Puts the oldest request of a client, if there is one, into its place among those of
    /// all.
    fn give_turn(&mut self, client: ClientRow) {
        let Some(waiting) = self.clients.get_mut(&client) else {
            return;
        };
        let Some(oldest) = waiting.requests.front() else {
            return;
        };
        let paid = waiting.paid + oldest.price;
        self.turns_given += 1;
        waiting.turn = self.turns_given;
        self.turns.push(Reverse((paid, waiting.turn, client)));
    }
}

/// What requests cost, in units of some two microseconds.
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

    /// A request and, for a subscription, its end. A text with more filters than are allowed
    /// is rejected before they are multiplied out.
    fn of(&self, request: &PendingRequest) -> u64 {
        let predicate = match &request.body {
            Ok(RequestBody::Subscribe { predicate, .. }) => predicate,
            // A channel has many members.
            Ok(RequestBody::Talk(_)) => return TALK_PRICE,
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
