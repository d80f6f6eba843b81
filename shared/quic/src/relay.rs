//! A bad network for clients that have none in their own sockets, such as browsers: a relay
//! between them and a server. With the feature `relay`.
//!
//! Each client has a socket of its own towards the server, and a path each way, so that a
//! bandwidth is each client's own. One thread carries the packets of all.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token, Waker};

use crate::faults::{FaultyPath, Network};
use crate::socket;

/// The port of a relay to come. It is known before the server is, which may have to name it.
pub struct RelayPort {
    front: std::net::UdpSocket,
    address: SocketAddr,
}

/// Carries packets between clients and a server. It ends when it is dropped.
pub struct Relay {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    waker: Waker,
    thread: Option<JoinHandle<io::Result<()>>>,
}

/// The state of a relay's thread.
struct Carrier {
    poll: Poll,
    /// The socket that clients send to.
    front: UdpSocket,
    server: SocketAddr,
    network: Network,
    seed: u64,
    clients: BTreeMap<Token, Client>,
    tokens: BTreeMap<SocketAddr, Token>,
    /// Of the latest client.
    number: usize,
    /// Sockets in which there may be more packets. The poll reports them once.
    unread: BTreeSet<Token>,
    /// Reused: the packet that was read last.
    packet: Vec<u8>,
}

struct Client {
    address: SocketAddr,
    /// The client's address as the server sees it.
    back: UdpSocket,
    up: FaultyPath<Vec<u8>>,
    down: FaultyPath<Vec<u8>>,
    last_seen: Instant,
}

impl RelayPort {
    /// Takes a port for clients; port 0 picks a free one. With an address that is not one of
    /// this machine's own, such as `0.0.0.0`, answers may leave from another than the request's.
    pub fn bind(address: SocketAddr) -> io::Result<RelayPort> {
        let front = socket::bind(address)?;
        let address = front.local_addr()?;
        Ok(RelayPort { front, address })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Carries packets to a server and back from now on. The fate of each packet of a
    /// client depends on the seed and on how many clients came before.
    pub fn carry(self, server: SocketAddr, network: &Network, seed: u64) -> io::Result<Relay> {
        let carrier = Carrier::new(self.front, server, network.clone(), seed)?;
        let waker = Waker::new(carrier.poll.registry(), WAKE)?;
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name(THREAD.to_owned()).spawn({
            let is_over = is_over.clone();
            move || carrier.run(&is_over)
        })?;
        Ok(Relay {
            address: self.address,
            is_over,
            waker,
            thread: Some(thread),
        })
    }
}

impl Relay {
    /// Where clients send their packets.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the relay. The error is the reason if it had ended by itself.
    pub fn stop(mut self) -> io::Result<()> {
        self.end()
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        self.is_over.store(true, Ordering::Relaxed);
        self.waker.wake()?;
        let ended = thread.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread of the relay has panicked")))
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // `stop` returns it.
        let _ = self.end();
    }
}

impl Carrier {
    fn new(
        front: std::net::UdpSocket,
        server: SocketAddr,
        network: Network,
        seed: u64,
    ) -> io::Result<Carrier> {
        let poll = Poll::new()?;
        let mut front = UdpSocket::from_std(front);
        poll.registry()
            .register(&mut front, FRONT, Interest::READABLE)?;
        Ok(Carrier {
            poll,
            front,
            server,
            network,
            seed,
            clients: BTreeMap::new(),
            tokens: BTreeMap::new(),
            number: WAKE.0,
            unread: BTreeSet::new(),
            packet: vec![0; PACKET_BYTES_MAX],
        })
    }

    fn run(mut self, is_over: &AtomicBool) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        while !is_over.load(Ordering::Relaxed) {
            self.wait(&mut events)?;
            let now = Instant::now();
            for token in std::mem::take(&mut self.unread) {
                if self.read(token, now) {
                    self.unread.insert(token);
                }
            }
            self.deliver(now);
        }
        Ok(())
    }

