//! Connections that a site takes over from its port.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use hyper::body::Bytes;
use rustls::ServerConnection;

/// Takes connections over.
pub type SocketTaker = Arc<dyn Fn(Upgraded) + Send + Sync>;

/// A connection after its handshake.
pub struct Upgraded {
    pub connection: Taken,
    pub address: SocketAddr,
    /// Bytes behind the handshake that have been read.
    pub read: Bytes,
}

/// A connection's bytes. It does not block.
pub enum Taken {
    Plain(TcpStream),
    Tls(TcpStream, Box<ServerConnection>),
}
