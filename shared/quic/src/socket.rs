//! UDP in batches.
//!
//! Congestion marks (ECN, RFC 3168 and RFC 9000, section 13.4) go with packets both ways where
//! batches are: a router with a long queue marks packets instead of dropping them. Other systems
//! neither send nor read marks, and QUIC finds out by itself that none arrive.

#[cfg_attr(
    all(feature = "batches", any(target_os = "linux", target_os = "android")),
    path = "socket/batched.rs"
)]
#[cfg_attr(
    not(all(feature = "batches", any(target_os = "linux", target_os = "android"))),
    path = "socket/single.rs"
)]
mod system;

// Other systems do not spread packets over sockets of one port.
#[cfg(unix)]
mod shared_port;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Instant;

use bytes::BytesMut;
use mio::{Interest, Registry, Token};
use quinn_proto::{EcnCodepoint, Transmit};
use socket2::{Domain, Protocol, SockRef, Type};

#[cfg(unix)]
pub use shared_port::{bind_beside, share_port};

use crate::faults::{FaultyPath, Network};

/// A UDP socket that sends and receives many packets in a system call.
pub struct Socket {
    /// Windows reports packets only where they are received through this type.
    socket: mio::net::UdpSocket,
    address: SocketAddr,
    system: system::Batches,
    /// Packets that wait to be sent; the first `filled` of them.
    outgoing: Vec<Outgoing>,
    filled: usize,
    faults: Option<Box<FaultyLink>>,
    counts: SocketCounts,
}

/// A packet that arrived.
#[derive(Clone, Debug)]
pub struct Packet {
    pub data: BytesMut,
    pub from: SocketAddr,
    /// The address of this machine that it was sent to, where the socket listens on all.
    pub to: Option<IpAddr>,
    /// Its congestion mark, if it has one and the system reports it.
    pub ecn: Option<EcnCodepoint>,
}

/// A packet to send.
#[derive(Clone, Debug)]
struct Outgoing {
    data: Vec<u8>,
    to: SocketAddr,
    /// The address of this machine to send it from, where the socket has several.
    from: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
}

/// The traffic of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SocketCounts {
    pub sent: u64,
    pub sent_bytes: u64,
    pub received: u64,
    pub received_bytes: u64,
    /// Packets that the system did not take: its buffer was full, or the way is closed.
    pub send_errors: u64,
}

/// Both ways of a network with faults.
struct FaultyLink {
    outgoing: FaultyPath<Outgoing>,
    incoming: FaultyPath<Packet>,
    /// Reused: packets of the system.
    received: Vec<Packet>,
}

impl Socket {
    /// Takes over a bound socket. It answers from the request's address.
    pub fn new(socket: UdpSocket) -> io::Result<Socket> {
        let is_on_all_addresses = socket.local_addr()?.ip().is_unspecified();
        let system = system::Batches::answering(&socket, is_on_all_addresses)?;
        Socket::with(socket, system)
    }

    fn with(socket: UdpSocket, system: system::Batches) -> io::Result<Socket> {
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let empty = Outgoing {
            data: Vec::with_capacity(PACKET_BYTES_MAX),
            to: address,
            from: None,
            ecn: None,
        };
        Ok(Socket {
            socket: mio::net::UdpSocket::from_std(socket),
            address,
            system,
            outgoing: vec![empty; BATCH],
            filled: 0,
            faults: None,
            counts: SocketCounts::default(),
        })
    }

    /// A socket on a free port, for connections to `server`.
    pub fn towards(server: SocketAddr) -> io::Result<Socket> {
        let any: IpAddr = match server {
            SocketAddr::V4(_) => [0u8; 4].into(),
            SocketAddr::V6(_) => [0u16; 8].into(),
        };
        let socket = bind(SocketAddr::new(any, 0))?;
        let system = system::Batches::asking(&socket);
        Socket::with(socket, system)
    }

    /// Carries packets over a bad network on purpose from now on.
    pub fn set_network(&mut self, network: &Network, seed: u64) {
        self.faults = (!network.is_none()).then(|| {
            Box::new(FaultyLink {
                outgoing: FaultyPath::marking(network.up.clone(), seed, |packet| {
                    mark_congestion(&mut packet.ecn);
                }),
                incoming: FaultyPath::marking(network.down.clone(), !seed, |packet| {
                    mark_congestion(&mut packet.ecn);
                }),
                received: vec![],
            })
        });
    }

    /// Whether packets may arrive that the system has given already.
    pub fn has_faults(&self) -> bool {
        self.faults.is_some()
    }

    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    pub fn counts(&self) -> SocketCounts {
        self.counts
    }

    /// Packets that the system dropped, as the socket's buffer was full; `None` where it does not
    /// count them.
    pub fn drops(&self) -> Option<u64> {
        system::drops(&self.socket)
    }