    /// Waits until packets have come, from outside or along a path.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let timeout = match self.unread.is_empty() {
            true => {
                let next = self.clients.values().filter_map(Client::next).min();
                next.map(|next| next.saturating_duration_since(Instant::now()))
            }
            false => Some(Duration::ZERO),
        };
        match self.poll.poll(events, timeout) {
            Ok(()) => self.unread.extend(events.iter().map(|event| event.token())),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Sends packets of a socket on their way. True if there may be more.
    fn read(&mut self, token: Token, now: Instant) -> bool {
        for _ in 0..TURN_PACKETS {
            let read = match token {
                FRONT => self.read_front(now),
                _ => self.read_back(token, now),
            };
            match read {
                Ok(()) => {}
                // The other end was gone when an earlier packet came.
                Err(error) if is_about_an_earlier_packet(&error) => {}
                Err(_) => return false,
            }
        }
        true
    }

    fn read_front(&mut self, now: Instant) -> io::Result<()> {
        let (length, from) = self.front.recv_from(&mut self.packet)?;
        let token = match self.tokens.get(&from) {
            Some(&token) => Some(token),
            // There is no room for the client, or no socket: its packet is lost.
            None => self.admit(from, now).unwrap_or_default(),
        };
        if let Some(client) = token.and_then(|token| self.clients.get_mut(&token)) {
            client.last_seen = now;
            send_along(&mut client.up, &self.packet[..length], now);
        }
        Ok(())
    }

    fn read_back(&mut self, token: Token, now: Instant) -> io::Result<()> {
        let Some(client) = self.clients.get_mut(&token) else {
            // It has been dropped since.
            return Err(ErrorKind::WouldBlock.into());
        };
        let length = client.back.recv(&mut self.packet)?;
        send_along(&mut client.down, &self.packet[..length], now);
        Ok(())
    }

    /// Makes room for a client. `None` if there are too many.
    fn admit(&mut self, address: SocketAddr, now: Instant) -> io::Result<Option<Token>> {
        self.drop_idle(now);
        if self.clients.len() >= CLIENTS_MAX {
            return Ok(None);
        }
        let mut back = UdpSocket::bind(SocketAddr::new(any_address(self.server), 0))?;
        back.connect(self.server)?;
        let token = Token(self.number + 1);
        self.poll
            .registry()
            .register(&mut back, token, Interest::READABLE)?;
        self.number = token.0;
        let seed = self.seed.wrapping_add(token.0 as u64);
        let client = Client {
            address,
            back,
            up: FaultyPath::new(self.network.up.clone(), seed),
            down: FaultyPath::new(self.network.down.clone(), !seed),
            last_seen: now,
        };
        self.clients.insert(token, client);
        self.tokens.insert(address, token);
        Ok(Some(token))
    }

    /// Drops clients that have sent nothing for long. Only new ones need the room.
    fn drop_idle(&mut self, now: Instant) {
        let is_idle = |client: &Client| now.saturating_duration_since(client.last_seen) >= IDLE;
        self.clients.retain(|_, client| !is_idle(client));
        let clients = &self.clients;
        self.tokens.retain(|_, token| clients.contains_key(token));
    }

    /// Sends packets at the end of their path. Those that the system rejects are lost, as in
    /// any network.
    fn deliver(&mut self, now: Instant) {
        for client in self.clients.values_mut() {
            while let Some(packet) = client.up.pop(now) {
                let _ = client.back.send(&packet);
            }
            while let Some(packet) = client.down.pop(now) {
                let _ = self.front.send_to(&packet, client.address);
            }
        }
    }
}

impl Client {
    /// When the next packet comes to the end of its path.
    fn next(&self) -> Option<Instant> {
        let both = [self.up.next(), self.down.next()];
        both.into_iter().flatten().min()
    }
}

/// Sends a packet along a path, unless that has too many.
fn send_along(path: &mut FaultyPath<Vec<u8>>, packet: &[u8], now: Instant) {
    if path.travelling() < TRAVELLING_MAX {
        path.push(packet.to_vec(), packet.len() + HEADER_BYTES, now);
    }
}

