//! From a shard to the tick. Each shard has one inbox, which the tick swaps for an empty
//! one when it starts: the lock is contended only for the length of a push or a swap.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accounts::identity::Identity;
use accounts::network::Network;
use gpu_kernels::Batch;
use platform::metrics::counts::Refusals;
use serde::{Deserialize, Serialize};
use shared::wire::control::Ticket;
use shared::wire::request::RequestBody;
use shared::world::mix::mix;
use shared::{ClientRow, CommandKind, EntityId, Tick};

/// A session's number within its shard, never used twice.
pub type SessionId = u64;

/// A session of the server: the number of its shard, and its number there.
pub type SessionKey = (usize, SessionId);

/// Input that reached a shard since the last tick.
#[derive(Debug, Default)]
pub struct Inbox {
    /// The tick that will apply it.
    pub tick: Tick,
    /// Of a front end in another process: the number of the message to the tick in which all that
    /// is added now goes; at the tick's end, that of the newest message in it. 0 within a process.
    pub message: u64,
    /// Joins and leaves in the order of arrival; none where a leave cancelled its join.
    changes: Vec<Option<SessionChange>>,
    /// By session: its index in `changes`, if it joined since the last tick.
    newcomers: HashMap<SessionId, usize>,
    /// Sessions that have sent their first datagram.
    pub confirmed: Vec<SessionId>,
    pub requests: Vec<PendingRequest>,
    /// For this tick, in the order of arrival.
    pub commands: Batch,
    /// For the ticks after this one: they stay when the tick swaps the inbox.
    later: VecDeque<Batch>,
    pub refusals: Refusals,
    /// There if a command for this tick is to be traced.
    pub sample: Option<Sample>,
}

/// One of the commands for a tick, each as likely as the others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    seed: u64,
    seen: u64,
    /// The command, and when its shard had read its datagram.
    command: Option<(CommandKind, Instant)>,
}

/// A command that is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledCommand {
    pub kind: CommandKind,
    /// From when its shard had read its datagram until its tick began.
    pub waited: Duration,
}

impl Sample {
    /// Another seed picks other commands.
    pub fn new(seed: u64) -> Sample {
        Sample {
            // Those of ticks differ in few bits, which one step does not spread.
            seed: mix(seed, 0),
            ..Sample::default()
        }
    }

    fn see(&mut self, kind: CommandKind) {
        self.seen += 1;
        if mix(self.seed, self.seen).is_multiple_of(self.seen) {
            self.command = Some((kind, Instant::now()));
        }
    }

    pub fn has_command(&self) -> bool {
        self.command.is_some()
    }

    /// The command, in a tick that begins at a time.
    pub fn command(&self, begun: Instant) -> Option<SampledCommand> {
        let (kind, arrived) = self.command?;
        Some(SampledCommand {
            kind,
            waited: begun.saturating_duration_since(arrived),
        })
    }
}

/// A session that begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionChange {
    Join(Join),
    Leave(Leave),
}

/// A client with a valid hello.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    pub session: SessionId,
    pub resume: Option<Ticket>,
    /// It is admitted only if the ticket resumes a session: its token was not checked.
    pub must_resume: bool,
    /// A spectator: it has no entity.
    pub spectates: bool,
    pub identity: Identity,
    /// The network of its address.
    pub network: Option<Network>,
    /// Its client continues with the numbers of its commands where it resumes.
    pub continues: bool,
    /// The session was welcomed before the tick host was restarted or out of reach. The client may
    /// have left this connection meanwhile without its end being known here.
    pub rejoins: bool,
}

/// A client that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leave {
    pub session: SessionId,
    /// The client closed the session itself, so it will not resume.
    pub is_final: bool,
}

/// A request that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingRequest {
    pub session: SessionId,
    pub client: ClientRow,
    /// The client's own number for it.
    pub number: u32,
    /// An error is a request that the shard has rejected already.
    pub body: Result<RequestBody, LongText>,
}

/// A predicate's text that is longer than the world allows, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LongText {
    pub found: usize,
    pub limit: usize,
}

/// A client's command.
#[derive(Clone, Copy, Debug)]
pub struct ClientCommand {
    pub entity: EntityId,
    pub sequence: u32,
    pub kind: CommandKind,
}

