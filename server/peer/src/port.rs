//! Ports that other servers connect to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use platform::runtime::runtime;
use quinn::{Connection, Endpoint, ServerConfig, VarInt};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::arrivals::{Arrivals, Failure};
use super::background::{Background, open_port};

/// An open port. Dropping it closes it.
pub struct Port {
    address: SocketAddr,
    _serving: Background,
}

/// What a port is for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The name of its thread.
    pub thread: &'static str,
    /// For people: "the port for gateways".
    pub name: &'static str,
    /// Other servers are closed with this when the port is.
    pub goodbye: &'static str,
}

impl Port {
    /// Opens the port at an address; port 0 picks a free one. `work` gets each connection whose
    /// handshake is complete, or why it is not.
    pub fn open<W: Future<Output = ()> + Send + 'static>(
        address: SocketAddr,
        config: ServerConfig,
        purpose: Purpose,
        work: impl Fn(SocketAddr, Result<Connection, Failure>) -> W + Clone + Send + 'static,
    ) -> Result<Port> {
        let runtime = runtime()?;
        let (endpoint, address) =
            open_port(&runtime, address, Some(config)).context(purpose.name)?;
        let serve = move |stop: Arc<Notify>| async move {
            serve(&endpoint, work, &stop).await;
            endpoint.close(VarInt::from_u32(0), purpose.goodbye.as_bytes());
            // Otherwise the other side notices it by a time-out.
            let _ = timeout(GOODBYE, endpoint.wait_idle()).await;
        };
        Ok(Port {
            address,
            _serving: Background::start(purpose.thread, runtime, serve)?,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn serve<W: Future<Output = ()> + Send + 'static>(
    endpoint: &Endpoint,
    work: impl Fn(SocketAddr, Result<Connection, Failure>) -> W + Clone + Send + 'static,
    stop: &Notify,
) {
    let arrivals = Arrivals::new(HANDSHAKES_MAX);
    loop {
        let incoming = tokio::select! {
            () = stop.notified() => return,
            incoming = endpoint.accept() => incoming,
        };
        let Some(incoming) = incoming else { return };
        arrivals.take(incoming, HANDSHAKE_WAIT, work.clone());
    }
}

/// Where clients reach a server: its own setting, which may be only :PORT at the address from which
/// it connects.
pub fn clients_at(setting: &str, from: SocketAddr) -> Result<String> {
    match setting.strip_prefix(':') {
        Some(port) => {
            let port = port.parse();
            let port = port.with_context(|| format!("expected :PORT, found {setting}"))?;
            Ok(SocketAddr::new(from.ip(), port).to_string())
        }
        None => Ok(setting.to_owned()),
    }
}

/// At once, from validated addresses: each costs some processor time and 30 KB.
const HANDSHAKES_MAX: usize = 128;
const HANDSHAKE_WAIT: Duration = Duration::from_secs(3);
const GOODBYE: Duration = Duration::from_millis(500);
