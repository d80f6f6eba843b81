//! Connections to the ports of other servers.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, anyhow};
use platform::reach::look_up;
use quic::race;
use quinn::{ClientConfig, Connection, Endpoint};
use tokio::time::timeout;

/// Opens a connection to another server's port, given as HOST:PORT.
pub async fn connect(server: &str, config: &ClientConfig) -> Result<(Endpoint, Connection)> {
    let connecting = async {
        race::first(&look_up(server).await?, |address| {
            let own = match address {
                SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
                SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
            };
            let mut endpoint = Endpoint::client(own)?;
            endpoint.set_default_client_config(config.clone());
            let connecting = endpoint.connect(address, "localhost")?;
            Ok(async move { Ok((endpoint, connecting.await?)) })
        })
        .await
    };
    match timeout(CONNECT_WAIT, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(anyhow!("{server} does not answer")),
    }
}

const CONNECT_WAIT: Duration = Duration::from_secs(5);
