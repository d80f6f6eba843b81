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
    /// Reused: what the system gave.
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

    /// Queues what is in [`Socket::buffer`], without a congestion mark.
    pub fn commit(&mut self, to: SocketAddr, from: Option<IpAddr>, now: Instant) {
        self.commit_marked(to, from, None, now);
    }

    /// Queues what is in [`Socket::buffer`], with a congestion mark if the system can send that.
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

    /// Sends what is queued.
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

/// Lets this process open so many sockets, as far as the system allows. Many systems allow a
/// thousand files where a process does not ask for more.
pub fn make_room(sockets: usize) {
    system::make_room(sockets);
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
mod tests {
    use std::time::Duration;

    use super::*;

    fn pair(address: &str) -> (Socket, Socket) {
        let address = address.parse().unwrap();
        let [a, b] = [(); 2].map(|()| Socket::new(bind(address).unwrap()).unwrap());
        (a, b)
    }

    fn receive(socket: &mut Socket, count: usize) -> Vec<Packet> {
        let mut packets = vec![];
        let start = Instant::now();
        while packets.len() < count && start.elapsed() < Duration::from_secs(10) {
            socket.receive(&mut packets, Instant::now());
        }
        packets
    }

    #[test]
    fn packets_of_more_than_a_batch_arrive_whole_and_in_order() {
        let (mut a, mut b) = pair("127.0.0.1:0");
        let now = Instant::now();
        for i in 0..200u8 {
            a.buffer()
                .extend_from_slice(&vec![i; 1 + usize::from(i) * 5]);
            a.commit(b.local_address(), None, now);
        }
        a.flush();
        let packets = receive(&mut b, 200);
        assert_eq!(packets.len(), 200);
        for (i, packet) in packets.iter().enumerate() {
            assert_eq!(packet.from, a.local_address());
            assert_eq!(packet.data, vec![i as u8; 1 + i * 5]);
        }
        assert_eq!(a.counts().sent, 200);
        assert_eq!(a.counts().sent_bytes, b.counts().received_bytes);
    }

    #[test]
    fn packets_of_a_socket_that_asks_arrive_one_by_one() {
        let mut server = Socket::new(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
        let mut client = Socket::towards(server.local_address()).unwrap();
        let now = Instant::now();
        // Some of one size in a row, some alone, and more in a row than the system takes as one.
        let sizes = [
            vec![60; 9],
            vec![61],
            vec![60; 2],
            vec![59, 58],
            vec![1500; 130],
        ]
        .concat();
        for (i, &size) in sizes.iter().enumerate() {
            client.buffer().resize(size, i as u8);
            client.commit(server.local_address(), None, now);
        }
        client.flush();
        let packets = receive(&mut server, sizes.len());
        let found: Vec<_> = packets.iter().map(|packet| packet.data.to_vec()).collect();
        let sent = sizes.iter().enumerate();
        let sent: Vec<_> = sent.map(|(i, &size)| vec![i as u8; size]).collect();
        assert_eq!(found, sent);
        let port = client.local_address().port();
        assert!(packets.iter().all(|packet| packet.from.port() == port));
        let (sent, received) = (client.counts(), server.counts());
        assert_eq!((sent.sent, sent.send_errors), (sizes.len() as u64, 0));
        assert_eq!(sent.sent_bytes, received.received_bytes);
    }

    #[test]
    fn a_socket_on_all_addresses_answers_from_the_one_that_was_asked() {
        let (mut a, mut everywhere) = pair("0.0.0.0:0");
        let port = everywhere.local_address().port();
        let destinations: [SocketAddr; 2] = [
            format!("127.0.0.1:{port}").parse().unwrap(),
            format!("127.0.0.2:{port}").parse().unwrap(),
        ];
        let now = Instant::now();
        for to in destinations {
            a.buffer().push(1);
            a.commit(to, None, now);
        }
        a.flush();
        for packet in receive(&mut everywhere, 2) {
            everywhere.buffer().push(2);
            everywhere.commit(packet.from, packet.to, now);
        }
        everywhere.flush();
        let mut answers: Vec<_> = receive(&mut a, 2).iter().map(|p| p.from).collect();
        answers.sort();
        if cfg!(all(target_os = "linux", feature = "batches")) {
            assert_eq!(answers, destinations);
        }
    }

    /// Where marks are carried, this; elsewhere none.
    fn if_carried(ecn: Option<EcnCodepoint>) -> Option<EcnCodepoint> {
        let are_carried = cfg!(all(
            feature = "batches",
            any(target_os = "linux", target_os = "android")
        ));
        ecn.filter(|_| are_carried)
    }

    /// Sends packets that have these marks and are numbered.
    fn send_marked(socket: &mut Socket, to: SocketAddr, marks: &[Option<EcnCodepoint>]) {
        for (number, &ecn) in (0..).zip(marks) {
            socket.buffer().resize(60, number);
            socket.commit_marked(to, None, ecn, Instant::now());
        }
        socket.flush();
    }

    /// The marks of packets in the order of their numbers.
    fn marks_of(packets: &[Packet]) -> Vec<Option<EcnCodepoint>> {
        let mut packets: Vec<_> = packets.iter().map(|p| (p.data[0], p.ecn)).collect();
        packets.sort_by_key(|(number, _)| *number);
        packets.into_iter().map(|(_, ecn)| ecn).collect()
    }

    #[test]
    fn a_mark_arrives_as_it_was_sent_and_so_does_that_of_the_answer() {
        for (bound, loopback) in [
            ("127.0.0.1:0", "127.0.0.1"),
            ("[::1]:0", "::1"),
            ("0.0.0.0:0", "127.0.0.1"),
            ("[::]:0", "::1"),
            ("[::]:0", "127.0.0.1"),
        ] {
            let Ok(server) = bind(bound.parse().unwrap()) else {
                assert!(bound.starts_with('['), "{bound}");
                // The system has no IPv6.
                continue;
            };
            let mut server = Socket::new(server).unwrap();
            let to = SocketAddr::new(loopback.parse().unwrap(), server.local_address().port());
            let alone = bind(SocketAddr::new(to.ip(), 0)).unwrap();
            for mut client in [Socket::new(alone).unwrap(), Socket::towards(to).unwrap()] {
                // A packet alone, and some that go to the system as one where the socket is a client's.
                for count in [1, 5] {
                    let marks = vec![Some(EcnCodepoint::Ect0); count];
                    let expected = vec![if_carried(marks[0]); count];
                    send_marked(&mut client, to, &marks);
                    let packets = receive(&mut server, count);
                    assert_eq!(marks_of(&packets), expected, "{bound} from {loopback}");
                    for packet in packets {
                        let now = Instant::now();
                        server.buffer().push(packet.data[0]);
                        server.commit_marked(packet.from, packet.to, marks[0], now);
                    }
                    server.flush();
                    let answers = receive(&mut client, count);
                    assert_eq!(marks_of(&answers), expected, "{bound} to {loopback}");
                }
            }
        }
    }

    #[test]
    fn packets_of_one_batch_arrive_with_their_own_marks() {
        let mut server = Socket::new(bind("127.0.0.1:0".parse().unwrap()).unwrap()).unwrap();
        let to = server.local_address();
        let mut runs = vec![];
        for (length, ecn) in [
            (1, None),
            (7, Some(EcnCodepoint::Ect0)),
            (1, Some(EcnCodepoint::Ce)),
            (2, Some(EcnCodepoint::Ect1)),
            (9, None),
            (5, Some(EcnCodepoint::Ect0)),
        ] {
            runs.extend(vec![ecn; length]);
        }
        let expected: Vec<_> = runs.iter().map(|&ecn| if_carried(ecn)).collect();
        let alone = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        for mut client in [Socket::new(alone).unwrap(), Socket::towards(to).unwrap()] {
            send_marked(&mut client, to, &runs);
            assert_eq!(marks_of(&receive(&mut server, runs.len())), expected);
        }
    }

    #[test]
    fn after_a_packet_that_cannot_be_sent_marks_go_on() {
        let (mut a, mut b) = pair("127.0.0.1:0");
        let mark = Some(EcnCodepoint::Ect0);
        // The system refuses port 0 as it would refuse a mark.
        send_marked(&mut a, "127.0.0.1:0".parse().unwrap(), &[mark]);
        assert_eq!(a.counts().send_errors, 1);
        send_marked(&mut a, b.local_address(), &[mark]);
        assert_eq!(marks_of(&receive(&mut b, 1)), [if_carried(mark)]);
    }

    #[test]
    fn a_network_marks_only_what_is_of_a_sender_that_reads_marks() {
        let faults = crate::Faults {
            rate: 1000,
            buffer: Duration::from_secs(10),
            marks_after: Some(Duration::ZERO),
            ..Default::default()
        };
        let network = Network::from(faults);
        let (ect0, ce) = (Some(EcnCodepoint::Ect0), Some(EcnCodepoint::Ce));
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(60));
        // The first does not wait.
        let (marks, expected) = ([ect0, ect0, None], [ect0, ce, None]);

        let (mut a, mut b) = pair("127.0.0.1:0");
        a.set_network(&network, 1);
        for (number, &ecn) in (0..).zip(&marks) {
            a.buffer().resize(60, number);
            a.commit_marked(b.local_address(), None, ecn, now);
        }
        a.next_delayed(later);
        a.flush();
        assert_eq!(marks_of(&receive(&mut b, 3)), expected.map(if_carried));

        let incoming = &mut a.faults.as_mut().unwrap().incoming;
        for (number, &ecn) in (0..).zip(&marks) {
            let packet = Packet {
                data: BytesMut::from(&[number][..]),
                from: b.local_address(),
                to: None,
                ecn,
            };
            incoming.push(packet, 60, now);
        }
        let packets: Vec<_> = std::iter::from_fn(|| incoming.pop(later)).collect();
        assert_eq!(marks_of(&packets), expected);
    }

    #[cfg(unix)]
    #[test]
    fn sockets_that_share_a_port_let_no_others_have_it() {
        let group = || {
            let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
            share_port(&first).unwrap();
            let address = first.local_addr().unwrap();
            let second = bind_beside(address).unwrap();
            (address, [first, second])
        };
        let (address, sockets) = group();
        let taken = bind(address).map_err(|error| error.kind());
        assert_eq!(taken.unwrap_err(), io::ErrorKind::AddrInUse);

        // The system spreads senders over both.
        let senders: Vec<_> = (0..64)
            .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
            .collect();
        for sender in &senders {
            sender.send_to(&[1], address).unwrap();
        }
        let arrived = sockets.map(|socket| {
            let mut socket = Socket::new(socket).unwrap();
            let mut packets = vec![];
            while socket.receive(&mut packets, Instant::now()) {}
            packets.len()
        });
        assert_eq!(arrived.iter().sum::<usize>(), 64);
        assert!(arrived.iter().all(|&count| count > 0), "{arrived:?}");
    }

    #[test]
    fn a_packet_that_cannot_be_sent_is_counted_and_the_others_go_out() {
        let (mut a, mut b) = pair("127.0.0.1:0");
        let now = Instant::now();
        let nowhere = "[::1]:9".parse().unwrap();
        for to in [nowhere, b.local_address(), nowhere, b.local_address()] {
            a.buffer().push(1);
            a.commit(to, None, now);
        }
        a.flush();
        assert_eq!(receive(&mut b, 2).len(), 2);
        assert_eq!((a.counts().sent, a.counts().send_errors), (2, 2));
    }

    #[test]
    fn packets_that_found_no_room_are_counted() {
        const SENT: u64 = 5000;
        let (mut a, mut b) = pair("127.0.0.1:0");
        SockRef::from(&b.socket).set_recv_buffer_size(1).unwrap();
        let now = Instant::now();
        for _ in 0..SENT {
            a.buffer().resize(100, 1);
            a.commit(b.local_address(), None, now);
        }
        a.flush();
        let mut packets = vec![];
        while b.receive(&mut packets, now) {}
        let arrived = packets.len() as u64;
        assert!(arrived < SENT, "a small buffer took all packets");
        let is_known = cfg!(all(target_os = "linux", feature = "batches"));
        assert_eq!(b.drops(), is_known.then_some(SENT - arrived));
        assert_eq!(a.drops(), is_known.then_some(0));
    }

    #[test]
    fn a_delayed_packet_leaves_later() {
        let (mut a, mut b) = pair("127.0.0.1:0");
        let delay = Duration::from_millis(20);
        let faults = crate::Faults {
            delay,
            ..Default::default()
        };
        a.set_network(&faults.into(), 1);
        let now = Instant::now();
        a.buffer().push(1);
        a.commit(b.local_address(), None, now);
        assert_eq!(a.next_delayed(now), Some(now + delay));
        a.flush();
        assert_eq!(a.counts().sent, 0);
        assert_eq!(a.next_delayed(now + delay), None);
        a.flush();
        assert_eq!(receive(&mut b, 1).len(), 1);
    }
}
