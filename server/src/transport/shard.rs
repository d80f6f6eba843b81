//! One thread's connections: it accepts them, hands their commands to the tick,
//! and tells each client what the tick says it may know.
//!
//! A shard owns a thread, a single-threaded runtime, a socket on the shared port,
//! and its sessions. It shares nothing with other shards but the read-only
//! [`Publication`].

mod fan_out;
mod handshake;
mod notices;
mod requests;
mod session;

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use gpu_kernels::content::listen::SubscribeError;
use quinn::{
    Connection, ConnectionError, Endpoint, EndpointConfig, Incoming, ServerConfig, VarInt,
};
use shared::wire::bits::BitWriter;
use shared::wire::commands::{ClientDatagram, CommandCodec};
use shared::wire::control::{Close, Hello};
use shared::wire::session::{Body, SessionMessage};
use shared::wire::stream::StreamCodec;
use shared::{Tick, WorldConfig};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tracing::debug;

use crate::inbox::{Ask, Join, Leave, SessionId, SharedInbox};
use crate::publication::{FanOutDone, Notice, Publication, ToShard};
use requests::{Requests, Unanswered};
use session::Session;

/// What all shards agree on.
pub struct ShardWorld {
    pub config: WorldConfig,
    pub commands: CommandCodec,
    pub stream: StreamCodec,
    pub schema_hash: u64,
    pub epoch: u8,
    /// What a hello must carry; empty where anyone may come.
    pub token: String,
}

/// A shard's ends of the channels to the tick thread.
pub struct Channels {
    pub inbox: SharedInbox,
    pub from_tick: UnboundedReceiver<ToShard>,
    pub done: Sender<FanOutDone>,
}

/// Starts a shard's thread.
pub fn spawn(
    number: usize,
    world: Arc<ShardWorld>,
    config: ServerConfig,
    socket: UdpSocket,
    channels: Channels,
) -> Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime")?;
    let endpoint = {
        let _guard = runtime.enter();
        Endpoint::new(
            EndpointConfig::default(),
            Some(config),
            socket,
            Arc::new(quinn::TokioRuntime),
        )
        .context("cannot start a QUIC endpoint")?
    };
    let run = move || {
        let shard = Rc::new(RefCell::new(Shard::new(number, world, channels.inbox)));
        let local = LocalSet::new();
        let work = run(shard, endpoint, channels.from_tick, channels.done);
        local.block_on(&runtime, work);
    };
    std::thread::Builder::new()
        .name(format!("shard-{number}"))
        .spawn(run)
        .context("cannot start a shard's thread")
}

async fn run(
    shard: Rc<RefCell<Shard>>,
    endpoint: Endpoint,
    mut from_tick: UnboundedReceiver<ToShard>,
    done: Sender<FanOutDone>,
) {
    spawn_local(accept(shard.clone(), endpoint.clone()));
    while let Some(message) = from_tick.recv().await {
        match message {
            ToShard::Tick(publication) => {
                let report = fan_out(&shard, &publication).await;
                // The tick thread takes the publication back as soon as it hears.
                drop(publication);
                if done.send(report).is_err() {
                    break;
                }
            }
            ToShard::Stop(reason) => {
                endpoint.close(VarInt::from_u32(Close::Shutdown.code()), reason.as_bytes());
                break;
            }
        }
    }
    // Gives the closing packets time to leave.
    let _ = tokio::time::timeout(CLOSE_WAIT, endpoint.wait_idle()).await;
}

async fn accept(shard: Rc<RefCell<Shard>>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let mut this = shard.borrow_mut();
        if this.connections >= this.connections_max {
            incoming.refuse();
            continue;
        }
        this.connections += 1;
        let shard = shard.clone();
        spawn_local(async move {
            serve(shard.clone(), incoming).await;
            shard.borrow_mut().connections -= 1;
        });
    }
}

