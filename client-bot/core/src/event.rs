//! Events that a client can react to.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use shared::wire::close::Update;
use shared::world::edit::Edit;
use shared::{EntityId, Refusal, Tick};

use crate::link::LinkState;
use crate::loss::LossCode;
use crate::view::View;
use crate::{Answer, Message, Movement, Notice, Quotas, Talk};

/// An event of a game since its last poll, see [`Game::poll`](crate::Game::poll).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The client is in the world, as a new entity.
    Welcomed(EntityId),
    /// The client is in the world again, as the same entity. Commands that were not processed are
    /// sent again, or given up: see [`View::has_continued`](crate::View::has_continued).
    Resumed(EntityId),
    /// An entity is in view from now on, or a thing: the client's entity has received it, or sees it
    /// of another. The view has its attributes.
    Entered {
        /// The tick of the server that reports it.
        tick: Tick,
        /// The entity.
        entity: EntityId,
        /// An index into the schema's kinds.
        kind: u16,
    },
    /// An entity or a thing is no longer in view. The client's own entity leaves when it dies.
    Left {
        /// The tick of the server that reports it.
        tick: Tick,
        /// Which one: the view has it no more.
        entity: EntityId,
    },
    /// Attributes of an entity or a thing in view have changed, other than the position: a thing that
    /// is handed on to where the client sees it, too, has another `holder`.
    Changed {
        /// The tick of the server that reports it.
        tick: Tick,
        /// The entity.
        entity: EntityId,
        /// One for each attribute.
        changes: Vec<Change>,
    },
    /// Another player belongs to a group of the client's entity from now on, or to other groups of it
    /// than before: [`View::members`](crate::View::members) has it, wherever it is.
    MemberJoined {
        /// The tick of the server that reports it.
        tick: Tick,
        /// The other player's entity.
        entity: EntityId,
    },
    /// A member belongs to no group of the client's entity any more.
    MemberLeft {
        /// The tick of the server that reports it.
        tick: Tick,
        /// Which one: the view has it no more as a member.
        entity: EntityId,
    },
    /// Attributes that a member shares have changed.
    MemberChanged {
        /// The tick of the server that reports it.
        tick: Tick,
        /// The member's entity.
        entity: EntityId,
        /// One for each attribute.
        changes: Vec<Change>,
    },
    /// The client's entity had died. The client acts as this one from now on.
    Reborn(EntityId),
    /// The client subscribed to this, or it came by place.
    Notice {
        /// The tick of the server that reports it.
        tick: Tick,
        /// What happened.
        notice: Notice,
    },
    /// A player spoke, or joined or left a channel.
    Talk {
        /// The tick of the server that reports it.
        tick: Tick,
        /// What was said, or who came or went.
        talk: Talk,
    },
    /// The client reached its limit of notices in this tick: the rest is left out.
    NoticesFull(Tick),
    /// Commands of the client had no effect.
    Refused {
        /// The tick of the server that reports it.
        tick: Tick,
        /// Which commands, and why.
        commands: RefusedRun,
    },
    /// The reply to a request.
    Answered(Answer),
    /// The server had no room to keep the subscription of this id.
    SubscriptionLost(u32),
    /// The world's commands or notifications have changed; the view has the new schema.
    InterfaceChanged,
    /// Cells of layers have changed, or differ from the content that the client has fetched: those come
    /// after a welcome. [`Game::layers`](crate::Game::layers) has them already.
    CellsChanged {
        /// The tick of the server that reports it.
        tick: Tick,
        /// What they are now, in order: a later one of a cell is the one that counts.
        edits: Vec<Edit>,
    },
    /// The server falls silent, or sends again: once for each change. A welcome begins a good
    /// link without this event, and a loss ends any.
    Link {
        /// How the link is from now on.
        state: LinkState,
        /// As of [`Link::since`](crate::Link::since).
        since: Duration,
    },
    /// The connection could not be opened, or has ended.
    Lost {
        /// Why, for programs.
        code: LossCode,
        /// A sentence for people, with more detail than the code's own
        /// [words](LossCode::words).
        reason: String,
        /// Where the server speaks another version: which one, and where to get it.
        update: Option<Update>,
        /// After this time the client tries again; `None`: it does not.
        retry_in: Option<Duration>,
    },
}

