//! Connections to names that have several addresses: whichever answers first.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use quic::Addresses;
use quic::race;
use tokio::net::TcpStream;

/// The addresses of HOST:PORT, in the order in which to try them.
pub async fn look_up(name: &str) -> Result<Addresses> {
    let found = tokio::net::lookup_host(name).await;
    let found = found.with_context(|| format!("cannot look up {name}"))?;
    Addresses::new(found).with_context(|| format!("{name} has no address"))
}

/// Connects to HOST:PORT.
pub async fn connect(name: &str) -> Result<TcpStream> {
    connect_to(&look_up(name).await?).await
}

/// The address that answers first.
pub async fn first_of(addresses: &Addresses) -> Result<SocketAddr> {
    let connected = connect_to(addresses).await?;
    let address = connected.peer_addr();
    address.context("the connection has no address")
}

async fn connect_to(addresses: &Addresses) -> Result<TcpStream> {
    let connected = race::first(addresses, |address| Ok(TcpStream::connect(address))).await;
    connected.with_context(|| format!("cannot connect to {addresses}"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_address_that_answers_is_used_whichever_comes_first() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = listener.local_addr().expect("an address");
        let elsewhere = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], server.port()));
        let closed = {
            let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            other.local_addr().expect("an address")
        };
        let addresses = Addresses::new([elsewhere, closed, server]).expect("addresses");
        let stream = connect_to(&addresses).await.expect("a connection");
        assert_eq!(stream.peer_addr().expect("an address"), server);
        let reached = first_of(&addresses).await;
        assert_eq!(reached.expect("an address"), server);
        let nowhere = Addresses::new([closed]).expect("an address");
        let error = connect_to(&nowhere).await.expect_err("no listener");
        assert!(
            format!("{error:#}").contains(&closed.to_string()),
            "{error:#}"
        );
    }
}
