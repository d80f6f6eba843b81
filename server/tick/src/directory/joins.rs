//! Clients that join, resume, or are kicked.

use std::borrow::Cow;
use std::cmp::Reverse;

use durability::annotations::PersonChange;
use frontend::inbox::{Join, SessionKey};
use gpu_kernels::Frame;
use shared::wire::control::{Close, Ticket};
use shared::{ClientRow, EntityId};

use super::processed::Begin;
use super::rows::{Row, Waiting};
use super::{AFTER_REBIRTHS, Directory};

impl Directory {
    /// A client joins or resumes. `ticket` is a new one for it.
    pub fn join(&mut self, shard: usize, join: &Join, ticket: Ticket, frame: &mut Frame) {
        let key = (shard, join.session);
        if let Some(client) = self.resumable(join) {
            if self.is_overtaken(client, join) {
                return self.close(key, Close::Starting, OVERTAKEN);
            }
            self.note_network(client, join.network);
            self.processed.begin(client, Begin::Resume, join.continues);
            return self.resume(client, key, join.resume, ticket, frame);
        }
        if join.must_resume {
            return self.close(key, Close::Refused, GUESSES_OVER);
        }
        if join.spectates && !self.sights.may_spectate() {
            return self.close(key, Close::Refused, "this world has no spectators");
        }
        let account = join.identity.account.as_ref();
        if let Some(client) = account.and_then(|account| self.people.of_account(account)) {
            let is_spectator = self.sights.point(client).is_some();
            if is_spectator == join.spectates {
                self.note_network(client, join.network);
                self.processed.begin(client, Begin::Replace, join.continues);
                return self.replace(client, key, ticket, frame);
            }
            self.remove_client(client, Close::Replaced, REPLACED, frame);
        }
        let Some(Reverse(client)) = self.free.pop() else {
            return self.close(key, Close::Full, "the server has no room for more clients");
        };
        let client = ClientRow(client);
        self.processed.begin(client, Begin::Join, join.continues);
        self.note_network(client, join.network);
        self.tickets.give(client, ticket, None);
        self.admitted.push(PersonChange {
            client,
            person: self.people.enter(client, &join.identity),
        });
        if join.spectates {
            self.sights.add_spectator(client);
            return self.make_live(client, key, EntityId::NONE, ticket, false);
        }
        let row = Row::Joining(Some(key), ticket);
        self.rows.set(client, row);
        self.spawn(client, AFTER_REBIRTHS, true, frame);
    }

    /// The row that a client's ticket resumes. The account must be the same, too.
    fn resumable(&self, join: &Join) -> Option<ClientRow> {
        let client = self.tickets.client(join.resume?)?;
        let is_same_account = self.people.account(client) == join.identity.account.as_ref();
        let may_resume = !matches!(self.rows.get(client), Row::Free | Row::Joining(..));
        (is_same_account && may_resume).then_some(client)
    }

    /// Whether a session that begins anew has lost its client to the one that plays: that one has
    /// resumed with the ticket of this one. Where a connection has died unnoticed, it would otherwise
    /// take the entity back from the client.
    fn is_overtaken(&self, client: ClientRow, join: &Join) -> bool {
        let is_played = self.rows.get(client).session().is_some();
        join.rejoins && is_played && self.tickets.before(client) == join.resume
    }

    /// A client resumes with a ticket. `new` is its next one.
    fn resume(
        &mut self,
        client: ClientRow,
        key: SessionKey,
        old: Option<Ticket>,
        new: Ticket,
        frame: &mut Frame,
    ) {
        const ELSEWHERE: &str = "the session was resumed elsewhere";
        self.tickets.give(client, new, old);
        self.close_session(client, Close::Resumed, ELSEWHERE);
        self.rebind(client, key, None, frame);
    }

    /// An account joins with another connection, which replaces the earlier one and acts as the
    /// same entity. It begins without regions and subscriptions: a new first ticket distinguishes
    /// it from the client before.
    fn replace(&mut self, client: ClientRow, key: SessionKey, ticket: Ticket, frame: &mut Frame) {
        self.tickets.give(client, ticket, None);
        self.close_session(client, Close::Replaced, REPLACED);
        self.rebind(client, key, Some(ticket), frame);
    }

    /// Binds a row to another session: of the same client, or of one that has `first` as its
    /// first ticket.
    fn rebind(
        &mut self,
        client: ClientRow,
        key: SessionKey,
        first: Option<Ticket>,
        frame: &mut Frame,
    ) {
        let row = self.rows.get(client);
        let is_resumed = first.is_none();
        match row {
            Row::Lost(entity, own, _) => {
                self.make_live(client, key, entity, first.unwrap_or(own), is_resumed);
            }
            Row::Live(_, entity, own) => {
                frame.forget.push(client);
                self.make_live(client, key, entity, first.unwrap_or(own), is_resumed);
            }
            Row::Fallen(_, own) => {
                if row.session().is_some() {
                    self.remove_observer(client, frame);
                }
                self.rebind_rebirth(client, first.unwrap_or(own));
                let waiting = Waiting::Returned(key, is_resumed);
                let row = Row::Fallen(waiting, first.unwrap_or(own));
                self.rows.set(client, row);
            }
            Row::Joining(_, own) => {
                self.rebind_rebirth(client, first.unwrap_or(own));
                let row = Row::Joining(Some(key), first.unwrap_or(own));
                self.rows.set(client, row);
            }
            Row::Free => {}
        }
    }

    /// Kicks or bans a client for the operator.
    pub fn kick(&mut self, client: ClientRow, reason: &str, is_ban: bool, frame: &mut Frame) {
        let (close, what) = match is_ban {
            true => (Close::Banned, "banned by the operator"),
            false => (Close::Kicked, "kicked by the operator"),
        };
        let reason = match reason {
            "" => what.to_owned(),
            reason => format!("{what}: {reason}"),
        };
        self.remove_client(client, close, reason, frame);
    }

    /// Removes a client: its connection is closed, its entity despawns, and its tickets are
    /// invalid.
    fn remove_client(
        &mut self,
        client: ClientRow,
        close: Close,
        reason: impl Into<Cow<'static, str>>,
        frame: &mut Frame,
    ) {
        self.close_session(client, close, reason);
        let row = self.rows.get(client);
        if matches!(row, Row::Live(..) | Row::Fallen(..)) {
            self.remove_observer(client, frame);
        }
        match row {
            Row::Live(_, entity, _) | Row::Lost(entity, ..) => self.end(client, entity, frame),
            // Its entity is yet to be born, and despawns then.
            Row::Fallen(_, ticket) | Row::Joining(_, ticket) => {
                self.tickets.forget(client);
                self.rows.set(client, Row::Joining(None, ticket));
            }
            Row::Free => {}
        }
    }
}

const OVERTAKEN: &str =
    "the session was resumed elsewhere while the world was out of reach: try again";
const REPLACED: &str = "the account has joined with another connection";
const GUESSES_OVER: &str = "this network has shown too many wrong tokens, and the ticket is none of this server; try again in a minute";
