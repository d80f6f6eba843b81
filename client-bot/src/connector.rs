//! Connections for the client on tokio: sockets and the handshake.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use client_core::{Handshake, Welcomed};
use quic::Addresses;
use quic::Turns;
use quic::race;
use quinn::{
    ClientConfig, Connecting, Connection, Endpoint, EndpointConfig, RecvStream, SendStream,
    TokioRuntime, VarInt,
};
use shared::wire::DecodeError;
use shared::wire::control::{Close, Hello};

use crate::connect::{ClientError, Trust, addresses_of, client_config, ended};

/// Endpoints from which to connect.
#[derive(Clone)]
pub struct Connector {
    sockets: Arc<Endpoints>,
    turns: Turns,
    server: Addresses,
    name: String,
}

/// Endpoints of those families that were needed.
struct Endpoints {
    v4: OnceLock<Endpoint>,
    v6: OnceLock<Endpoint>,
    config: ClientConfig,
}

/// A connection that the server has welcomed.
pub struct Connected {
    /// Of QUIC.
    pub connection: Connection,
    /// The client's end of the stream, for requests.
    pub send: SendStream,
    /// The server's end of the stream.
    pub receive: RecvStream,
    /// What it was welcomed with.
    pub welcomed: Welcomed,
}

impl Connector {
    /// Opens sockets for connections to one server, whose certificate must carry `name`
    /// if an authority signed it. Must be called inside a tokio runtime.
    ///
    /// Of [several addresses](crate::connect::addresses_of) the one that answers first is used: the
    /// next one is tried after a quarter of a second.
    pub fn new(
        server: impl Into<Addresses>,
        name: &str,
        trust: &Trust,
    ) -> Result<Connector, ClientError> {
        let server = server.into();
        let turns = Turns::default();
        let sockets = Endpoints {
            v4: OnceLock::new(),
            v6: OnceLock::new(),
            config: client_config(trust, turns.clone())?,
        };
        // Not every machine has both families.
        let opened = server.iter().map(|to| sockets.towards(to));
        opened.reduce(Result::or).transpose()?;
        Ok(Connector {
            sockets: Arc::new(sockets),
            turns,
            server,
            name: name.to_owned(),
        })
    }

    /// The server that it was made for.
    pub(crate) fn server(&self) -> &Addresses {
        &self.server
    }

    /// Tries this address of the server first from now on, as it was reached.
    pub(crate) fn prefer(&mut self, reached: SocketAddr) {
        self.server.prefer(reached);
    }

    /// Lets each connection send a packet, however bad the way is.
    pub(crate) fn begin_turn(&self) {
        self.turns.begin();
    }

    /// Waits until the close of every connection is sent, for a second at most.
    pub async fn wait_idle(&self) {
        let Endpoints { v4, v6, .. } = &*self.sockets;
        let idle = async {
            for endpoint in [v4, v6].into_iter().filter_map(OnceLock::get) {
                endpoint.wait_idle().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), idle).await;
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
        let connecting = tokio::time::timeout(longest, self.try_connect(&self.server, hello));
        connecting.await.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                server: self.server.clone(),
                seconds: longest.as_secs_f64(),
            })
        })
    }

    /// The same without a time-out, to an address that a server has named.
    pub(crate) async fn connect_to(
        &self,
        address: Option<String>,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let Some(address) = address else {
            return self.try_connect(&self.server, hello).await;
        };
        let found = tokio::task::spawn_blocking(move || addresses_of(&address));
        let found = found.await.map_err(ClientError::ended)??;
        self.try_connect(&found, hello).await
    }

    async fn try_connect(
        &self,
        server: &Addresses,
        hello: &Hello,
    ) -> Result<Connected, ClientError> {
        let connection = self.reach(server).await?;
        let attempt = PendingWelcome(Some(connection.clone()));
        let (mut send, mut receive) = connection.open_bi().await.map_err(ended)?;
        let welcomed = match shake_hands(hello, &mut send, &mut receive).await {
            Ok(welcomed) => welcomed,
            Err(HandshakeError::Unreadable(error)) => return Err(error.into()),
            // The connection's error is more precise than the stream's.
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

    /// Connects to the address that answers first. Attempts that are dropped are closed.
    async fn reach(&self, server: &Addresses) -> Result<Connection, ClientError> {
        race::first(server, |address| {
            let connecting = self.open(address)?;
            Ok(async move { connecting.await.map_err(ended) })
        })
        .await
    }

    fn open(&self, address: SocketAddr) -> Result<Connecting, ClientError> {
        Ok(self
            .sockets
            .towards(address)?
            .connect(address, &self.name)?)
    }
}

impl Endpoints {
    /// The socket that reaches an address.
    fn towards(&self, address: SocketAddr) -> Result<&Endpoint, ClientError> {
        let (any, own): (IpAddr, _) = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED.into(), &self.v4),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED.into(), &self.v6),
        };
        if let Some(endpoint) = own.get() {
            return Ok(endpoint);
        }
        let socket = quic::socket::bind(SocketAddr::new(any, 0)).map_err(ClientError::Socket)?;
        let config = EndpointConfig::default();
        let endpoint = Endpoint::new(config, None, socket, Arc::new(TokioRuntime));
        let mut endpoint = endpoint.map_err(ClientError::Socket)?;
        endpoint.set_default_client_config(self.config.clone());
        Ok(own.get_or_init(|| endpoint))
    }
}

/// A connection that is not welcomed yet.
struct PendingWelcome(Option<Connection>);

impl PendingWelcome {
    fn succeed(mut self) {
        self.0 = None;
    }
}

impl Drop for PendingWelcome {
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
