//! From a shard to the tick. Each shard has one inbox, which the tick swaps for an empty
//! one when it starts: the lock is contended only for the length of a push or a swap.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_kernels::listen::SubscribeError;
use shared::wire::control::Ticket;
use shared::wire::request::RequestBody;
use shared::{ClientRow, CommandKind, EntityId, Tick};

use crate::metrics::counts::Refusals;

/// A session's number within its shard, never used twice.
pub type SessionId = u64;

/// What reached a shard since the last tick.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The tick that will take this in.
    pub tick: Tick,
    pub joins: Vec<Join>,
    pub leaves: Vec<Leave>,
    pub requests: Vec<PendingRequest>,
    commands: Vec<ClientCommand>,
    /// The words of the commands, one command's after the other's.
    words: Vec<i32>,
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
    /// Its row; none if the session has not heard of one.
    pub client: Option<ClientRow>,
    /// The client said goodbye, so it will not resume.
    pub is_final: bool,
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub struct PendingRequest {
    pub session: SessionId,
    pub client: ClientRow,
    /// The client's own number for it.
    pub number: u32,
    /// An error is a request that the shard has rejected already.
    pub body: Result<RequestBody, SubscribeError>,
}

/// A client's command.
#[derive(Clone, Copy, Debug)]
pub struct ClientCommand {
    pub entity: EntityId,
    pub sequence: u32,
    pub kind: CommandKind,
    pub word_count: u16,
}

impl Inbox {
    /// Appends a command, whose `words` are `word_count` many.
    pub fn push(&mut self, command: ClientCommand, words: &[i32]) {
        self.commands.push(command);
        self.words.extend_from_slice(words);
    }

    /// Each command with its words, in the order of arrival.
    pub fn commands(&self) -> impl Iterator<Item = (&ClientCommand, &[i32])> {
        let mut words = &self.words[..];
        self.commands.iter().map(move |command| {
            let (own, rest) = words.split_at(usize::from(command.word_count));
            words = rest;
            (command, own)
        })
    }

    /// Empties it for another tick, keeping its memory.
    pub fn reset(&mut self) {
        self.joins.clear();
        self.leaves.clear();
        self.requests.clear();
        self.commands.clear();
        self.words.clear();
        self.refusals = Refusals::default();
    }
}

/// An inbox that a shard and the tick share.
#[derive(Clone, Default)]
pub struct SharedInbox(Arc<Mutex<Inbox>>);

impl SharedInbox {
    pub fn lock(&self) -> MutexGuard<'_, Inbox> {
        // An inbox is whole after each push, so a panic elsewhere does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is there, and leaves the empty `other` for the tick after `tick`.
    pub fn swap(&self, other: &mut Inbox, tick: Tick) {
        other.tick = tick.next();
        std::mem::swap(&mut *self.lock(), other);
    }
}
