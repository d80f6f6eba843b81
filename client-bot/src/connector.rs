//! Connections for the client on tokio: sockets and the handshake.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use client_core::{Handshake, Welcomed};
use quic::Turns;
use quinn::{Connection, Endpoint, EndpointConfig, RecvStream, SendStream, TokioRuntime, VarInt};
use shared::wire::DecodeError;
use shared::wire::control::{Close, Hello};

use crate::connect::{ClientError, Trust, client_config, ended, resolve_told};

/// A socket from which to connect.
#[derive(Clone)]
pub struct Connector {
    endpoint: Endpoint,
    turns: Turns,
    server: SocketAddr,
    name: String,
}

/// A connection that the server has welcomed.
pub struct Connected {
    pub connection: Connection,
    /// The client's end of the stream, for requests.
    pub send: SendStream,
    pub receive: RecvStream,
    pub welcomed: Welcomed,
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
        })
    }

    /// The server that it was made for.
    pub(crate) fn server(&self) -> SocketAddr {
        self.server
    }

    /// Lets each connection send a packet, however bad the way is.
    pub(crate) fn begin_turn(&self) {
        self.turns.begin();
    }

    /// Waits until the close of every connection is sent, for a second at most.
    pub async fn wait_idle(&self) {
        let _ = tokio::time::timeout(Duration::from_secs(1), self.endpoint.wait_idle()).await;
    }

    /// Connects, sends the hello and waits for the welcome, for 5 seconds at most.
    pub async fn connect(&self, hello: &Hello) -> Result<Connected, ClientError> {
        self.connect_within(CONNECT_TIMEOUT, hello).await
    }

    /// The same, for so long at most.
    pub(crate) async fn connect_within(
        &self,
        longest: Duration,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let server = self.server;
        let connecting = tokio::time::timeout(longest, self.try_connect(server, hello));
        connecting.await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                server,
                seconds: longest.as_secs_f64(),
            })
        })
    }

    /// The same without a time-out, to an address that a server has told.
    pub(crate) async fn connect_told(
        &self,
        told: Option<String>,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let server = self.server;
        let server = match told {
            None => server,
            Some(told) => {
                let found = tokio::task::spawn_blocking(move || resolve_told(&told, server));
                found.await.map_err(|error| ClientError::Address {
                    server: server.to_string(),
                    message: error.to_string(),
                })??
            }
        };
        self.try_connect(server, hello).await
    }

    async fn try_connect(
        &self,
        server: SocketAddr,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let connecting = self.endpoint.connect(server, &self.name)?;
        let connection = connecting.await.map_err(ended)?;
        let attempt = Attempt(Some(connection.clone()));
        let (mut send, mut receive) = connection.open_bi().await.map_err(ended)?;
        let welcomed = match shake_hands(hello, &mut send, &mut receive).await {
            Ok(welcomed) => welcomed,
            Err(HandshakeError::Unreadable(error)) => return Err(error.into()),
            // The connection's own end says more than the stream's.
            Err(HandshakeError::Stream(message)) => {
                let reason = connection.close_reason();
                return Err(reason.map_or_else(|| ClientError::ended(message), ended));
            }
        };
        attempt.succeed();
        Ok(Connected {
            connection,
            send,
            receive,
            welcomed,
        })
    }
}

/// A connection that is not welcomed yet.
struct Attempt(Option<Connection>);

impl Attempt {
    fn succeed(mut self) {
        self.0 = None;
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            // Not for good: the client may want to resume, and the welcome may be on its way.
            let code = VarInt::from_u32(Close::Resumed.code());
            connection.close(code, b"no welcome in time");
        }
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