/// A connection from its first packet to its last.
async fn serve(shard: Rc<RefCell<Shard>>, incoming: Incoming) {
    let connection = match incoming.await {
        Ok(connection) => connection,
        Err(error) => return debug!(%error, "a connection failed before its handshake ended"),
    };
    let world = shard.borrow().world.clone();
    let (send, receive, hello) = match handshake::receive_hello(&connection, &world).await {
        Ok(received) => received,
        Err(refusal) => {
            debug!(reason = %refusal.reason, "a client was refused");
            shard.borrow().note_refusal(&refusal);
            return close(&connection, refusal.close, &refusal.reason);
        }
    };
    let per_second = world.config.limits.client_requests_per_second;
    let unanswered = Unanswered::new(per_second);
    let mut requests = Requests::new(receive, per_second, unanswered.clone());
    let session = Session::new(connection.clone(), send, unanswered, &world.config.limits);
    let session = shard.borrow_mut().admit(session, &hello);
    let mut datagram = ClientDatagram::default();
    let end = loop {
        let taken = tokio::select! {
            received = connection.read_datagram() => match received {
                Ok(bytes) => match world.commands.decode(&bytes, &mut datagram) {
                    Ok(()) => shard.borrow_mut().take_in(session, &datagram),
                    Err(error) => Err(error.to_string()),
                },
                Err(error) => break error,
            },
            asked = requests.next() => match asked {
                Ok(message) => shard.borrow_mut().ask(session, message),
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(reason) = taken {
            debug!(%reason, "a client sent what cannot be read");
            shard.borrow().inbox.lock().refusals.malformed += 1;
            close(&connection, Close::Malformed, &reason);
        }
    };
    debug!(%end, "a session ended");
    shard.borrow_mut().remove(session, &end);
}

fn close(connection: &Connection, close: Close, reason: &str) {
    connection.close(VarInt::from_u32(close.code()), reason.as_bytes());
}

/// Tells every client of one tick. Lets go of the thread now and then, so that
/// thousands of clients don't keep the transport from sending.
async fn fan_out(shard: &Rc<RefCell<Shard>>, publication: &Publication) -> FanOutDone {
    let sessions = shard.borrow_mut().begin_tick(publication);
    for (i, some) in sessions.chunks(SESSIONS_BETWEEN_YIELDS).enumerate() {
        if i > 0 {
            yield_now().await;
        }
        shard.borrow_mut().tell(some, publication);
    }
    shard.borrow_mut().end_tick(sessions, publication.tick)
}

/// Sessions and what serving them needs.
pub struct Shard {
    number: usize,
    world: Arc<ShardWorld>,
    inbox: SharedInbox,
    sessions: HashMap<SessionId, Session>,
    next_session: SessionId,
    /// Handshakes and sessions.
    connections: usize,
    connections_max: usize,
    /// Kept between ticks for its memory.
    order: Vec<SessionId>,
    scratch: Scratch,
    report: FanOutDone,
}

/// Buffers that every session's fan-out uses in turn.
#[derive(Default)]
pub struct Scratch {
    pub stream: BitWriter,
    pub datagram: BitWriter,
    /// Entities whose movement a client is sent, ascending.
    pub slots: Vec<u32>,
    pub merged: Vec<u32>,
    pub pending: Vec<session::Pending>,
}

impl Shard {
    fn new(number: usize, world: Arc<ShardWorld>, inbox: SharedInbox) -> Shard {
        // Room for all to come back while their old connections linger, and for
        // some to be told that there is none.
        let connections_max = 2 * world.config.limits.clients as usize + CONNECTIONS_SPARE;
        Shard {
            number,
            connections: 0,
            connections_max,
            world,
            inbox,
            sessions: HashMap::new(),
            next_session: 0,
            order: vec![],
            scratch: Scratch::default(),
            report: empty_report(),
        }
    }

    fn note_refusal(&self, refusal: &handshake::Refusal) {
        if refusal.close == Close::Malformed {
            self.inbox.lock().refusals.malformed += 1;
        }
    }

    /// A client that said a valid hello becomes a session, and asks the tick for
    /// its entity.
    fn admit(&mut self, new: Session, hello: &Hello) -> SessionId {
        let session = self.next_session;
        self.next_session += 1;
        self.sessions.insert(session, new);
        self.inbox.lock().joins.push(Join {
            session,
            resume: hello.resume,
        });
        session
    }

    fn take_in(&mut self, session: SessionId, datagram: &ClientDatagram) -> Result<(), String> {
        match self.sessions.get_mut(&session) {
            Some(session) => session.take_in(datagram, &self.world.commands, &self.inbox),
            None => Ok(()),
        }
    }

    /// Hands on what a client asks for. An error is a client that asks too early.
    fn ask(&mut self, id: SessionId, message: SessionMessage) -> Result<(), String> {
        let Some(session) = self.sessions.get(&id) else {
            return Ok(());
        };
        let Some(client) = session.client() else {
            return Err("a request before the welcome".to_owned());
        };
        let SessionMessage { request, body } = message;
        let limit = self.world.config.limits.predicate_bytes as usize;
        let body = match body {
            // Many of these may wait.
            Body::Subscribe { predicate, .. } if predicate.len() > limit => {
                let found = predicate.len();
                Err(SubscribeError::LongText { found, limit }.to_string())
            }
            body => Ok(body),
        };
        self.inbox.lock().asks.push(Ask {
            session: id,
            client,
            request,
            body,
        });
        Ok(())
    }

    fn remove(&mut self, id: SessionId, end: &ConnectionError) {
        let Some(session) = self.sessions.remove(&id) else {
            return;
        };
        let bye = u64::from(Close::Bye.code());
        let is_final = matches!(end, ConnectionError::ApplicationClosed(close)
            if close.error_code.into_inner() == bye);
        if !is_final && !session.is_ending {
            self.report.lost += 1;
        }
        self.inbox.lock().leaves.push(Leave {
            session: id,
            client: session.client(),
            is_final,
        });
    }

    fn begin_tick(&mut self, publication: &Publication) -> Vec<SessionId> {
        for notice in &publication.notices[self.number] {
            self.notice(notice, publication);
        }
        self.report = FanOutDone {
            lost: self.report.lost,
            taken_in: publication.tick,
            ..empty_report()
        };
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(self.sessions.keys());
        order
    }

    fn tell(&mut self, sessions: &[SessionId], publication: &Publication) {
        for id in sessions {
            if let Some(session) = self.sessions.get_mut(id) {
                session.tell(
                    publication,
                    &self.world,
                    &mut self.scratch,
                    &mut self.report,
                );
            }
        }
    }

    fn end_tick(&mut self, order: Vec<SessionId>, tick: Tick) -> FanOutDone {
        self.order = order;
        self.report.sessions = self.sessions.len() as u64;
        self.report.finished = Instant::now();
        debug!(%tick, sessions = self.report.sessions, "fanned out");
        let report = self.report;
        self.report.lost = 0;
        report
    }

    /// Acts on what the tick decided about sessions.
    fn notice(&mut self, notice: &Notice, publication: &Publication) {
        match notice {
            Notice::Assigned { session, .. } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.assign(notice, publication.tick, &self.world);
                }
            }
            Notice::Reborn { session, entity } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.be_reborn(*entity);
                }
            }
            Notice::Answered { session, answer } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.answers.push(answer.clone());
                    session.unanswered.answer();
                }
            }
            Notice::Closed {
                session,
                close: code,
                reason,
            } => {
                if let Some(session) = self.sessions.get_mut(session) {
                    session.is_ending = true;
                    close(&session.connection, *code, reason);
                }
            }
        }
    }
}

fn empty_report() -> FanOutDone {
    FanOutDone {
        finished: Instant::now(),
        taken_in: Tick(0),
        sessions: 0,
        datagrams: 0,
        datagram_bytes: 0,
        stream_bytes: 0,
        notices: 0,
        notices_full: 0,
        lost: 0,
    }
}

/// Each takes a few microseconds: long enough apart to matter little, short
/// enough that acknowledgements and handshakes go on.
const SESSIONS_BETWEEN_YIELDS: usize = 1024;
const CLOSE_WAIT: Duration = Duration::from_millis(500);
const CONNECTIONS_SPARE: usize = 64;
