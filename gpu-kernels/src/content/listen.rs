//! Content subscriptions in the tick: which clients are told of its changes and
//! notifications because they subscribed to them.
//!
//! A change becomes a notification of named values ([`WorldNames`]), if any subscription
//! may want it, and all of a tick's are matched together. Who subscribes does so at a
//! [`Desk`], on any thread, while a tick is matched.
//!
//! **What nobody may know, nobody can find out.** No predicate can name a hidden
//! attribute, and no notice tells of one. A filter that names a private attribute is
//! satisfied by nothing but what happens to the client's own entity. A change of a private
//! attribute is matched for that one client alone, whatever others' predicates say.
//!
//! **Nobody is told too much.** In one tick a client gets at most
//! `limits.client_notices_per_tick`, the first of them; what it gets does not depend on
//! what others asked for. Who has its fill is left out of the rest of the tick.

mod clients;
mod desk;
mod notices;
mod ranges;
mod wanted;
mod writer;

use shared::content::{Predicate, WorldNames};
use shared::{ClientRow, CommandKind, EntityId, Slot, WorldConfig};

use super::{AutoMatcher, Batch, CpuMatcher, Limits, Matches, SubscriptionId, Subscriptions};
use crate::backend::StartError;
use crate::output::TickOutput;
pub use desk::{Desk, DeskLimits, SubscribeError, UnsubscribeError};
pub use notices::{Notice, Notices, Told};

use clients::Clients;
use desk::Request;
use wanted::Wanted;
use writer::{Change, Subject, Writer};

/// A world's subscribers, and what is matched with them.
pub struct Listeners {
    desk: Desk,
    subscriptions: Subscriptions,
    matcher: Matcher,
    wanted: Wanted,
    writer: Writer,
    /// By number at the desk.
    held: Vec<Option<Held>>,
    clients: Clients,
    requests: Vec<Request>,
    /// What is in the batch.
    candidates: Vec<Candidate>,
    batch: Batch,
    matches: Matches,
    /// Notifications of a batch.
    batch_len: usize,
    /// An entity's attributes after the tick.
    row: Vec<i32>,
    /// By notification kind: its place in the schema.
    places: Vec<Option<usize>>,
    /// Pairs that found their client full, in this tick.
    surplus: usize,
    /// Whether some who have their fill are not in the index, in this tick.
    some_left_out: bool,
    notices: Notices,
}

/// The world as it was before the tick: as the ticks before told of it.
pub trait Before {
    /// Who lives or last lived in a slot.
    fn id(&self, slot: Slot) -> EntityId;
    fn kind(&self, slot: Slot) -> u16;
    /// All columns.
    fn row(&self, slot: Slot) -> &[i32];
}

enum Matcher {
    Cpu(CpuMatcher),
    Auto(Box<AutoMatcher>),
}

/// A subscription.
struct Held {
    client: ClientRow,
    /// The client's own number.
    id: u32,
    predicate: Predicate,
    /// None while it is left out, since its client has its fill.
    subscription: Option<SubscriptionId>,
}

/// Something that may be told.
struct Candidate {
    notice: Notice,
    /// Whom alone it may be told.
    only: Option<ClientRow>,
    /// Its place among the notices, once somebody is told of it.
    place: Option<u32>,
}

impl Listeners {
    /// Nobody listens yet; `None` where nobody can. A GPU is not touched unless it may
    /// be used; then each batch goes to the side that costs less.
    pub fn new(
        config: &WorldConfig,
        threads: usize,
        may_use_gpu: bool,
    ) -> Result<Option<Listeners>, StartError> {
        if config.limits.subscriptions_per_client == 0 {
            return Ok(None);
        }
        let schema = &config.schema;
        // A world file whose names don't do is refused.
        let names = WorldNames::new(schema)
            .map_err(|error| StartError::Subscriptions(error.to_string()))?;
        let desk = Desk::new(config, names);
        let names = desk.names();
        let limits = *desk.limits();
        let mut predicate = limits.predicate;
        // Whose own entity it must be is said by one more, and where by another.
        predicate.constraints_per_filter += 2;
        let mut subscriptions = Subscriptions::new(
            names.vocabulary.clone(),
            Limits {
                predicate,
                interfaces: limits.subscriptions,
                filters: limits.filters,
                constraints: limits.constraints,
            },
        );
        let matcher = match may_use_gpu {
            true => Matcher::Auto(Box::new(AutoMatcher::with_batches(
                &mut subscriptions,
                threads,
                BATCH_MAX,
                PAIRS_WANTED,
            )?)),
            false => Matcher::Cpu(CpuMatcher::new(threads)?),
        };
        let kinds = shared::NotificationKind::ALL.into_iter();
        let place = |kind| schema.notifications.iter().position(|n| n.kind == kind);
        Ok(Some(Listeners {
            wanted: Wanted::new(schema, names),
            writer: Writer::new(schema, names),
            subscriptions,
            matcher,
            // So that it never moves.
            held: Vec::with_capacity(limits.subscriptions),
            clients: Clients::new(config),
            requests: vec![],
            candidates: vec![],
            batch: Batch::new(),
            matches: Matches::new(),
            batch_len: 0,
            row: vec![],
            places: kinds.map(place).collect(),
            surplus: 0,
            some_left_out: false,
            notices: Notices::default(),
            desk,
        }))
    }

