//! The clients of one thread: their datagrams and requests go to the tick, and what the
//! tick says goes to them.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use gpu_kernels::listen::SubscribeError;
use quinn::{Connection, ConnectionError, SendStream, VarInt};
use shared::Tick;
use shared::wire::DecodeError;
use shared::wire::commands::ClientDatagram;
use shared::wire::control::{Close, Hello};
use shared::wire::request::{Request, RequestBody};
use thiserror::Error;
use tracing::debug;

use super::handshake::Admission;
use super::requests::Unanswered;
use crate::metrics::counts::{FanOutCounts, Refusals};
use crate::session::commands::DatagramError;
use crate::session::fan_out::Scratch;
use crate::session::frame::TickView;
use crate::session::{Player, Session, SessionWorld};
use crate::tick::inbox::{Join, Leave, PendingRequest, SessionId, SharedInbox};
use crate::tick::publication::{FanOutReport, Publication, SessionEvent};

/// What all shards know of the world.
pub struct ShardWorld {
    pub session: Arc<SessionWorld>,
    pub admission: Admission,
}

/// A request before the welcome: the client has no row yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a request before the welcome")]
pub struct EarlyRequest;

/// A session with its connection.
pub struct Client {
    session: Session,
    connection: Connection,
    stream: SendStream,
    unanswered: Unanswered,
}

/// Clients, and what serving them needs.
pub struct Shard {
    number: usize,
    world: Arc<ShardWorld>,
    inbox: SharedInbox,
    clients: HashMap<SessionId, Client>,
    next_session: SessionId,
    /// Handshakes and clients.
    connections: usize,
    connections_max: usize,
    /// Kept between ticks for its memory.
    order: Vec<SessionId>,
    scratch: Scratch,
    /// All clients have taken in their streams up to this tick.
    taken_in: Tick,
    counts: FanOutCounts,
}

impl Client {
    pub fn new(
        session: Session,
        connection: Connection,
        stream: SendStream,
        unanswered: Unanswered,
    ) -> Client {
        Client {
            session,
            connection,
            stream,
            unanswered,
        }
    }

    /// Tells the client of a tick. Closes the connection of one that does not read.
    fn tell(&mut self, view: TickView<'_>, scratch: &mut Scratch, counts: &mut FanOutCounts) {
        let connection = &self.connection;
        self.session.tell(view, scratch, counts, |datagram| {
            // An error is a connection that is ending: its task hears of it.
            let _ = connection.send_datagram(datagram.into());
        });
        self.flush(counts);
        if self.session.is_too_slow(view.publication.tick, view.world) {
            let reason = "the client does not read what it is sent";
            close(&self.connection, Close::TooSlow, reason);
        }
    }

