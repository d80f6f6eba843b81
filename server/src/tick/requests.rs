//! Requests that wait for their answers, and how many are answered in a tick.

use std::collections::VecDeque;

use shared::WorldConfig;
use shared::wire::request::{Answer, RequestBody};

use super::directory::Directory;
use super::holdings::{Holdings, RequestError};
use super::inbox::PendingRequest;
use super::publication::SessionEvent;

/// The requests of all clients, by shard, oldest first.
pub struct RequestQueue {
    waiting: VecDeque<(usize, PendingRequest)>,
    prices: Prices,
}

impl RequestQueue {
    pub fn new(config: &WorldConfig) -> RequestQueue {
        RequestQueue {
            waiting: VecDeque::new(),
            prices: Prices::new(config),
        }
    }

    pub fn push(&mut self, shard: usize, requests: impl Iterator<Item = PendingRequest>) {
        self.waiting
            .extend(requests.map(|request| (shard, request)));
    }

    /// Grants or rejects the oldest requests, as many as one tick can afford; the others
    /// wait. Puts the answers into `events`, by shard, and says how many are rejections.
    pub fn answer(
        &mut self,
        directory: &Directory,
        holdings: &mut Holdings,
        events: &mut Vec<(usize, SessionEvent)>,
    ) -> u64 {
        // A row may have gone on with another connection: then nobody is there to be
        // answered, and what waits for one client must not exceed one connection's share.
        self.waiting
            .retain(|(shard, request)| directory.is_at(request.client, (*shard, request.session)));
        let mut rejected = 0;
        let mut price = 0;
        while price < TICK_PRICE_MAX
            && let Some((shard, request)) = self.waiting.pop_front()
        {
            let Some(presence) = directory.presence(request.client) else {
                continue;
            };
            let body = request.body;
            price += body.as_ref().map_or(1, |body| self.prices.of(body));
            let granted = match body {
                Ok(body) => holdings.grant(request.client, &presence, &body),
                Err(error) => Err(RequestError::from(error)),
            };
            rejected += u64::from(granted.is_err());
            let answer = Answer {
                request: request.number,
                result: granted.map_err(|error| error.to_string()),
            };
            let session = request.session;
            events.push((shard, SessionEvent::Answered { session, answer }));
        }
        rejected
    }
}

/// What requests cost at most, in units of some two microseconds.
struct Prices {
    filters_max: usize,
    /// For one filter.
    filter: usize,
}

impl Prices {
    fn new(config: &WorldConfig) -> Prices {
        let schema = &config.schema;
        let columns = schema.kinds.len() * schema.attributes.len();
        Prices {
            filters_max: config.limits.predicate_filters as usize,
            filter: FILTER_PRICE + columns / COLUMNS_PER_PRICE,
        }
    }

    /// A request and, for a subscription, its end.
    fn of(&self, body: &RequestBody) -> usize {
        let RequestBody::Subscribe { predicate, .. } = body else {
            return 1;
        };
        // Each `||` doubles at most the number of filters, once all is multiplied out.
        let alternatives = predicate.matches("||").count();
        let filters = 1_usize << alternatives.min(usize::BITS as usize / 2);
        let filters = filters.min(self.filters_max);
        SUBSCRIBE_PRICE + filters * self.filter + predicate.len() / BYTES_PER_PRICE
    }
}

/// The price of all requests that one tick answers: some milliseconds.
const TICK_PRICE_MAX: usize = 8192;
const SUBSCRIBE_PRICE: usize = 12;
const FILTER_PRICE: usize = 4;
/// Kinds of entities times attributes; a filter may match each.
const COLUMNS_PER_PRICE: usize = 128;
const BYTES_PER_PRICE: usize = 16;