    /// Where clients subscribe.
    pub fn desk(&self) -> Desk {
        self.desk.clone()
    }

    /// Why no GPU is used, if one may be.
    pub fn why_no_gpu(&self) -> Option<&str> {
        match &self.matcher {
            Matcher::Cpu(_) => None,
            Matcher::Auto(matcher) => matcher.why_no_gpu(),
        }
    }

    /// Who is told of a tick. `before` must not have taken it in.
    pub fn listen(&mut self, output: &TickOutput, before: &impl Before) -> &Notices {
        self.notices.clear();
        self.answer_requests();
        self.begin();
        if self.subscriptions.interfaces() > 0 {
            self.offer(output, before);
            self.match_batch();
        }
        self.notices.full = self.clients.full() as u64;
        self.let_in_again();
        self.notices.finish();
        &self.notices
    }

    /// As [`Listeners::listen`], into notices that the caller may keep for as long as
    /// it likes; their memory is used again.
    pub fn listen_into(
        &mut self,
        output: &TickOutput,
        before: &impl Before,
        notices: &mut Notices,
    ) {
        self.listen(output, before);
        std::mem::swap(&mut self.notices, notices);
    }

    fn answer_requests(&mut self) {
        let mut requests = std::mem::take(&mut self.requests);
        self.desk.take_requests(&mut requests);
        for request in requests.drain(..) {
            match request {
                Request::Add {
                    number,
                    client,
                    id,
                    predicate,
                } => {
                    self.wanted.add(&predicate);
                    self.clients.count(client, true);
                    let place = number as usize;
                    if self.held.len() <= place {
                        self.held.resize_with(place + 1, || None);
                    }
                    self.held[place] = Some(Held {
                        client,
                        id,
                        predicate,
                        subscription: None,
                    });
                    self.let_in(number);
                }
                Request::Remove { number } => self.drop_held(number),
                Request::Embody { client, entity } => self.clients.embody(client, entity),
            }
        }
        self.requests = requests;
    }

    /// Puts a subscription into the index.
    fn let_in(&mut self, number: u32) {
        let Some(held) = &mut self.held[number as usize] else {
            return;
        };
        match self.subscriptions.subscribe(number, &held.predicate) {
            Ok(subscription) => held.subscription = Some(subscription),
            // The desk has seen to everything else.
            Err(_) => {
                let (client, id) = (held.client, held.id);
                self.notices.lost.push((client, id));
                // It asks for the removal of what is gone by then.
                self.desk.lose(client, id, number);
                self.drop_held(number);
            }
        }
    }

    fn drop_held(&mut self, number: u32) {
        let Some(held) = self.held.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        self.wanted.remove(&held.predicate);
        self.clients.count(held.client, false);
        if let Some(subscription) = held.subscription {
            self.subscriptions.unsubscribe(subscription);
        }
    }

    fn begin(&mut self) {
        self.surplus = 0;
        self.some_left_out = false;
        self.clients.begin();
        self.candidates.clear();
        self.batch.clear_notifications();
        let subscriptions = self.subscriptions.interfaces().max(1);
        self.batch_len = (PAIRS_WANTED / subscriptions).clamp(BATCH_MIN, BATCH_MAX);
    }

    /// Puts whatever may be wanted into batches.
    fn offer(&mut self, output: &TickOutput, before: &impl Before) {
        for (i, notification) in output.notifications.iter().enumerate() {
            let place = self.places.get(usize::from(notification.kind));
            let Some(place) = place.copied().flatten() else {
                continue;
            };
            if !self.wanted.notification(place) {
                continue;
            }
            let source = notification.source;
            let is_known = source != EntityId::NONE && before.id(source.slot) == source;
            let client = match is_known {
                true => self.take_subject(output, before, source),
                false => {
                    let (writer, wanted) = (&mut self.writer, &self.wanted);
                    writer.set_subject(wanted, &mut self.batch, None);
                    None
                }
            };
            let words = notification.words();
            self.writer
                .notification(&self.wanted, &mut self.batch, place, words, client);
            self.candidates.push(Candidate {
                notice: Notice::Notification(i as u32),
                only: None,
                place: None,
            });
            if !self.go_on() {
                return;
            }
        }
        let changes = &output.changes;
        for (i, (slot, columns, values)) in changes.iter().enumerate() {
            let kind = before.kind(slot);
            let wanted = self.wanted.columns(kind);
            if columns.iter().all(|column| wanted >> column & 1 == 0) {
                continue;
            }
            let entity = before.id(slot);
            let mut client = None;
            let mut is_taken = false;
            for (j, (&column, &new)) in columns.iter().zip(values).enumerate() {
                let place = usize::from(column);
                if wanted >> column & 1 == 0 {
                    continue;
                }
                let only = self.writer.is_private(place);
                let own = self.clients.of(entity);
                // Nobody but who listens as this entity could be told.
                if only && own.is_none_or(|own| !self.clients.listens(own)) {
                    continue;
                }
                if !is_taken {
                    client = self.take_subject(output, before, entity);
                    is_taken = true;
                }
                let change = Change {
                    column: place,
                    old: before.row(slot)[place],
                    new,
                    command: changes.causes.get(changes.offsets[i] as usize + j).copied(),
                };
                self.writer
                    .change(&self.wanted, &mut self.batch, &change, client);
                self.candidates.push(Candidate {
                    notice: Notice::Change {
                        entity,
                        kind,
                        column,
                        old: change.old,
                        new,
                        command: change.command.and_then(CommandKind::from_id),
                    },
                    only: own.filter(|_| only),
                    place: None,
                });
                if !self.go_on() {
                    return;
                }
            }
        }
    }

