//! Sockets that share a port, for servers: `SO_REUSEPORT`.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::SockRef;

use super::bind_with;

/// Lets sockets of [`bind_beside`] have the address of `first`, too: the system spreads
/// packets over them by their sender.
///
/// A group begins with a socket whose port was not shared when it was bound. Else
/// two groups of one user could get the same port, even where the system picks it, and
/// take each other's packets.
pub fn share_port(first: &UdpSocket) -> io::Result<()> {
    SockRef::from(first).set_reuse_port(true)
}

/// Binds one more socket to the address of one that shares its port.
pub fn bind_beside(address: SocketAddr) -> io::Result<UdpSocket> {
    bind_with(address, |socket| socket.set_reuse_port(true))
}
