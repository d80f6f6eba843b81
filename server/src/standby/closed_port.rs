//! At the standby: the port for clients, before it takes over. Who connects is told at once that
//! the players are elsewhere, and so knows that this machine is up.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, TransportConfig, VarInt};
use rustls::crypto::ring;
use shared::wire;
use shared::wire::control::Close;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tracing::{debug, warn};

use crate::transport::quic::Identity;

/// A port that lets nobody in. Dropping it closes it.
pub struct ClosedPort {
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl ClosedPort {
    /// Opens the port at an address; port 0 picks a free one. It answers once there is a
    /// certificate, which a standby gets from its primary, and a key in these files.
    pub fn open(address: SocketAddr, identity: (PathBuf, PathBuf)) -> Result<ClosedPort> {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build()?;
        let within = runtime.enter();
        let socket =
            UdpSocket::bind(address).with_context(|| format!("cannot listen on {address}"))?;
        let address = socket.local_addr()?;
        let endpoint = Endpoint::new(
            EndpointConfig::default(),
            None,
            socket,
            Arc::new(quinn::TokioRuntime),
        )?;
        drop(within);
        let stop = Arc::new(Notify::new());
        let is_over = stop.clone();
        let serve = async move {
            tokio::select! {
                () = is_over.notified() => {}
                () = serve(endpoint, identity) => {}
            }
        };
        let thread = std::thread::Builder::new()
            .name("closed-port".to_owned())
            .spawn(move || runtime.block_on(serve))
            .context("cannot start the thread for the standby's closed port")?;
        Ok(ClosedPort {
            address,
            stop,
            thread: Some(thread),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for ClosedPort {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // It has nothing left that could fail.
            let _ = thread.join();
        }
    }
}

async fn serve(endpoint: Endpoint, (certificate, key): (PathBuf, PathBuf)) {
    let config = loop {
        // The key is there before the certificate is.
        if certificate.exists() {
            break Identity::load(&certificate, &key).and_then(config);
        }
        sleep(LOOK_PERIOD).await;
    };
    match config {
        Ok(config) => endpoint.set_server_config(Some(config)),
        Err(error) => return warn!("the standby does not answer clients: {error:#}"),
    }
    let open = Arc::new(AtomicUsize::new(0));
    while let Some(incoming) = endpoint.accept().await {
        if open.load(Ordering::Relaxed) >= HANDSHAKES_MAX {
            incoming.refuse();
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let open = open.clone();
        tokio::spawn(async move {
            turn_away(incoming).await;
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

async fn turn_away(incoming: Incoming) {
    let from = incoming.remote_address();
    match timeout(HANDSHAKE_WAIT, async { incoming.await }).await {
        Ok(Ok(connection)) => {
            connection.close(VarInt::from_u32(Close::Standby.code()), REASON);
        }
        Ok(Err(error)) => debug!(%from, %error, "no client at the standby's port"),
        Err(_) => {}
    }
}

fn config(identity: Identity) -> Result<ServerConfig> {
    let Identity { chain, key } = identity;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key do not match")?;
    tls.alpn_protocols = vec![wire::ALPN.to_vec()];
    tls.send_tls13_tickets = 0;
    let crypto = QuicServerConfig::try_from(tls).context("the TLS settings do not suit QUIC")?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
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
const HANDSHAKES_MAX: usize = 64;
