//! From a shard to the tick. Each shard has one, swapped at the tick's start: its
//! lock is only ever contended for the length of a push or a swap.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::wire::control::Ticket;
use shared::wire::session::Body;
use shared::{ClientRow, CommandKind, EntityId, Tick};

/// A session's name within its shard, never used twice.
pub type SessionId = u64;

/// What reached a shard since the last tick.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The tick that will take this in.
    pub tick: Tick,
    pub joins: Vec<Join>,
    pub leaves: Vec<Leave>,
    pub asks: Vec<Ask>,
    pub commands: Vec<Request>,
    /// The commands' words, one command's after the other's.
    pub words: Vec<i32>,
    pub refusals: Refusals,
}

/// A client that said a valid hello.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    pub session: SessionId,
    pub resume: Option<Ticket>,
}

/// A client that is gone.
#[derive(Clone, Copy, Debug)]
pub struct Leave {
    pub session: SessionId,
    /// Unless it was never assigned one.
    pub client: Option<ClientRow>,
    /// It said so itself, so nobody will come back for the entity.
    pub is_final: bool,
}

/// What a client asks for beside its commands.
#[derive(Clone, Debug)]
pub struct Ask {
    pub session: SessionId,
    pub client: ClientRow,
    /// The client's own number for it.
    pub request: u32,
    /// Or why it is refused anyway.
    pub body: Result<Body, String>,
}

/// A client's command.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub entity: EntityId,
    pub sequence: u32,
    pub kind: CommandKind,
    pub word_count: u16,
}

/// What a shard did not let in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Refusals {
    /// Commands beyond a client's quota.
    pub commands_over_quota: u64,
    /// Commands received a second time.
    pub commands_repeated: u64,
    /// Messages that could not be read.
    pub malformed: u64,
    /// Regions and subscriptions that clients asked for and did not get.
    pub requests: u64,
}

impl Inbox {
    /// Empties it for another tick, keeping its memory.
    pub fn reset(&mut self) {
        self.joins.clear();
        self.leaves.clear();
        self.asks.clear();
        self.commands.clear();
        self.words.clear();
        self.refusals = Refusals::default();
    }
}

/// The end that a shard and the tick share.
#[derive(Clone, Default)]
pub struct SharedInbox(Arc<Mutex<Inbox>>);

impl SharedInbox {
    pub fn lock(&self) -> MutexGuard<'_, Inbox> {
        // Pushes don't panic; if one did, what is there is still whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is there, leaving the empty `other`, into which goes what
    /// arrives for the tick after `tick`.
    pub fn swap(&self, other: &mut Inbox, tick: Tick) {
        other.tick = tick.next();
        std::mem::swap(&mut *self.lock(), other);
    }
}