impl Inbox {
    /// A session begins.
    pub fn join(&mut self, join: Join) {
        self.newcomers.insert(join.session, self.changes.len());
        self.changes.push(Some(SessionChange::Join(join)));
    }

    /// A session ends. Where it has begun within the tick, both changes are dropped: a new client
    /// costs the world nothing, and an attempt to resume that is given up takes nothing away from
    /// the next one, which may have come by another front end. But a client that resumes, and
    /// leaves for good, takes its entity with it.
    pub fn leave(&mut self, leave: Leave) {
        let join = self.newcomers.remove(&leave.session);
        let is_dropped = |join: &&mut Option<SessionChange>| match join {
            Some(SessionChange::Join(join)) => join.resume.is_none() || !leave.is_final,
            _ => false,
        };
        let join = join.and_then(|join| self.changes.get_mut(join));
        match join.filter(is_dropped) {
            Some(join) => *join = None,
            None => self.changes.push(Some(SessionChange::Leave(leave))),
        }
    }

    /// The sessions that begin and end, in the order of arrival.
    pub fn changes(&self) -> impl Iterator<Item = &SessionChange> {
        self.changes.iter().flatten()
    }

    /// Appends a command for a later tick, or this one.
    pub fn push_for(&mut self, tick: Tick, command: ClientCommand, words: &[i32]) {
        let Some(place) = (tick.since(self.tick) as usize).checked_sub(1) else {
            return self.push(command, words);
        };
        if self.later.len() <= place {
            self.later.resize_with(place + 1, Batch::default);
        }
        append(&mut self.later[place], command, words);
    }

    /// Appends a command for this tick.
    pub fn push(&mut self, command: ClientCommand, words: &[i32]) {
        if let Some(sample) = &mut self.sample {
            sample.see(command.kind);
        }
        append(&mut self.commands, command, words);
    }

    /// Lets what is added from now on be for this tick at the earliest. What waits for it, or is late
    /// by now, comes with it.
    pub fn await_tick(&mut self, tick: Tick) {
        let passed = tick.since(self.tick) as usize;
        self.tick = tick;
        for batch in self.later.drain(..passed.min(self.later.len())) {
            for (command, words) in batch.iter() {
                let kind = CommandKind(command.kind);
                (self.commands).push(command.entity, command.sequence, kind, words);
            }
        }
    }

    /// The commands of each tick, from that of the inbox on.
    pub fn batches(&self) -> impl Iterator<Item = (Tick, &Batch)> {
        let ticks = (0..).map(|ticks| self.tick.after(ticks));
        ticks.zip(std::iter::once(&self.commands).chain(&self.later))
    }

    /// Drops all input, also that for later ticks: it is of a world whose place another one takes.
    pub fn clear(&mut self) {
        self.reset();
        self.later.clear();
    }

    /// Empties it for another tick, keeping its memory.
    pub fn reset(&mut self) {
        self.changes.clear();
        self.newcomers.clear();
        self.confirmed.clear();
        self.requests.clear();
        self.commands.clear();
        self.refusals = Refusals::default();
        self.sample = None;
    }
}

fn append(batch: &mut Batch, command: ClientCommand, words: &[i32]) {
    let ClientCommand {
        entity,
        sequence,
        kind,
    } = command;
    batch.push(entity, sequence, kind, words);
}

/// An inbox that a shard and the tick share.
#[derive(Clone, Default)]
pub struct SharedInbox(Arc<Mutex<Inbox>>);