    /// What follows is of this entity, which is somebody's own or nobody's.
    fn take_subject(
        &mut self,
        output: &TickOutput,
        before: &impl Before,
        entity: EntityId,
    ) -> Option<ClientRow> {
        let client = self.clients.of(entity);
        self.row.clear();
        self.row.extend_from_slice(before.row(entity.slot));
        let changes = &output.changes;
        if let Ok(i) = changes.slots.binary_search(&entity.slot.0) {
            let range = changes.offsets[i] as usize..changes.offsets[i + 1] as usize;
            for (&column, &value) in changes.columns[range.clone()]
                .iter()
                .zip(&changes.values[range])
            {
                self.row[usize::from(column)] = value;
            }
        }
        let subject = Subject {
            entity,
            kind: before.kind(entity.slot),
            row: &self.row,
            client,
        };
        self.writer
            .set_subject(&self.wanted, &mut self.batch, Some(&subject));
        client
    }

    /// Matches what is there if it is enough for a batch; false if nobody is left to be
    /// told of anything.
    fn go_on(&mut self) -> bool {
        if self.candidates.len() < self.batch_len {
            return true;
        }
        self.match_batch();
        self.subscriptions.interfaces() > 0
    }

    fn match_batch(&mut self) {
        let n = self.candidates.len();
        if n == 0 {
            return;
        }
        let (subscriptions, batch, matches) =
            (&mut self.subscriptions, &self.batch, &mut self.matches);
        match &mut self.matcher {
            Matcher::Cpu(matcher) => matcher.match_batch(subscriptions, batch, matches),
            Matcher::Auto(matcher) => matcher.match_batch(subscriptions, batch, matches),
        }
        for (i, candidate) in self.candidates.iter_mut().enumerate() {
            for &number in self.matches.of(i) {
                let Some(held) = &self.held[number as usize] else {
                    continue;
                };
                if candidate.only.is_some_and(|only| only != held.client) {
                    continue;
                }
                let next = self.notices.next();
                let place = candidate.place.unwrap_or(next);
                if !self.clients.tell(held.client, place) {
                    self.surplus += 1;
                    continue;
                }
                if candidate.place.is_none() {
                    self.notices.push(candidate.notice);
                    candidate.place = Some(place);
                }
                self.notices.find(held.client, place, held.id);
            }
        }
        self.notices.matched += n as u64;
        self.candidates.clear();
        self.batch.clear_notifications();
        if self.surplus > SURPLUS_MAX {
            self.leave_out();
        }
        // As many as come to about so many pairs, to judge by this batch.
        let pairs = self.matches.total().max(1);
        self.batch_len = (PAIRS_WANTED / pairs.div_ceil(n)).clamp(BATCH_MIN, BATCH_MAX);
    }

    /// Leaves those who have their fill out of the rest of the tick.
    fn leave_out(&mut self) {
        self.surplus = 0;
        for held in self.held.iter_mut().flatten() {
            if self.clients.is_full(held.client)
                && let Some(subscription) = held.subscription.take()
            {
                self.subscriptions.unsubscribe(subscription);
            }
        }
        self.some_left_out = true;
    }

    fn let_in_again(&mut self) {
        if !self.some_left_out {
            return;
        }
        for number in 0..self.held.len() as u32 {
            let held = &self.held[number as usize];
            if held
                .as_ref()
                .is_some_and(|held| held.subscription.is_none())
            {
                self.let_in(number);
            }
        }
    }
}

/// A batch is to come to about so many pairs of something told and subscription.
const PAIRS_WANTED: usize = 1 << 21;
const BATCH_MIN: usize = 256;
const BATCH_MAX: usize = 1 << 16;
/// More pairs for those who have their fill than it costs to leave them out.
const SURPLUS_MAX: usize = 1 << 18;
