//! From the tick to the shards, and back.

use std::sync::Arc;
use std::time::Instant;

use gpu_kernels::TickOutput;
use gpu_kernels::content::listen::Notices;
use shared::wire::control::{Close, Ticket};
use shared::wire::session::Answer;
use shared::{ClientRow, EntityId, Tick};

use crate::inbox::SessionId;
use crate::mirror::Mirror;

/// One tick's results. Shards read it side by side; the tick thread has it back,
/// to go on with, when all of them have let go of it.
pub struct Publication {
    pub tick: Tick,
    pub output: Arc<TickOutput>,
    pub mirror: Mirror,
    /// What happened in it that clients subscribed to.
    pub subscribed: Notices,
    /// By shard.
    pub notices: Vec<Vec<Notice>>,
}

/// What the tick decided about a session.
#[derive(Clone, Debug)]
pub enum Notice {
    /// It is in the world.
    Assigned {
        session: SessionId,
        client: ClientRow,
        entity: EntityId,
        ticket: Ticket,
        resumed: bool,
    },
    /// Its entity had died; it acts as this one from now on.
    Reborn {
        session: SessionId,
        entity: EntityId,
    },
    /// What it asked for is granted, or not.
    Answered { session: SessionId, answer: Answer },
    /// It has to go.
    Closed {
        session: SessionId,
        close: Close,
        reason: &'static str,
    },
}

/// A message to a shard.
pub enum ToShard {
    Tick(Arc<Publication>),
    /// Close every connection, saying why, and end.
    Stop(&'static str),
}

/// A shard's report after a tick's fan-out.
#[derive(Clone, Copy, Debug)]
pub struct FanOutDone {
    /// When the last client's datagram was with the transport.
    pub finished: Instant,
    /// Every client of this shard has taken in the stream's frames up to this tick.
    pub taken_in: Tick,
    pub sessions: u64,
    pub datagrams: u64,
    pub datagram_bytes: u64,
    pub stream_bytes: u64,
    /// Changes and notifications that clients were told of beside their views.
    pub notices: u64,
    /// Clients for whom there may have been more of them than they may be told of.
    pub notices_full: u64,
    /// Sessions lost since the last report, other than by a client's own wish.
    pub lost: u64,
}