    /// Gives the transport what it takes now; the rest waits for the next tick.
    fn flush(&mut self, counts: &mut FanOutCounts) {
        let mut context = Context::from_waker(Waker::noop());
        let unsent = self.session.unsent();
        let mut written = 0;
        while written < unsent.len() {
            let stream = Pin::new(&mut self.stream);
            match stream.poll_write(&mut context, &unsent[written..]) {
                Poll::Ready(Ok(n)) => written += n,
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
        counts.stream_bytes += written as u64;
        self.session.sent(written);
    }
}

impl Shard {
    pub fn new(number: usize, world: Arc<ShardWorld>, inbox: SharedInbox) -> Shard {
        // Room for all clients to resume while their old connections linger, and for some
        // to be told that the server is full.
        let clients_max = world.session.config.limits.clients as usize;
        Shard {
            number,
            connections: 0,
            connections_max: 2 * clients_max + CONNECTIONS_SPARE,
            world,
            inbox,
            clients: HashMap::new(),
            next_session: 0,
            order: vec![],
            scratch: Scratch::default(),
            taken_in: Tick(0),
            counts: FanOutCounts::default(),
        }
    }

    pub fn world(&self) -> Arc<ShardWorld> {
        self.world.clone()
    }

    /// Counts a new connection; false if there are too many already.
    pub fn has_room(&mut self) -> bool {
        let has_room = self.connections < self.connections_max;
        self.connections += usize::from(has_room);
        has_room
    }

    pub fn connection_ended(&mut self) {
        self.connections -= 1;
    }

    pub fn count_refusals(&self, count: impl FnOnce(&mut Refusals)) {
        count(&mut self.inbox.lock().refusals);
    }

    /// Adds a client that said a valid hello, and asks the tick for its entity.
    pub fn admit(&mut self, client: Client, hello: &Hello) -> SessionId {
        let session = self.next_session;
        self.next_session += 1;
        self.clients.insert(session, client);
        self.inbox.lock().joins.push(Join {
            session,
            resume: hello.resume,
        });
        session
    }

    /// Decodes a client's datagram.
    pub fn decode(&self, bytes: &[u8], out: &mut ClientDatagram) -> Result<(), DecodeError> {
        self.world.session.commands.decode(bytes, out)
    }

    /// Takes in a client's datagram.
    pub fn take_in(
        &mut self,
        id: SessionId,
        datagram: &ClientDatagram,
    ) -> Result<(), DatagramError> {
        let Some(client) = self.clients.get_mut(&id) else {
            return Ok(());
        };
        let codec = &self.world.session.commands;
        client
            .session
            .take_in(datagram, codec, &mut self.inbox.lock())
    }

    /// Hands a client's request to the tick.
    pub fn request(&mut self, id: SessionId, message: Request) -> Result<(), EarlyRequest> {
        let Some(client) = self.clients.get(&id) else {
            return Ok(());
        };
        let row = client.session.client().ok_or(EarlyRequest)?;
        let limit = self.world.session.config.limits.predicate_bytes as usize;
        let body = match message.body {
            // Many requests may wait for the tick, so long texts end here.
            RequestBody::Subscribe { predicate, .. } if predicate.len() > limit => {
                let found = predicate.len();
                Err(SubscribeError::LongText { found, limit })
            }
            body => Ok(body),
        };
        self.inbox.lock().requests.push(PendingRequest {
            session: id,
            client: row,
            number: message.number,
            body,
        });
        Ok(())
    }

    /// Removes a client whose connection has ended, and tells the tick.
    pub fn remove(&mut self, id: SessionId, end: &ConnectionError) {
        let Some(client) = self.clients.remove(&id) else {
            return;
        };
        let bye = u64::from(Close::Bye.code());
        let is_final = matches!(end, ConnectionError::ApplicationClosed(close)
            if close.error_code.into_inner() == bye);
        if !is_final && !client.session.is_ending() {
            self.counts.sessions_lost += 1;
        }
        self.inbox.lock().leaves.push(Leave {
            session: id,
            client: client.session.client(),
            is_final,
        });
    }

    /// Acts on a tick's events, and gives the sessions to tell of it.
    pub fn begin_tick(&mut self, publication: &Publication) -> Vec<SessionId> {
        if let Some(session) = &publication.world {
            let admission = &self.world.admission;
            self.world = Arc::new(ShardWorld {
                session: session.clone(),
                admission: Admission {
                    schema_hash: session.config.schema.hash(),
                    token: admission.token.clone(),
                },
            });
            for client in self.clients.values_mut() {
                client.session.change_interface();
            }
        }
        for event in &publication.events[self.number] {
            self.act_on(event, publication.tick);
        }
        self.taken_in = publication.tick;
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(self.clients.keys());
        order
    }

    /// Tells some clients of a tick.
    pub fn tell(&mut self, sessions: &[SessionId], publication: &Publication) {
        let mirror = publication.mirror.read();
        let view = TickView {
            publication,
            mirror: &mirror,
            world: &self.world.session,
        };
        for id in sessions {
            if let Some(client) = self.clients.get_mut(id) {
                client.tell(view, &mut self.scratch, &mut self.counts);
                if let Some(tick) = client.session.taken_in() {
                    self.taken_in = self.taken_in.min(tick);
                }
            }
        }
    }

    /// The report on a tick that all `sessions` were told of.
    pub fn end_tick(&mut self, sessions: Vec<SessionId>, tick: Tick) -> FanOutReport {
        self.order = sessions;
        let mut counts = std::mem::take(&mut self.counts);
        counts.sessions = self.clients.len() as u64;
        debug!(%tick, sessions = counts.sessions, "fanned out");
        FanOutReport {
            finished: Instant::now(),
            taken_in: self.taken_in,
            counts,
        }
    }

    fn act_on(&mut self, event: &SessionEvent, tick: Tick) {
        let (SessionEvent::Assigned { session, .. }
        | SessionEvent::Reborn { session, .. }
        | SessionEvent::Answered { session, .. }
        | SessionEvent::Closed { session, .. }) = event;
        let Some(client) = self.clients.get_mut(session) else {
            return;
        };
        let session = &mut client.session;
        match event {
            &SessionEvent::Assigned {
                client,
                entity,
                ticket,
                resumed,
                ..
            } => {
                let player = Player { client, entity };
                session.assign(player, ticket, resumed, tick, &self.world.session);
            }
            SessionEvent::Reborn { entity, .. } => session.reassign(*entity),
            SessionEvent::Answered { answer, .. } => {
                session.answer(answer.clone());
                client.unanswered.answer();
            }
            SessionEvent::Closed {
                close: code,
                reason,
                ..
            } => {
                session.end();
                close(&client.connection, *code, reason);
            }
        }
    }
}

/// Closes a connection with a code and a sentence for people.
pub fn close(connection: &Connection, close: Close, reason: &str) {
    connection.close(VarInt::from_u32(close.code()), reason.as_bytes());
}

const CONNECTIONS_SPARE: usize = 64;
