//! At the standby: the port for clients, before it takes over. It closes connections at once with
//! the code `Standby`, which shows clients that this machine is up.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use platform::renewal::{Renewals, Shared};
use platform::runtime::runtime;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::crypto::ring;
use rustls::sign::CertifiedKey;
use shared::wire;
use shared::wire::control::Close;
use tokio::time::sleep;
use tracing::{debug, warn};
use transport::browsers::ByProtocol;
use transport::quic::Identity;
use transport::steady::SteadyTime;

use peer::arrivals::{Arrivals, Failure};
use peer::background::{Background, open_port};

/// A port that admits no client. Dropping it closes it.
pub struct ClosedPort {
    address: SocketAddr,
    _serving: Background,
}

impl ClosedPort {
    /// Opens the port at an address; port 0 picks a free one. It answers once there is a
    /// certificate, which a standby gets from its primary, and a key in these files.
    pub fn open(
        address: SocketAddr,
        identity: (PathBuf, PathBuf),
        renewals: Renewals,
    ) -> Result<ClosedPort> {
        let runtime = runtime()?;
        let (endpoint, address) = open_port(&runtime, address, None)?;
        let serve = serve(endpoint, identity, renewals);
        Ok(ClosedPort {
            address,
            _serving: Background::start_abortable("closed-port", runtime, serve)?,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn serve(endpoint: Endpoint, (certificate, key): (PathBuf, PathBuf), renewals: Renewals) {
    let mut logged = String::new();
    let config = loop {
        // The key is there before the certificate is.
        if certificate.exists() {
            match Identity::watched(&renewals, &certificate, &key).and_then(config) {
                Ok(config) => break config,
                Err(error) => {
                    let reason = format!("{error:#}");
                    if reason != logged {
                        warn!("the standby does not answer clients yet: {reason}");
                    }
                    logged = reason;
                }
            }
        }
        sleep(LOOK_PERIOD).await;
    };
    endpoint.set_server_config(Some(config));
    let arrivals = Arrivals::new(HANDSHAKES_MAX);
    while let Some(incoming) = endpoint.accept().await {
        arrivals.take(incoming, HANDSHAKE_WAIT, turn_away);
    }
}

async fn turn_away(from: SocketAddr, connected: Result<Connection, Failure>) {
    match connected {
        Ok(connection) => connection.close(VarInt::from_u32(Close::Standby.code()), REASON),
        Err(Failure::Ended(error)) => debug!(%from, %error, "no client at the standby's port"),
        Err(Failure::Crowded | Failure::Silent) => {}
    }
}

fn config(usual: Shared<CertifiedKey>) -> Result<ServerConfig> {
    let renewed = None;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(ByProtocol { usual, renewed }));
    tls.alpn_protocols = wire::SERVER_ALPNS.map(<[u8]>::to_vec).to_vec();
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).context("the TLS settings do not suit QUIC")?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.time_source(Arc::new(SteadyTime));
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(HANDSHAKE_WAIT.try_into()?));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

const REASON: &[u8] = b"this server is a standby: the players are at its primary";
/// How often to look for the certificate.
const LOOK_PERIOD: Duration = Duration::from_millis(250);
const HANDSHAKE_WAIT: Duration = Duration::from_secs(3);
/// At once: each costs some processor time, which the standby needs for its ticks.
const HANDSHAKES_MAX: usize = 128;
