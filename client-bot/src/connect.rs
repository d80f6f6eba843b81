//! Which server to trust, how to speak with it, and why a connection ended.

use std::hash::{BuildHasher, RandomState};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use client_core::{Ending, GameOptions, LossCode};
use program::within::within_saying;
use quic::Addresses;
use quic::proto::crypto::rustls::QuicClientConfig;
use quic::proto::{
    ClientConfig, ConnectError, ConnectionError, TransportConfig, TransportErrorCode, VarInt,
};
use quic::trust::verifier;
use quic::{DATAGRAM_BUFFER_BYTES, ThinFlowConfig, Turns};
use rustls::SupportedCipherSuite;
use rustls::crypto::ring::cipher_suite::{
    TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
};
use rustls::crypto::{CryptoProvider, ring};
use shared::wire::control::Close;
use shared::wire::{self, DecodeError};
use thiserror::Error;

pub use client_core::hello;
pub use quic::trust::{Trust, TrustError, fingerprint};

/// The host in a server's address: the name that its certificate carries, unless another is given.
pub fn host_of(server: &str) -> &str {
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    host.trim_matches(['[', ']'])
}

/// Looks up a server's addresses, as `127.0.0.1:4433` or `example.com:4433`. It may take a while.
pub fn addresses_of(server: &str) -> Result<Addresses, ClientError> {
    addresses_saying(server, || ())
}

/// The same; calls `say` if it takes long.
fn addresses_saying(server: &str, say: impl FnOnce()) -> Result<Addresses, ClientError> {
    let unknown = |message: String| ClientError::Address {
        server: server.to_owned(),
        message,
    };
    let found = look_up(server, say).map_err(|error| unknown(error.to_string()))?;
    Addresses::new(found).ok_or_else(|| unknown("it has none".to_owned()))
}

/// Looks up a name, for as long as a resolver with two servers takes. An address in numbers needs
/// no thread for that.
fn look_up(server: &str, say: impl FnOnce()) -> std::io::Result<Vec<SocketAddr>> {
    if let Ok(address) = server.parse() {
        return Ok(vec![address]);
    }
    let name = server.to_owned();
    within_saying(LOOK_UP_PATIENCE, say, move || {
        Ok(name.to_socket_addrs()?.collect())
    })?
}

/// The same for a command line that can use only one: the first of them.
pub fn resolve(server: &str) -> Result<SocketAddr, ClientError> {
    let say = || {
        #[cfg(feature = "bots")]
        program::note!("waiting for the address of {server}");
    };
    Ok(addresses_saying(server, say)?.first())
}

/// Looks up addresses that a server has named, for sockets of the family that reaches `server`.
/// It may take a while, unless it is an address in numbers.
#[cfg(feature = "bots")]
pub(crate) fn addresses_named(address: &str, server: SocketAddr) -> Result<Addresses, ClientError> {
    let found = addresses_of(address)?;
    let reached = found.iter();
    let reached = reached.filter(|address| address.is_ipv4() == server.is_ipv4());
    Addresses::new(reached).ok_or_else(|| ClientError::Address {
        server: address.to_owned(),
        message: format!("the socket that reaches {server} reaches none of it"),
    })
}

