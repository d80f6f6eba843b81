//! Connections for the client on tokio: sockets and the handshake.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use client_core::{Handshake, Route, Session, Welcomed};
use quic::Turns;
use quinn::{Connection, Endpoint, EndpointConfig, RecvStream, SendStream, TokioRuntime};
use shared::wire::DecodeError;
use shared::wire::control::{Hello, Welcome};

use crate::connect::{ClientError, Trust, client_config, ended, resolve_told};

/// A socket from which to connect.
pub struct Connector {
    endpoint: Endpoint,
    turns: Turns,
    server: SocketAddr,
    name: String,
    timeout: Duration,
}

/// A connection that the server has welcomed.
pub struct Connected {
    pub connection: Connection,
    /// The client's end of the stream, for requests.
    pub send: SendStream,
    pub receive: RecvStream,
    pub welcome: Welcome,
    pub session: Session,
    /// Bytes of the stream behind the welcome, see [`Welcomed::rest`].
    pub rest: Vec<u8>,
    /// Each lets a packet out, however bad the way is.
    pub turns: Turns,
}

impl Connector {
    /// Opens a socket for connections to one server, whose certificate must carry `name`
    /// if an authority signed it. Must be called inside a tokio runtime.
    pub fn new(server: SocketAddr, name: &str, trust: &Trust) -> Result<Connector, ClientError> {
        let any: IpAddr = match server {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = quic::socket::bind(SocketAddr::new(any, 0));
        let mut endpoint = Endpoint::new(
            EndpointConfig::default(),
            None,
            socket.map_err(ClientError::Socket)?,
            Arc::new(TokioRuntime),
        )
        .map_err(ClientError::Socket)?;
        let turns = Turns::default();
        endpoint.set_default_client_config(client_config(trust, turns.clone())?);
        Ok(Connector {
            endpoint,
            turns,
            server,
            name: name.to_owned(),
            timeout: CONNECT_TIMEOUT,
        })
    }

    /// From here on an attempt may take so long until the welcome, instead of 5 seconds.
    pub fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Waits until the close of every connection is sent, for a second at most.
    pub async fn wait_idle(&self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.endpoint.wait_idle()).await;
    }

    /// Connects, sends the hello and waits for the welcome.
    pub async fn connect(&self, hello: &Hello) -> Result<Connected, ClientError> {
        self.connect_within(self.timeout, self.server, hello).await
    }

    /// The same, to the server whose turn it is. An answer takes about `round_trip`.
    pub async fn connect_by(
        &self,
        route: &Route,
        round_trip: Duration,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let patience = route.patience(self.timeout, round_trip);
        let server = match route.address() {
            None => self.server,
            Some(told) => {
                let (told, server) = (told.to_owned(), self.server);
                let found = tokio::task::spawn_blocking(move || resolve_told(&told, server));
                let found = tokio::time::timeout(patience, found).await;
                let seconds = patience.as_secs_f64();
                match found {
                    Ok(Ok(found)) => found?,
                    _ => return Err(ClientError::TimedOut { server, seconds }),
                }
            }
        };
        self.connect_within(patience, server, hello).await
    }

    async fn connect_within(
        &self,
        patience: Duration,
        server: SocketAddr,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let connecting = tokio::time::timeout(patience, self.try_connect(server, hello));
        connecting.await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                server,
                seconds: patience.as_secs_f64(),
            })
        })
    }

    async fn try_connect(
        &self,
        server: SocketAddr,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let connecting = self.endpoint.connect(server, &self.name)?;
        let connection = connecting.await.map_err(ended)?;
        let (mut send, mut receive) = connection.open_bi().await.map_err(ended)?;
        let Welcomed {
            welcome,
            session,
            rest,
        } = match shake_hands(hello, &mut send, &mut receive).await {
            Ok(welcomed) => welcomed,
            Err(HandshakeError::Unreadable(error)) => return Err(error.into()),
            // The connection's own end says more than the stream's.
            Err(HandshakeError::Stream(message)) => {
                let reason = connection.close_reason();
                return Err(reason.map_or(ClientError::Ended(message), ended));
            }
        };
        Ok(Connected {
            connection,
            send,
            receive,
            welcome,
            session,
            rest,
            turns: self.turns.clone(),
        })
    }
}

enum HandshakeError {
    /// The stream has ended.
    Stream(String),
    Unreadable(DecodeError),
}

async fn shake_hands(
    hello: &Hello,
    send: &mut SendStream,
    receive: &mut RecvStream,
) -> Result<Welcomed, HandshakeError> {
    let mut handshake = Handshake::new(hello);
    let ended = |error: &dyn std::fmt::Display| HandshakeError::Stream(error.to_string());
    send.write_all(handshake.stream_bytes())
        .await
        .map_err(|e| ended(&e))?;
    loop {
        let chunk = receive.read_chunk(CHUNK_BYTES_MAX, true).await;
        let chunk = chunk.map_err(|e| ended(&e))?;
        let chunk = chunk.ok_or_else(|| ended(&"the stream is finished"))?;
        let welcomed = handshake.handle_stream(&chunk.bytes);
        if let Some(welcomed) = welcomed.map_err(HandshakeError::Unreadable)? {
            return Ok(welcomed);
        }
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CHUNK_BYTES_MAX: usize = 64 * 1024;
