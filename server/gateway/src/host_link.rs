//! At a gateway: the thread with the connection to its tick host. It connects again for as long as
//! the gateway runs.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use frontend::servers::ServerAddress;
use frontend::wire::MESSAGE_BYTES_MAX;
use peer::background::Background;
use peer::connect::connect;
use peer::frames::FrameReader;
use peer::trust::LinkKey;
use platform::metrics::table;
use platform::runtime::runtime;
use quinn::{ClientConfig, Connection, RecvStream, SendStream, VarInt};
use tokio::sync::mpsc as tokio_mpsc;
use tokio::time::sleep;
use tracing::{info, warn};

use super::message::{Hello, PROTOCOL, ToGateway, ToHost, VERSION, World};

/// Where a gateway finds its world, and where clients find it.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The ports for gateways of the tick host and of its standby, as HOST:PORT.
    pub hosts: Vec<String>,
    pub key: Arc<LinkKey>,
    /// Where clients reach the gateway, as HOST:PORT, or only :PORT.
    pub clients_at: String,
    /// The address of its page for browsers; empty: others do not name it.
    pub page_at: String,
    /// For people.
    pub name: String,
}

/// What arrives from the tick host.
pub enum FromHost {
    /// The world, with the way to its tick host. Ticks follow.
    World(Box<World>, Outgoing),
    Tick {
        bytes: Vec<u8>,
        arrived: Instant,
        /// When input for it was to be sent from here at the latest.
        closed: Instant,
    },
    Others(Vec<ServerAddress>),
    Inspect(u64, Option<Vec<u64>>),
    /// The connection has ended.
    Lost,
}

/// The messages to the tick host of one connection.
#[derive(Clone)]
pub struct Outgoing(tokio_mpsc::UnboundedSender<Vec<u8>>);

/// The thread. Dropping this ends it.
pub struct HostLink {
    from_host: Receiver<FromHost>,
    _thread: Background,
}

impl Outgoing {
    /// For a connection, which sends what the other end gets.
    pub fn channel() -> (Outgoing, tokio_mpsc::UnboundedReceiver<Vec<u8>>) {
        let (sender, messages) = tokio_mpsc::unbounded_channel();
        (Outgoing(sender), messages)
    }

    /// False if the connection has ended.
    pub fn send(&self, message: &ToHost) -> bool {
        let bytes = message.encode();
        table::GATEWAY_BYTES.add_to("up", bytes.len() as u64);
        self.0.send(bytes).is_ok()
    }
}

impl FromHost {
    /// What a message of a connection means to the loop. Fails if the tick host refuses the gateway.
    pub fn new(
        message: ToGateway,
        outgoing: &Outgoing,
        arrived: Instant,
        round_trip: Duration,
    ) -> Result<FromHost> {
        Ok(match message {
            ToGateway::World(world) => FromHost::World(world, outgoing.clone()),
            ToGateway::Tick(bytes, age) => FromHost::Tick {
                bytes,
                arrived,
                closed: earlier(arrived, age + round_trip),
            },
            ToGateway::Others(others) => FromHost::Others(others),
            ToGateway::Inspect(request, some) => FromHost::Inspect(request, some),
            ToGateway::Refused(reason) => bail!("the tick host refuses this gateway: {reason}"),
        })
    }
}

/// A moment so long before another one; a clock that has just begun has none.
fn earlier(now: Instant, time: Duration) -> Instant {
    now.checked_sub(time).unwrap_or(now)
}

impl HostLink {
    pub fn start(options: HostOptions) -> Result<HostLink> {
        let config = options.key.client_config(&PROTOCOL)?;
        let (to_loop, from_host) = mpsc::channel();
        let work = follow(options, config, to_loop);
        Ok(HostLink {
            from_host,
            _thread: Background::start_abortable("tick-host", runtime()?, work)?,
        })
    }

    /// The next message; none within `patience`.
    pub fn next(&self, patience: Duration) -> Result<Option<FromHost>> {
        match self.from_host.recv_timeout(patience) {
            Ok(message) => Ok(Some(message)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("the thread of the tick host has ended"),
        }
    }

    /// The next message, if it is there.
    pub fn poll(&self) -> Result<Option<FromHost>> {
        match self.from_host.try_recv() {
            Ok(message) => Ok(Some(message)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => bail!("the thread of the tick host has ended"),
        }
    }
}

async fn follow(options: HostOptions, config: ClientConfig, to_loop: mpsc::Sender<FromHost>) {
    let mut logged = String::new();
    for host in options.hosts.iter().cycle() {
        let mut has_world = false;
        let ended = serve(host, &options, &config, &to_loop, &mut has_world).await;
        if has_world && to_loop.send(FromHost::Lost).is_err() {
            return;
        }
        if let Err(error) = ended {
            let reason = format!("{error:#}");
            // One that is away for long is not a line each time.
            if has_world || reason != logged {
                warn!(host, reason, "no tick host");
            }
            logged = reason;
        }
        sleep(RETRY).await;
    }
}

/// Serves one connection until it ends.
async fn serve(
    host: &str,
    options: &HostOptions,
    config: &ClientConfig,
    to_loop: &mpsc::Sender<FromHost>,
    has_world: &mut bool,
) -> Result<()> {
    let (endpoint, connection) = connect(host, config).await?;
    let (mut send, receive) = connection.open_bi().await?;
    let hello = ToHost::Hello(Hello {
        version: VERSION,
        clients_at: options.clients_at.clone(),
        page_at: options.page_at.clone(),
        name: options.name.clone(),
    });
    send.write_all(&hello.encode()).await?;
    let (outgoing, messages) = Outgoing::channel();
    // Either side's end is the end of both.
    let ended = tokio::select! {
        sent = give(send, messages) => sent,
        ended = listen((&connection, receive), host, &outgoing, to_loop, has_world) => ended,
    };
    connection.close(VarInt::from_u32(0), b"the gateway leaves");
    endpoint.close(VarInt::from_u32(0), b"the gateway leaves");
    ended
}

async fn give(
    mut send: SendStream,
    mut messages: tokio_mpsc::UnboundedReceiver<Vec<u8>>,
) -> Result<()> {
    while let Some(message) = messages.recv().await {
        send.write_chunk(message.into()).await?;
    }
    Ok(())
}

async fn listen(
    (connection, mut receive): (&Connection, RecvStream),
    host: &str,
    outgoing: &Outgoing,
    to_loop: &mpsc::Sender<FromHost>,
    has_world: &mut bool,
) -> Result<()> {
    let mut reader = FrameReader::new(MESSAGE_BYTES_MAX);
    loop {
        let message = reader.next::<ToGateway>(&mut receive).await;
        let message = message.context("the link to the tick host")?;
        let message = FromHost::new(message, outgoing, Instant::now(), connection.rtt())?;
        if let FromHost::World(world, _) = &message {
            info!(host, gateway = world.number, "the gateway has its world");
            *has_world = true;
        }
        if to_loop.send(message).is_err() {
            return Ok(());
        }
    }
}

const RETRY: Duration = Duration::from_millis(200);