/// Why a connection could not be opened, or why it ended.
#[derive(Debug, Error)]
pub enum ClientError {
    /// A text that should be an address is none, or names nothing.
    #[error("{server:?} is not an address, expected HOST:PORT: {message}")]
    Address {
        /// The text.
        server: String,
        /// What is wrong with it.
        message: String,
    },
    /// The system gives no socket.
    #[error("cannot open a socket: {0}")]
    Socket(std::io::Error),
    /// What is trusted can't be used.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// The server's certificate can't be checked in this way.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The connection can't begin.
    #[error("cannot connect: {0}")]
    Connect(#[from] ConnectError),
    /// Before the welcome.
    #[error("the server refused: {}", .0.reason)]
    Refused(Ending),
    /// It follows another server, which has the players.
    #[error("{0}")]
    Standby(String),
    /// It has not answered.
    #[error("no welcome from {server} within {seconds} seconds")]
    TimedOut {
        /// Where it was tried.
        server: Addresses,
        /// For how long.
        seconds: f64,
    },
    /// After the welcome.
    #[error("the connection ended: {}", .0.reason)]
    Ended(Ending),
    /// The server speaks something else.
    #[error("cannot read what the server sent: {0}")]
    Unreadable(#[from] DecodeError),
}

impl ClientError {
    /// An end without words of the server.
    #[cfg(any(feature = "bots", feature = "tokio"))]
    pub(crate) fn ended(reason: impl ToString) -> ClientError {
        ClientError::Ended(Ending::new(LossCode::Other, reason.to_string()))
    }

    /// Why, for programs.
    pub fn code(&self) -> LossCode {
        match self {
            ClientError::Ended(ending) | ClientError::Refused(ending) => ending.code,
            ClientError::Standby(_) => Close::Standby.into(),
            ClientError::Unreadable(_) => Close::Malformed.into(),
            ClientError::Address { .. } => LossCode::NameNotFound,
            ClientError::TimedOut { .. } => LossCode::TimedOut,
            ClientError::Socket(_) | ClientError::Connect(_) => LossCode::Unreachable,
            ClientError::Trust(_) | ClientError::Tls(_) => LossCode::Other,
        }
    }

    /// The same for a [`Game`](client_core::Game).
    #[cfg(any(feature = "bots", feature = "tokio"))]
    pub(crate) fn ending(&self) -> Ending {
        match self {
            ClientError::Ended(ending) | ClientError::Refused(ending) => ending.clone(),
            other => Ending::new(other.code(), other.to_string()),
        }
    }
}

/// Why a connection ended, in the server's words if it gave any.
pub fn ending(error: &ConnectionError) -> Ending {
    let code = match error {
        ConnectionError::ApplicationClosed(close) => {
            let reason = String::from_utf8_lossy(&close.reason);
            return Ending::closed(close.error_code.into_inner(), &reason);
        }
        ConnectionError::TransportError(error) if is_of_certificate(error.code) => {
            let reason = format!("{}: {}", LossCode::Untrusted.words(), error.reason);
            return Ending::new(LossCode::Untrusted, reason);
        }
        ConnectionError::ConnectionClosed(close)
            if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
        {
            return Ending::new(
                LossCode::Unreachable,
                "the server takes no more connections for now",
            );
        }
        ConnectionError::TimedOut => LossCode::TimedOut,
        ConnectionError::Reset => LossCode::Unreachable,
        _ => LossCode::Other,
    };
    Ending::new(code, error.to_string())
}

/// Whether a client ends a handshake in this way since the server's certificate, or the proof
/// that it has the key, is not what it should be.
fn is_of_certificate(code: TransportErrorCode) -> bool {
    let mut alerts = CERTIFICATE_ALERTS.iter();
    alerts.any(|&alert| code == TransportErrorCode::crypto(alert))
}

/// The time of a resolver that queries two servers twice.
const LOOK_UP_PATIENCE: Duration = Duration::from_secs(20);

/// The alerts of TLS from `bad_certificate` to `certificate_unknown`, `unknown_ca`,
/// `access_denied` and `decrypt_error` (RFC 8446, section 6).
const CERTIFICATE_ALERTS: &[u8] = &[42, 43, 44, 45, 46, 48, 49, 51];

/// The same as an error.
pub fn ended(error: ConnectionError) -> ClientError {
    let ending = ending(&error);
    match ending.code {
        LossCode::Closed(
            Close::Refused
            | Close::Full
            | Close::Banned
            | Close::Unauthorized
            | Close::Outdated
            | Close::SchemaMismatch,
        ) => ClientError::Refused(ending),
        LossCode::Closed(Close::Standby) => ClientError::Standby(ending.reason),
        _ => ClientError::Ended(ending),
    }
}

/// Options with waits that are this client's own, if no seed was given: clients that are lost
/// together do not come back together.
pub(crate) fn seeded(mut options: GameOptions, server: &Addresses) -> GameOptions {
    if options.retry.seed == 0 {
        options.retry.seed = RandomState::new().hash_one(server);
    }
    options
}

/// The QUIC settings of connections to a server. Each of `turns` lets each of them send a
/// packet.
pub fn client_config(trust: &Trust, turns: Turns) -> Result<ClientConfig, ClientError> {
    let provider = Arc::new(CryptoProvider {
        cipher_suites: CIPHERS.to_vec(),
        ..ring::default_provider()
    });
    let tls_error = |error: &dyn std::fmt::Display| ClientError::Tls(error.to_string());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| tls_error(&e))?
        .dangerous()
        .with_custom_certificate_verifier(verifier(trust, provider)?)
        .with_no_client_auth();
    tls.alpn_protocols = wire::ALPNS.map(<[u8]>::to_vec).to_vec();
    let crypto = QuicClientConfig::try_from(tls).map_err(|e| tls_error(&e))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(256 * 1024))
        .receive_window(VarInt::from_u32(256 * 1024))
        .datagram_receive_buffer_size(Some(64 * 1024))
        // A datagram holds all that is unprocessed, so only the newest is of use.
        .datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES)
        .congestion_controller_factory(Arc::new(ThinFlowConfig::new(turns)))
        // As the server's: the first packets are the longest, and narrow links take long for them.
        .initial_rtt(Duration::from_millis(150))
        .mtu_discovery_config(None);
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// The fastest one first, where the processor helps; a server takes the first that it supports.
const CIPHERS: &[SupportedCipherSuite] = &[
    TLS13_AES_128_GCM_SHA256,
    TLS13_AES_256_GCM_SHA384,
    TLS13_CHACHA20_POLY1305_SHA256,
];