impl SharedInbox {
    pub fn lock(&self) -> MutexGuard<'_, Inbox> {
        // An inbox is whole after each push, so a panic elsewhere does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Swaps the inbox with the empty `other`, which is for the tick after `tick`.
    pub fn swap(&self, other: &mut Inbox, tick: Tick) {
        let mut own = self.lock();
        other.tick = tick.next();
        other.message = own.message;
        // Later batches move up by a tick, and the empty batch goes to the end.
        other.later = std::mem::take(&mut own.later);
        if let Some(next) = other.later.pop_front() {
            other
                .later
                .push_back(std::mem::replace(&mut other.commands, next));
        }
        std::mem::swap(&mut *own, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(session: SessionId, resume: Option<Ticket>) -> Join {
        Join {
            session,
            resume,
            ..Join::default()
        }
    }

    fn leave(session: SessionId) -> Leave {
        let is_final = false;
        Leave { session, is_final }
    }

    #[test]
    fn a_new_client_that_joins_and_leaves_within_a_tick_is_dropped() {
        let mut inbox = Inbox::default();
        inbox.join(join(1, None));
        inbox.join(join(2, None));
        inbox.leave(leave(1));
        inbox.leave(leave(0));
        let changes: Vec<_> = inbox.changes().cloned().collect();
        let (joined, left) = (join(2, None), leave(0));
        assert_eq!(
            changes,
            [SessionChange::Join(joined), SessionChange::Leave(left)]
        );
    }

    #[test]
    fn an_attempt_to_resume_that_is_given_up_within_a_tick_is_dropped() {
        let (mut inbox, ticket) = (Inbox::default(), Some([1; 16]));
        for session in [1, 2] {
            inbox.join(join(session, ticket));
        }
        inbox.leave(leave(1));
        // This one ends the session of the ticket.
        let goodbye = Leave {
            session: 2,
            is_final: true,
        };
        inbox.leave(goodbye);
        let changes: Vec<_> = inbox.changes().cloned().collect();
        let (joined, left) = (join(2, ticket), goodbye);
        assert_eq!(
            changes,
            [SessionChange::Join(joined), SessionChange::Leave(left)]
        );
    }

    #[test]
    fn each_command_of_a_tick_is_as_likely_to_be_traced() {
        let command = |kind| ClientCommand {
            entity: EntityId::new(1, 1),
            sequence: 0,
            kind: CommandKind(kind),
        };
        let mut inbox = Inbox::default();
        inbox.push(command(2), &[]);
        assert!(inbox.sample.is_none(), "no tick asked for one");
        let mut counts = [0; 8];
        for round in 0..8000 {
            inbox.reset();
            inbox.sample = Some(Sample::new(round));
            (0..8).for_each(|kind| inbox.push(command(kind), &[]));
            let sample = inbox.sample.unwrap();
            let sampled = sample.command(Instant::now()).unwrap();
            counts[usize::from(sampled.kind.0)] += 1;
        }
        assert!(
            counts.iter().all(|count| (800..1200).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn commands_keep_their_tick_while_the_one_of_their_inbox_passes() {
        let mut inbox = Inbox {
            tick: Tick(5),
            ..Inbox::default()
        };
        for (sequence, tick) in [(1, 5), (2, 6), (3, 8)] {
            let command = ClientCommand {
                entity: EntityId::new(1, 1),
                sequence,
                kind: CommandKind(2),
            };
            inbox.push_for(Tick(tick), command, &[]);
        }
        let planned = |inbox: &Inbox| -> Vec<(u64, u32)> {
            let batches = inbox.batches();
            let all = batches.flat_map(|(tick, batch)| {
                let sequences: Vec<u32> = batch.iter().map(|(c, _)| c.sequence).collect();
                sequences
                    .into_iter()
                    .map(move |sequence| (tick.0, sequence))
            });
            all.collect()
        };
        assert_eq!(planned(&inbox), [(5, 1), (6, 2), (8, 3)]);
        // The first one is late.
        inbox.await_tick(Tick(6));
        assert_eq!(planned(&inbox), [(6, 1), (6, 2), (8, 3)]);
        inbox.await_tick(Tick(10));
        assert_eq!(planned(&inbox), [(10, 1), (10, 2), (10, 3)]);
    }

    #[test]
    fn commands_wait_for_their_tick() {
        let (shared, mut spare) = (SharedInbox::default(), Inbox::default());
        let command = |sequence| ClientCommand {
            entity: EntityId::new(1, 1),
            sequence,
            kind: CommandKind(2),
        };
        let mut taken = vec![];
        for tick in 0..8 {
            spare.reset();
            shared.swap(&mut spare, Tick(tick));
            assert_eq!(spare.tick, Tick(tick));
            taken.push(spare.commands.len());
            if tick == 2 {
                let mut inbox = shared.lock();
                for (number, tick) in [(1, 3), (2, 5), (3, 5), (4, 7)] {
                    inbox.push_for(Tick(tick), command(number), &[]);
                }
            }
        }
        assert_eq!(taken, [0, 0, 0, 1, 0, 2, 0, 1]);
    }
}