    /// Registers the socket at a poll, by a token.
    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.socket, token, Interest::READABLE)
    }

    /// An empty buffer for the next packet. It is sent only if [`Socket::commit`] follows.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.filled == BATCH {
            self.flush();
        }
        let data = &mut self.outgoing[self.filled].data;
        data.clear();
        data
    }

    /// Queues the packet in [`Socket::buffer`], without a congestion mark.
    pub fn commit(&mut self, to: SocketAddr, from: Option<IpAddr>, now: Instant) {
        self.commit_marked(to, from, None, now);
    }

    /// Queues the packet in [`Socket::buffer`], with a congestion mark if the system can send that.
    pub fn commit_marked(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        ecn: Option<EcnCodepoint>,
        now: Instant,
    ) {
        let packet = &mut self.outgoing[self.filled];
        packet.to = to;
        packet.from = from;
        packet.ecn = ecn;
        match &mut self.faults {
            Some(faults) => {
                let bytes = packet.data.len() + HEADER_BYTES;
                faults.outgoing.push(packet.clone(), bytes, now);
            }
            None => self.filled += 1,
        }
    }

    /// Queues the packets in [`Socket::buffer`], as QUIC describes them.
    pub(crate) fn commit_transmit(&mut self, packet: &Transmit, now: Instant) {
        self.commit_marked(packet.destination, packet.src_ip, packet.ecn, now);
    }

    /// Sends all queued packets.
    pub fn flush(&mut self) {
        let packets = &mut self.outgoing[..self.filled];
        self.filled = 0;
        let (sent, sent_bytes) = self.system.send(&self.socket, packets);
        self.counts.sent += sent;
        self.counts.sent_bytes += sent_bytes;
        self.counts.send_errors += packets.len() as u64 - sent;
    }

    /// Appends a batch of packets that have arrived to `packets`. False if no more have.
    pub fn receive(&mut self, packets: &mut Vec<Packet>, now: Instant) -> bool {
        let before = packets.len();
        let has_more = match &mut self.faults {
            None => self.system.receive(&self.socket, packets),
            Some(faults) => {
                let has_more = self.system.receive(&self.socket, &mut faults.received);
                for packet in faults.received.drain(..) {
                    let bytes = packet.data.len() + HEADER_BYTES;
                    faults.incoming.push(packet, bytes, now);
                }
                packets.extend(std::iter::from_fn(|| faults.incoming.pop(now)));
                has_more
            }
        };
        let new = &packets[before..];
        self.counts.received += new.len() as u64;
        self.counts.received_bytes += new.iter().map(|p| p.data.len() as u64).sum::<u64>();
        has_more
    }

    /// Moves delayed packets on, and gives the time when the next one has to move.
    pub fn next_delayed(&mut self, now: Instant) -> Option<Instant> {
        while let Some(packet) = self.faults.as_mut().and_then(|f| f.outgoing.pop(now)) {
            if self.filled == BATCH {
                self.flush();
            }
            self.outgoing[self.filled] = packet;
            self.filled += 1;
        }
        let faults = self.faults.as_ref()?;
        let both = [faults.outgoing.next(), faults.incoming.next()];
        both.into_iter().flatten().min()
    }
}

/// As a router with a long queue does. A packet without a mark is of a sender that does not read
/// them.
fn mark_congestion(ecn: &mut Option<EcnCodepoint>) {
    *ecn = ecn.map(|_| EcnCodepoint::Ce);
}

/// Binds a socket to an address that no other has, with buffers as large as the system
/// gives.
pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    bind_with(address, |_| Ok(()))
}

/// Lets this process open so many sockets beside its other files, as far as the system allows, and
/// returns how many that are. Many systems allow a thousand files where a process does not ask for
/// more.
pub fn make_room(sockets: usize) -> usize {
    system::make_room(sockets)
}

fn bind_with(
    address: SocketAddr,
    prepare: impl FnOnce(&socket2::Socket) -> io::Result<()>,
) -> io::Result<UdpSocket> {
    let domain = Domain::for_address(address);
    let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    prepare(&socket)?;
    enlarge_buffers(&socket);
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// The system may allow less than requested, without an error.
fn enlarge_buffers(socket: &socket2::Socket) {
    let _ = socket.set_recv_buffer_size(BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(BUFFER_BYTES);
    system::force_buffers(socket, BUFFER_BYTES);
}

/// The bytes that a socket's receive buffer takes, as the system counts them.
pub fn receive_buffer_bytes(socket: &UdpSocket) -> io::Result<usize> {
    SockRef::from(socket).recv_buffer_size()
}

/// Room for the packets of some ten thousand clients in one tick.
pub const BUFFER_BYTES: usize = 16 << 20;
/// Packets in a system call.
const BATCH: usize = 64;
/// More than QUIC sends here: it does not look for larger packets.
const HEADER_BYTES: usize = 28;
const PACKET_BYTES_MAX: usize = 2048;

#[cfg(test)]
mod tests;
