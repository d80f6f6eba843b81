//! At the tick host: the port that gateways connect to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use accounts::moment::Moment;
use anyhow::{Context, Result, anyhow, bail};
use peer::arrivals::{Arrivals, Failure};
use peer::background::{Background, open_port};
use peer::trust::LinkKey;
use platform::metrics::table;
use platform::runtime::runtime;
use quinn::{Connection, Endpoint, RecvStream, SendStream, VarInt};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::message::{Decode, Hello, PROTOCOL, Reader, ToGateway, ToHost};
use super::places::{LinkTotals, Places, Seat};

/// An open port. Dropping it closes it.
pub struct GatewayPort {
    address: SocketAddr,
    places: Arc<Places>,
    _serving: Background,
}

impl GatewayPort {
    /// Opens the port at an address; port 0 picks a free one.
    pub fn open(address: SocketAddr, key: &LinkKey, places: Arc<Places>) -> Result<GatewayPort> {
        let runtime = runtime()?;
        let config = key.server_config(&PROTOCOL)?;
        let (endpoint, address) =
            open_port(&runtime, address, Some(config)).context("the port for gateways")?;
        let served = places.clone();
        let serve = |stop: Arc<Notify>| async move { serve(endpoint, served, &stop).await };
        Ok(GatewayPort {
            address,
            places,
            _serving: Background::start("gateways", runtime, serve)?,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed between the tick host and its gateways.
    pub fn totals(&self) -> LinkTotals {
        self.places.totals()
    }
}

async fn serve(endpoint: Endpoint, places: Arc<Places>, stop: &Notify) {
    let arrivals = Arrivals::new(HANDSHAKES_MAX);
    loop {
        let incoming = tokio::select! {
            () = stop.notified() => break,
            incoming = endpoint.accept() => incoming,
        };
        let Some(incoming) = incoming else { break };
        let places = places.clone();
        arrivals.take(
            incoming,
            HANDSHAKE_WAIT,
            move |from, connected| async move {
                let result = match connected {
                    Ok(connection) => converse(connection, &places).await,
                    Err(failure) => Err(not_connected(failure)),
                };
                if let Err(error) = result {
                    warn!(%from, error = format!("{error:#}"), "a gateway's connection has ended");
                }
            },
        );
    }
    endpoint.close(VarInt::from_u32(0), b"the tick host stops");
    // Otherwise the other side notices it by a time-out.
    let _ = timeout(GOODBYE, endpoint.wait_idle()).await;
}

fn not_connected(failure: Failure) -> anyhow::Error {
    let (reason, error) = match failure {
        Failure::Crowded => ("crowded", anyhow!("too many connect at once")),
        Failure::Silent => ("silent", anyhow!("no handshake in time")),
        Failure::Ended(error) => ("certificate", error.into()),
    };
    table::GATEWAYS_REFUSED.add_to(reason, 1);
    error
}

async fn converse(connection: Connection, places: &Places) -> Result<()> {
    let mut reader = Reader::of_hello();
    let Ok(greeted) = timeout(HELLO_WAIT, greet(&connection, &mut reader)).await else {
        table::GATEWAYS_REFUSED.add_to("silent", 1);
        bail!("no hello in {} seconds", HELLO_WAIT.as_secs());
    };
    let (mut send, receive, mut hello) = greeted?;
    reader.lift_limit();
    let from = connection.remote_address();
    hello.clients_at = clients_at(&hello.clients_at, from)?;
    let Some(mut seat) = places.take(hello, from) else {
        table::GATEWAYS_REFUSED.add_to("crowded", 1);
        let reason = "all places for gateways are taken: see --gateways-max".to_owned();
        send.write_all(&ToGateway::Refused(reason.clone()).encode())
            .await?;
        send.finish()?;
        // It reads the reason, and closes.
        let _ = timeout(GOODBYE, connection.closed()).await;
        bail!(reason);
    };
    let (sender, outgoing) = tokio::sync::mpsc::unbounded_channel();
    let outgoing = std::mem::replace(&mut seat.outgoing, outgoing);
    drop(sender);
    // Either side's end is the end of both.
    let ended = tokio::select! {
        sent = give(send, outgoing) => sent,
        ended = listen(places, &seat, receive, reader) => ended,
    };
    places.leave(&seat);
    connection.close(VarInt::from_u32(0), b"the gateway is lost");
    ended
}

async fn greet(
    connection: &Connection,
    reader: &mut Reader,
) -> Result<(SendStream, RecvStream, Hello)> {
    let (send, mut receive) = connection.accept_bi().await?;
    match read::<ToHost>(&mut receive, reader).await {
        Ok(ToHost::Hello(hello)) => Ok((send, receive, hello)),
        Ok(_) => {
            table::GATEWAYS_REFUSED.add_to("malformed", 1);
            bail!("the first message is no hello")
        }
        Err(error) => {
            table::GATEWAYS_REFUSED.add_to("malformed", 1);
            Err(error)
        }
    }
}

/// Where clients reach a gateway, from its own setting and the address from which it connects.
fn clients_at(setting: &str, from: SocketAddr) -> Result<String> {
    match setting.strip_prefix(':').map(str::parse) {
        Some(Ok(port)) => Ok(SocketAddr::new(from.ip(), port).to_string()),
        Some(Err(_)) => bail!("{setting} is no port"),
        None => Ok(setting.to_owned()),
    }
}

/// Sends all messages to a gateway, until it is lost.
async fn give(mut send: SendStream, mut outgoing: UnboundedReceiver<Vec<u8>>) -> Result<()> {
    while let Some(message) = outgoing.recv().await {
        send.write_chunk(message.into()).await?;
    }
    Ok(())
}

/// Takes all messages of a gateway.
async fn listen(
    places: &Places,
    seat: &Seat,
    mut receive: RecvStream,
    mut reader: Reader,
) -> Result<()> {
    loop {
        let message = match read::<ToHost>(&mut receive, &mut reader).await {
            Ok(message) => message,
            Err(error) if error.is::<Finished>() => {
                debug!("a gateway has finished its stream");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if !places.receive(seat, message, Moment::now()) {
            return Ok(());
        }
    }
}

/// The stream has ended between two messages.
#[derive(Debug, thiserror::Error)]
#[error("the stream is finished")]
pub struct Finished;

/// The next message of a stream.
pub async fn read<M: Decode>(receive: &mut RecvStream, reader: &mut Reader) -> Result<M> {
    loop {
        if let Some(message) = reader.message()? {
            return Ok(message);
        }
        match receive.read_chunk(CHUNK_BYTES_MAX, true).await? {
            Some(chunk) => {
                reader.push(&chunk.bytes);
            }
            None => return Err(Finished.into()),
        }
    }
}

const CHUNK_BYTES_MAX: usize = 256 << 10;
/// At once, from validated addresses.
const HANDSHAKES_MAX: usize = 128;
const HANDSHAKE_WAIT: Duration = Duration::from_secs(3);
const HELLO_WAIT: Duration = Duration::from_secs(3);
const GOODBYE: Duration = Duration::from_millis(500);
