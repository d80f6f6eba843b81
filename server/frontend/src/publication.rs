//! From the tick to the shards, and back.

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Notices;
use platform::metrics::counts::FanOutCounts;
use shared::wire::control::{Close, Ticket};
use shared::wire::request::Answer;
use shared::wire::talk::Talk;
use shared::{ClientRow, EntityId, Tick};

use super::inbox::SessionId;
use super::mirror::SharedMirror;
use crate::SessionWorld;

/// One tick's results, which all shards read. A shard lets go of them before it reports.
pub struct Publication {
    pub tick: Tick,
    /// When the shards would have it if they had never been late.
    pub due: Instant,
    /// The newest tick that can't be lost; none in a world that is not kept.
    pub kept: Option<Tick>,
    /// Where clients reach the server that takes over; empty: there is none.
    pub standby: Arc<str>,
    pub output: Arc<TickOutput>,
    /// The world after the tick, until every shard has reported.
    pub mirror: SharedMirror,
    /// The tick's changes and notifications that clients subscribed to.
    pub subscribed: Notices,
    /// What sessions need to know of the world, where this tick has changed that.
    pub world: Option<Arc<SessionWorld>>,
    /// What was said to those near, by its place among all that was said in the tick.
    pub said: Vec<Option<Arc<Talk>>>,
    /// Clients that do not want to hear what is at a place among these.
    pub hushed: HashSet<(ClientRow, usize)>,
    /// By shard.
    pub events: Vec<Vec<SessionEvent>>,
}

/// What the tick decided about a session.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// It has an entity.
    Assigned {
        session: SessionId,
        client: ClientRow,
        entity: EntityId,
        ticket: Ticket,
        resumed: bool,
    },
    /// It has another entity in place of the one that died.
    Reborn {
        session: SessionId,
        entity: EntityId,
    },
    /// One of its requests is answered.
    Answered { session: SessionId, answer: Answer },
    /// It hears something.
    Talk {
        session: SessionId,
        /// Its place among all that was said in the tick.
        place: usize,
        talk: Arc<Talk>,
    },
    /// It must end.
    Closed {
        session: SessionId,
        close: Close,
        reason: Cow<'static, str>,
    },
}

impl SessionEvent {
    /// The session that it is about.
    pub fn session(&self) -> SessionId {
        let (SessionEvent::Assigned { session, .. }
        | SessionEvent::Reborn { session, .. }
        | SessionEvent::Answered { session, .. }
        | SessionEvent::Talk { session, .. }
        | SessionEvent::Closed { session, .. }) = self;
        *session
    }
}

/// From the tick to a shard.
pub enum ToShard {
    /// Tell every client of this tick, then report.
    Tick(Arc<Publication>),
    /// Say how the connections of these sessions are, or of all.
    Inspect(Option<Vec<SessionId>>, Sender<ShardLinks>),
    /// Close every connection with this reason, and end.
    Stop(String),
}

/// A shard's number, and how its connections are.
pub type ShardLinks = (usize, Vec<LinkFigures>);

/// How a client's connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkFigures {
    pub session: SessionId,
    /// Where its packets come from now.
    pub address: SocketAddr,
    pub round_trip: Duration,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Of its stream.
    pub bytes_unsent: usize,
    pub standing: Standing,
}

/// How much of the world a client has been told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many ticks ago it was up to date, for all that is known.
    pub age_ticks: u32,
    /// Entities that it sees or is about to be told of.
    pub in_view: u32,
    /// Of these, those of which it has not been told, for want of room.
    pub waiting: usize,
}

/// A shard's report after the fan-out of a tick.
#[derive(Clone, Copy, Debug)]
pub struct FanOutReport {
    /// When the last client's datagram was handed to the transport.
    pub finished: Instant,
    /// Every client of the shard has taken in its stream up to this tick.
    pub acked_through: Tick,
    pub counts: FanOutCounts,
}

impl FanOutReport {
    /// Joins the reports of two shards on the same tick.
    pub fn and(mut self, other: &FanOutReport) -> FanOutReport {
        self.finished = self.finished.max(other.finished);
        self.acked_through = self.acked_through.min(other.acked_through);
        self.counts += other.counts;
        self
    }
}
