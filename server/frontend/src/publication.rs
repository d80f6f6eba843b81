//! From the tick to a front end, and back: plain values. What only shards of this process have
//! beside them is in [`SharedTick`](crate::shard_channels::SharedTick).

use std::borrow::Cow;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Notices;
use platform::metrics::counts::FanOutCounts;
use serde::{Deserialize, Serialize};
use shared::wire::control::{Close, Ticket};
use shared::wire::request::{Answer, GivenText};
use shared::wire::talk::Talk;
use shared::{ClientRow, EntityId, Tick};

use super::inbox::SessionId;
use super::mirror::Newborns;
use crate::SessionWorld;
use crate::servers::Others;

/// One tick's results, which all front ends read.
pub struct Publication {
    pub tick: Tick,
    /// The newest durable tick; none without persistence.
    pub durable_through: Option<Tick>,
    pub others: Others,
    pub output: Arc<TickOutput>,
    pub newborns: Newborns,
    /// The tick's changes and notifications that clients subscribed to.
    pub subscribed: Notices,
    /// The world as sessions use it, if this tick has changed it.
    pub world: Option<Arc<SessionWorld>>,
    /// Talk to players nearby, by its index among all talk of the tick.
    pub nearby_talk: Vec<Option<Arc<Talk>>>,
    /// Clients that have muted the speaker of the talk at an index.
    pub muted: HashSet<(ClientRow, usize)>,
    /// By front end.
    pub events: Vec<Vec<SessionEvent>>,
    /// By front end: the number of its newest message with input that the tick has, as
    /// [`Inbox::message`](crate::inbox::Inbox::message).
    pub inputs: Vec<u64>,
}

impl Publication {
    /// The newest message with input of a front end that the tick has.
    pub fn input_of(&self, front_end: usize) -> u64 {
        self.inputs.get(front_end).copied().unwrap_or(0)
    }
}

/// A decision of the tick about a session.
#[derive(Clone, Debug)]
pub enum SessionEvent {
    /// It has an entity.
    Assigned {
        session: SessionId,
        client: ClientRow,
        entity: EntityId,
        ticket: Ticket,
        resumed: bool,
        /// See [`Welcome::processed`](shared::wire::control::Welcome::processed).
        processed: Option<u32>,
    },
    /// It has another entity in place of the one that died.
    Reborn {
        session: SessionId,
        entity: EntityId,
    },
    /// One of its requests is answered.
    Answered { session: SessionId, answer: Answer },
    /// One of its requests is granted: it is given texts.
    Texts {
        session: SessionId,
        request: u32,
        texts: Vec<GivenText>,
    },
    /// Talk for its client.
    Talk {
        session: SessionId,
        /// Its index among all talk of the tick.
        index: usize,
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
    /// The session of the event.
    pub fn session(&self) -> SessionId {
        let (SessionEvent::Assigned { session, .. }
        | SessionEvent::Reborn { session, .. }
        | SessionEvent::Answered { session, .. }
        | SessionEvent::Texts { session, .. }
        | SessionEvent::Talk { session, .. }
        | SessionEvent::Closed { session, .. }) = self;
        *session
    }

    /// Names the session by another number.
    pub fn set_session(&mut self, number: SessionId) {
        let (SessionEvent::Assigned { session, .. }
        | SessionEvent::Reborn { session, .. }
        | SessionEvent::Answered { session, .. }
        | SessionEvent::Texts { session, .. }
        | SessionEvent::Talk { session, .. }
        | SessionEvent::Closed { session, .. }) = self;
        *session = number;
    }
}

/// A shard's number, and the figures of its connections.
pub type ShardLinks = (usize, Vec<LinkFigures>);

/// Figures of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkFigures {
    pub session: SessionId,
    /// The current address of the client.
    pub address: SocketAddr,
    pub round_trip: Duration,
    pub packets_sent: u64,
    pub packets_lost: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Of its stream.
    pub bytes_unsent: usize,
    pub view: ViewStatus,
}

/// How complete a client's view is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewStatus {
    /// How many ticks ago it was up to date, by its acknowledgements.
    pub age_ticks: u32,
    /// Entities in view, deferred enters included.
    pub in_view: u32,
    /// Of these, those whose enters are deferred.
    pub waiting: usize,
}

/// A front end's report after the fan-out of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanOutReport {
    /// From when the tick was due until the last client's datagram was handed to the transport.
    pub took: Duration,
    /// Every client of the front end has acknowledged its stream up to this tick.
    pub acked_through: Tick,
    pub counts: FanOutCounts,
}

impl FanOutReport {
    /// Joins the reports of two front ends on the same tick.
    pub fn and(mut self, other: &FanOutReport) -> FanOutReport {
        self.took = self.took.max(other.took);
        self.acked_through = self.acked_through.min(other.acked_through);
        self.counts += other.counts;
        self
    }
}