/// All addresses of this machine, of the server's family.
fn any_address(server: SocketAddr) -> IpAddr {
    match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

fn is_about_an_earlier_packet(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

/// The name of the relay's thread.
pub const THREAD: &str = "relay";
/// A client takes a file, and memory for the packets on its way.
const CLIENTS_MAX: usize = 128;
/// Longer than connections that are silent last.
const IDLE: Duration = Duration::from_secs(120);
/// Packets that travel on one path: a second of some ten Mbit/s.
const TRAVELLING_MAX: usize = 1024;
/// Packets that are read from a socket before others have their turn.
const TURN_PACKETS: usize = 256;
const EVENTS: usize = 64;
/// IPv4 and UDP.
const HEADER_BYTES: usize = 28;
/// The largest of UDP: a packet that is cut off would differ from the sent one.
const PACKET_BYTES_MAX: usize = 65_535;
const FRONT: Token = Token(0);
/// Tokens of clients are larger.
const WAKE: Token = Token(1);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Faults;

    const LONG: Duration = Duration::from_secs(20);

    fn local(address: &str) -> std::net::UdpSocket {
        let socket = std::net::UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        socket
    }

    fn relay(address: &str, server: SocketAddr, faults: Faults) -> Relay {
        let port = RelayPort::bind(address.parse().unwrap()).unwrap();
        port.carry(server, &faults.into(), 1).unwrap()
    }

    /// A socket's received packet, and its sender.
    fn receive(socket: &std::net::UdpSocket) -> (Vec<u8>, SocketAddr) {
        let mut packet = [0; 2048];
        let (length, from) = socket.recv_from(&mut packet).unwrap();
        (packet[..length].to_vec(), from)
    }

    #[test]
    fn packets_go_both_ways_and_each_client_gets_its_own_answers() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let server = local(address);
            let relay = relay(address, server.local_addr().unwrap(), Faults::default());
            let clients = [local(address), local(address)];
            let mut seen = vec![];
            for (name, client) in (1u8..).zip(&clients) {
                client.send_to(&[name], relay.address()).unwrap();
                let (packet, from) = receive(&server);
                assert_eq!(packet, [name]);
                seen.push(from);
            }
            assert_ne!(seen[0], seen[1]);
            // The second is answered first.
            for (name, from) in [(2, seen[1]), (1, seen[0])] {
                server.send_to(&[name, 7], from).unwrap();
            }
            for (name, client) in (1u8..).zip(&clients) {
                assert_eq!(receive(client), (vec![name, 7], relay.address()));
            }
            relay.stop().unwrap();
        }
    }

    #[test]
    fn packets_take_the_time_of_the_network_each_way() {
        let server = local("127.0.0.1:0");
        let delay = Duration::from_millis(40);
        let faults = Faults {
            delay,
            ..Faults::default()
        };
        let relay = relay("127.0.0.1:0", server.local_addr().unwrap(), faults);
        let client = local("127.0.0.1:0");
        let sent = Instant::now();
        client.send_to(&[1], relay.address()).unwrap();
        let (_, from) = receive(&server);
        assert!(sent.elapsed() >= delay);
        let answered = Instant::now();
        server.send_to(&[2], from).unwrap();
        assert_eq!(receive(&client).0, [2]);
        assert!(answered.elapsed() >= delay);
    }

    #[test]
    fn a_relay_goes_on_where_a_server_comes_late() {
        let server = local("127.0.0.1:0");
        let address = server.local_addr().unwrap();
        drop(server);
        let relay = relay("127.0.0.1:0", address, Faults::default());
        let client = local("127.0.0.1:0");
        for _ in 0..3 {
            client.send_to(&[1], relay.address()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        let server = local(&address.to_string());
        // The system reports each packet without a receiver in place of a later one.
        server
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let mut packet = [0; 8];
        let mut arrives = || {
            client.send_to(&[2], relay.address()).unwrap();
            server.recv(&mut packet).is_ok()
        };
        assert!((0..100).any(|_| arrives()));
        relay.stop().unwrap();
    }

    #[test]
    fn there_are_so_many_clients_and_idle_ones_make_room() {
        let front = socket::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let server = SocketAddr::from(([127, 0, 0, 1], 9));
        let mut carrier = Carrier::new(front, server, Network::default(), 1).unwrap();
        let client = |number: usize| {
            let port = u16::try_from(number + 1).unwrap();
            SocketAddr::from(([127, 0, 0, 1], port))
        };
        let now = Instant::now();
        for number in 0..CLIENTS_MAX {
            assert!(carrier.admit(client(number), now).unwrap().is_some());
        }
        let one_more = client(CLIENTS_MAX);
        assert_eq!(carrier.admit(one_more, now).unwrap(), None);
        // One of them sends again.
        let kept = carrier.tokens[&client(3)];
        carrier.clients.get_mut(&kept).unwrap().last_seen = now + IDLE;
        let token = carrier.admit(one_more, now + IDLE).unwrap();
        assert!(token.is_some_and(|token| token > kept));
        let left: Vec<_> = carrier.tokens.keys().copied().collect();
        assert_eq!(left, [client(3), one_more]);
        assert_eq!(carrier.clients.len(), 2);
    }

    #[test]
    fn a_path_holds_so_many_packets() {
        let faults = Faults {
            delay: LONG,
            ..Faults::default()
        };
        let mut path = FaultyPath::new(faults, 1);
        for _ in 0..TRAVELLING_MAX + 5 {
            send_along(&mut path, &[1], Instant::now());
        }
        assert_eq!(path.travelling(), TRAVELLING_MAX);
    }
}
