//! At the tick host: the port that gateways connect to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use accounts::moment::Moment;
use anyhow::{Result, anyhow, bail};
use frontend::wire::MESSAGE_BYTES_MAX;
use peer::arrivals::Failure;
use peer::frames::{FrameReader, NextError};
use peer::port::{Port, Purpose, clients_at};
use peer::trust::LinkKey;
use platform::metrics::table;
use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::message::{HELLO_BYTES_MAX, Hello, PROTOCOL, ToGateway, ToHost};
use super::places::{LinkTotals, Places, Seat};

/// An open port. Dropping it closes it.
pub struct GatewayPort {
    port: Port,
    places: Arc<Places>,
}

impl GatewayPort {
    /// Opens the port at an address; port 0 picks a free one.
    pub fn open(address: SocketAddr, key: &LinkKey, places: Arc<Places>) -> Result<GatewayPort> {
        let served = places.clone();
        let work = move |from, connected| serve(from, connected, served.clone());
        let port = Port::open(address, key.server_config(&PROTOCOL)?, PURPOSE, work)?;
        Ok(GatewayPort { port, places })
    }

    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// What has passed between the tick host and its gateways.
    pub fn totals(&self) -> LinkTotals {
        self.places.totals()
    }
}

async fn serve(from: SocketAddr, connected: Result<Connection, Failure>, places: Arc<Places>) {
    let result = match connected {
        Ok(connection) => converse(connection, &places).await,
        Err(failure) => {
            table::GATEWAYS_REFUSED.add_to(failure.reason(), 1);
            Err(failure.into())
        }
    };
    if let Err(error) = result {
        warn!(%from, error = format!("{error:#}"), "a gateway's connection has ended");
    }
}

async fn converse(connection: Connection, places: &Places) -> Result<()> {
    let mut reader = FrameReader::new(HELLO_BYTES_MAX);
    let Ok(greeted) = timeout(HELLO_WAIT, greet(&connection, &mut reader)).await else {
        table::GATEWAYS_REFUSED.add_to("silent", 1);
        bail!("no hello in {} seconds", HELLO_WAIT.as_secs());
    };
    let (mut send, receive, mut hello) = greeted?;
    reader.set_limit(MESSAGE_BYTES_MAX);
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
    reader: &mut FrameReader,
) -> Result<(SendStream, RecvStream, Hello)> {
    let (send, mut receive) = connection.accept_bi().await?;
    let refusal = match reader.next(&mut receive).await {
        Ok(ToHost::Hello(hello)) => return Ok((send, receive, hello)),
        Ok(_) => anyhow!("the first message is no hello"),
        Err(error) => error.into(),
    };
    table::GATEWAYS_REFUSED.add_to("malformed", 1);
    Err(refusal)
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
    mut reader: FrameReader,
) -> Result<()> {
    loop {
        let message = match reader.next::<ToHost>(&mut receive).await {
            Ok(message) => message,
            Err(NextError::Finished) => {
                debug!("a gateway has finished its stream");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if !places.receive(seat, message, Moment::now()) {
            return Ok(());
        }
    }
}

const PURPOSE: Purpose = Purpose {
    thread: "gateways",
    name: "the port for gateways",
    goodbye: "the tick host stops",
};
const HELLO_WAIT: Duration = Duration::from_secs(3);
const GOODBYE: Duration = Duration::from_millis(500);
