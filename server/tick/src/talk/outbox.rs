//! Talk on its way to sessions: what other clients say is limited by budgets of the listener.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use frontend::publication::SessionEvent;
use frontend::talk::size_of;
use frontend::talk_budget::TalkBudget;
use platform::metrics::table;
use shared::wire::control::Ticket;
use shared::wire::talk::Talk as TalkMessage;
use shared::{ClientRow, Tick};

use crate::directory::Directory;

/// Events for sessions, and the budgets of all listeners.
pub struct Outbox {
    tick_hz: u32,
    /// What listeners have received of late from others, by route.
    budgets: HashMap<(ClientRow, Route), TalkBudget>,
    next_cleanup: Tick,
    /// The last clients to which each client has whispered, with their first tickets, the newest
    /// last.
    partners: HashMap<ClientRow, VecDeque<(ClientRow, Ticket)>>,
    /// By shard.
    events: Vec<(usize, SessionEvent)>,
}

/// The outbox in the tick of a frame.
pub struct OutboxAt<'a> {
    outbox: &'a mut Outbox,
    directory: &'a Directory,
    tick: Tick,
    /// The index of the talk in the frame.
    index: usize,
}

/// How talk reaches a listener. Each route has its own budget, so that none starves another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Route {
    /// A whisper of any client.
    Whisper,
    /// A whisper of a client to which the listener has whispered lately.
    Reply,
    Channel,
}

/// The outcome of talk to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Sent,
    /// The client is not connected.
    Away,
    /// It has muted the speaker, which is not reported to the speaker.
    Muted,
    /// Its budget is used up.
    Busy,
}

impl Outbox {
    pub fn new(tick_hz: u32) -> Outbox {
        Outbox {
            tick_hz,
            budgets: HashMap::new(),
            next_cleanup: Tick(0),
            partners: HashMap::new(),
            events: vec![],
        }
    }

    /// The outbox for the talk at an index in a tick.
    pub fn at<'a>(
        &'a mut self,
        directory: &'a Directory,
        tick: Tick,
        index: usize,
    ) -> OutboxAt<'a> {
        OutboxAt {
            outbox: self,
            directory,
            tick,
            index,
        }
    }

    /// Sends without a limit. False if the client is not connected.
    pub fn send(
        &mut self,
        directory: &Directory,
        client: ClientRow,
        index: usize,
        message: &Arc<TalkMessage>,
    ) -> bool {
        let Some((shard, session)) = directory.session(client) else {
            return false;
        };
        let talk = message.clone();
        let event = SessionEvent::Talk {
            session,
            index,
            talk,
        };
        self.events.push((shard, event));
        true
    }

    /// Notes that a client has whispered to another.
    pub fn note_partner(&mut self, directory: &Directory, client: ClientRow, to: ClientRow) {
        let Some(presence) = directory.presence(to) else {
            return;
        };
        let partners = self.partners.entry(client).or_default();
        partners.retain(|(partner, _)| *partner != to);
        partners.push_back((to, presence.ticket));
        if partners.len() > PARTNERS_MAX {
            partners.pop_front();
        }
    }

    fn is_partner(&self, directory: &Directory, of: ClientRow, client: ClientRow) -> bool {
        let ticket = directory.presence(client).map(|presence| presence.ticket);
        let partners = self.partners.get(&of);
        partners.is_some_and(|partners| {
            let mut partners = partners.iter();
            partners.any(|&(partner, own)| partner == client && Some(own) == ticket)
        })
    }

    /// A client is gone.
    pub fn forget(&mut self, client: ClientRow) {
        self.partners.remove(&client);
    }

    /// Talk for sessions: (shard, event).
    pub fn events(&mut self) -> impl Iterator<Item = (usize, SessionEvent)> {
        self.events.drain(..)
    }

    /// Drops full budgets now and then.
    fn forget_unused_budgets(&mut self, now: Tick) {
        if now < self.next_cleanup {
            return;
        }
        self.next_cleanup = now.after(self.tick_hz);
        let tick_hz = self.tick_hz;
        self.budgets
            .retain(|_, budget| !budget.is_whole(now, tick_hz));
    }
}

impl OutboxAt<'_> {
    /// Sends the talk of one client to another, unless that one is in `muting` or has used up its
    /// budget.
    pub fn send_from(
        self,
        (from, to): (ClientRow, ClientRow),
        route: Route,
        message: &Arc<TalkMessage>,
        muting: &HashSet<ClientRow>,
    ) -> Outcome {
        let (outbox, directory) = (self.outbox, self.directory);
        if directory.session(to).is_none() {
            return Outcome::Away;
        }
        if from != to {
            let route = match route {
                Route::Whisper if outbox.is_partner(directory, to, from) => Route::Reply,
                route => route,
            };
            if muting.contains(&to) {
                return Outcome::Muted;
            }
            outbox.forget_unused_budgets(self.tick);
            let budget = outbox.budgets.entry((to, route)).or_default();
            if !budget.take(size_of(message), self.tick, outbox.tick_hz) {
                table::TALK_LEFT_OUT.add(1);
                return Outcome::Busy;
            }
        }
        match outbox.send(directory, to, self.index, message) {
            true => Outcome::Sent,
            false => Outcome::Away,
        }
    }
}

/// The number of whisper partners that are kept for a client.
const PARTNERS_MAX: usize = 16;