/// A change of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// An index into the schema's attributes.
    pub column: u16,
    /// The value before, in the engine's numbers.
    pub old: i32,
    /// The value from now on.
    pub new: i32,
}

/// Where half of a number changes, the other one stands beside it. `lows` are the columns of the low
/// halves, `value` is that of a column after the changes.
pub(crate) fn complete_halves(
    lows: &[u16],
    value: impl Fn(u16) -> Option<i32>,
    changes: &mut Vec<Change>,
) {
    for &low in lows {
        let place = |column: u16| changes.iter().position(|c| c.column == column);
        let (column, at) = match (place(low), place(low + 1)) {
            (Some(at), None) => (low + 1, at + 1),
            (None, Some(at)) => (low, at),
            (None, None) | (Some(_), Some(_)) => continue,
        };
        if let Some(same) = value(column) {
            let (old, new) = (same, same);
            changes.insert(at, Change { column, old, new });
        }
    }
}

/// Commands that had no effect. It is shown as why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRun {
    /// The sequence number of the first one. The others follow it.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// Why they had none.
    pub reason: Refusal,
    /// What the world's script says of that, for players.
    pub because: Option<Arc<str>>,
}

impl fmt::Display for RefusedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.because {
            Some(because) => f.write_str(because),
            None => self.reason.fmt(f),
        }
    }
}

/// Is called for everything that the server sends a client, as it arrives.
pub trait EventHandler {
    /// A server has welcomed the client: all that follows comes over this connection.
    fn welcomed(&mut self, _view: &View, _quotas: &Quotas) {}

    /// A movement datagram has taken effect on the view.
    fn datagram(&mut self, _view: &View, _summary: DatagramSummary, _movement: &Movement) {}

    /// A message of the stream, sent in this tick, is about to take effect on the view.
    fn message(&mut self, _tick: Tick, _message: &Message) {}

    /// A frame of this tick reports commands without effect.
    fn refused(&mut self, _tick: Tick, _commands: RefusedRun) {}
}

/// Ignores everything.
impl EventHandler for () {}

/// The fields of a movement datagram beside the movement itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSummary {
    /// The tick that it is of.
    pub tick: Tick,
    /// The sequence number of the last command that the world has processed.
    pub processed: u32,
    /// By how many ticks the commands that were processed since the datagram before came too
    /// early, the least of them: 0 is just in time, below 0 is too late. `None` if none of
    /// them was meant for a tick.
    pub margin: Option<i32>,
    /// 1, or a busy server sends to each client about every so many ticks, and requests clients to
    /// send once for each of its datagrams.
    pub send_every: u32,
    /// All datagrams of this tick have arrived now.
    pub is_complete: bool,
    /// And the client has been sent all movement that it may have lacked. Otherwise, some
    /// entities without news may have departed from their courses.
    pub is_whole: bool,
}

/// Passes everything to two handlers, in turn.
pub struct Both<'a, A: ?Sized, B: ?Sized>(pub &'a mut A, pub &'a mut B);

impl<A, B> EventHandler for Both<'_, A, B>
where
    A: EventHandler + ?Sized,
    B: EventHandler + ?Sized,
{
    fn welcomed(&mut self, view: &View, quotas: &Quotas) {
        self.0.welcomed(view, quotas);
        self.1.welcomed(view, quotas);
    }

    fn datagram(&mut self, view: &View, summary: DatagramSummary, movement: &Movement) {
        self.0.datagram(view, summary, movement);
        self.1.datagram(view, summary, movement);
    }

    fn message(&mut self, tick: Tick, message: &Message) {
        self.0.message(tick, message);
        self.1.message(tick, message);
    }

    fn refused(&mut self, tick: Tick, commands: RefusedRun) {
        self.0.refused(tick, commands.clone());
        self.1.refused(tick, commands);
    }
}
