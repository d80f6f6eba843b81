//! Threads for I/O. Each owns a single-threaded runtime, a socket on the shared port and
//! its connections. Shards share nothing but the read-only [`Publication`].

use std::cell::RefCell;
use std::net::UdpSocket;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use quinn::{Endpoint, EndpointConfig, ServerConfig, VarInt};
use shared::wire::control::Close;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::connection;
use super::shard::{Shard, ShardWorld};
use crate::tick::inbox::SharedInbox;
use crate::tick::publication::{FanOutReport, Publication, ToShard};

/// A shard's ends of the channels to the tick thread.
pub struct Channels {
    pub inbox: SharedInbox,
    pub from_tick: UnboundedReceiver<ToShard>,
    pub reports: Sender<FanOutReport>,
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
        let work = run(shard, endpoint, channels.from_tick, channels.reports);
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
    reports: Sender<FanOutReport>,
) {
    spawn_local(accept(shard.clone(), endpoint.clone()));
    while let Some(message) = from_tick.recv().await {
        match message {
            ToShard::Tick(publication) => {
                let report = fan_out(&shard, &publication).await;
                // The tick thread takes the publication back as soon as it hears.
                drop(publication);
                // A tick thread that has failed takes no reports, but says stop.
                let _ = reports.send(report);
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
        if !shard.borrow_mut().has_room() {
            incoming.refuse();
            continue;
        }
        let shard = shard.clone();
        spawn_local(async move {
            connection::serve(&shard, incoming).await;
            shard.borrow_mut().connection_ended();
        });
    }
}

/// Tells every client of one tick. Lets go of the thread now and then, so that
/// thousands of clients don't keep the transport from sending.
async fn fan_out(shard: &Rc<RefCell<Shard>>, publication: &Publication) -> FanOutReport {
    let sessions = shard.borrow_mut().begin_tick(publication);
    for (i, some) in sessions.chunks(SESSIONS_BETWEEN_YIELDS).enumerate() {
        if i > 0 {
            yield_now().await;
        }
        shard.borrow_mut().tell(some, publication);
    }
    shard.borrow_mut().end_tick(sessions, publication.tick)
}

/// Each takes a few microseconds: long enough apart to matter little, short enough that
/// acknowledgements and handshakes go on.
const SESSIONS_BETWEEN_YIELDS: usize = 1024;
const CLOSE_WAIT: Duration = Duration::from_millis(500);
