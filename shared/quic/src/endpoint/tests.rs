use std::net::{Ipv4Addr, SocketAddr};

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{EcnCodepoint, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::*;
use crate::congestion::ThinFlowConfig;
use crate::faults::Faults;
use crate::handle::Handle;
use crate::trust::{Trust, verifier};

struct Silent;

impl Application for Silent {
    type Session = ();

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<()> {
        Open::Ignore
    }

    fn event(&mut self, _: Event, _: &mut Link<'_>, (): &mut ()) {}

    fn closed(&mut self, _: Handle, (): (), _: ConnectionError) {}
}

/// Sends bytes over a connection's stream, and counts those that arrive.
#[derive(Default)]
struct Sender {
    left: usize,
    arrived: usize,
}

impl Application for Sender {
    type Session = ();

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<()> {
        Open::Accept(())
    }

    fn event(&mut self, event: Event, link: &mut Link<'_>, (): &mut ()) {
        match event {
            Event::Connected => {
                link.open_stream();
            }
            Event::Readable => {
                link.read(usize::MAX, |bytes| self.arrived += bytes.len());
                link.send_now();
            }
            Event::Datagram(_) | Event::Writable => {}
        }
        if self.left > 0 {
            self.left -= link.write(&vec![0; self.left]);
        }
    }

    fn closed(&mut self, _: Handle, (): (), reason: ConnectionError) {
        panic!("{reason}");
    }
}

#[test]
fn a_closed_connection_rests_until_its_own_timer_is_due() {
    let (mut endpoint, now) = (endpoint(), Instant::now());
    let handle = connect(&mut endpoint, NO_PEER, now);
    endpoint.visit(handle, &mut Silent, now, |_, link, ()| link.close(0, ""));
    let (lingered, index) = (now + LINGER, handle.index());
    for _ in 0..2 {
        endpoint.run_timers(index, &mut Silent, lingered);
        let deadline = endpoint.deadlines[index].expect("a time at which it is drained");
        assert!(deadline > lingered, "{:?} late", lingered - deadline);
    }
}

#[test]
fn a_connection_with_the_handle_of_one_that_has_just_ended_is_counted_once() {
    let (mut endpoint, now) = (endpoint(), Instant::now());
    let first = connect(&mut endpoint, NO_PEER, now);
    // As by a packet that resets it: its content is passed on before it is settled.
    let peer = endpoint.peers.get_mut(first.index()).expect("a peer");
    peer.connection
        .handle_timeout(now + Duration::from_secs(3600));
    endpoint.pass_events(first.index(), &mut Silent, now, &mut false);
    let second = connect(&mut endpoint, NO_PEER, now);
    assert_eq!(first, second);
    endpoint.settle(&mut Silent, now);
    let load = Load {
        connections: 1,
        handshakes: 1,
    };
    assert_eq!(endpoint.load(), load);
}

#[test]
fn a_handshake_that_is_not_answered_goes_on_without_marks() {
    let mut server = socket();
    let (mut endpoint, now) = (endpoint(), Instant::now());
    let handle = connect(&mut endpoint, server.local_address(), now);
    endpoint.flush();
    let first = if ARE_MARKS_CARRIED {
        Some(EcnCodepoint::Ect0)
    } else {
        None
    };
    let packets = receive(&mut server);
    assert!(packets.iter().all(|packet| packet.ecn == first));
    let later = now + Duration::from_millis(1100);
    endpoint.run_timers(handle.index(), &mut Silent, later);
    endpoint.flush();
    let packets = receive(&mut server);
    assert!(packets.iter().all(|packet| packet.ecn.is_none()));
}

/// As after a crash: the packets of all clients come within a tick.
#[test]
fn all_connections_of_an_endpoint_before_are_reset_at_once() {
    const CONNECTIONS: usize = 200;
    let key = [7; 64];
    let steering = Steering::new(1, Some(&key), None);
    let server = socket();
    let address = server.local_address();
    let mut endpoint: Endpoint<()> =
        Endpoint::sharing(server, server_config(), (&steering, 0), Some(&key)).unwrap();
    let mut ids = steering.ids(0);
    let client = std::net::UdpSocket::bind(SocketAddr::new(NO_PEER.ip(), 0)).unwrap();
    let patience = Some(Duration::from_secs(10));
    client.set_read_timeout(patience).unwrap();
    for _ in 0..CONNECTIONS / 20 {
        // As many as the socket has room for.
        for _ in 0..20 {
            let packet = [&[0x40], &ids.generate_cid()[..], &[9; 60]].concat();
            client.send_to(&packet, address).unwrap();
        }
        let mut received = 0;
        while received < 20 {
            endpoint
                .wait(Instant::now() + Duration::from_secs(1))
                .unwrap();
            received += endpoint.receive(&mut Silent, 1000);
        }
        for _ in 0..20 {
            let mut bytes = [0; 200];
            let (length, from) = client.recv_from(&mut bytes).unwrap();
            assert_eq!(from, address);
            assert!(length < 69 && bytes[0] & 0xc0 == 0x40, "{length} bytes");
        }
    }
}

/// Also where a packet comes by way of another endpoint of the port.
#[test]
fn a_connection_learns_of_a_queue_by_marks_before_anything_is_lost() {
    for is_stray in [false, true] {
        assert_eq!(congestion(None, is_stray), (0, 0));
        // A handshake that takes a second, on a busy machine, continues without marks.
        let mut tries = (0..3).map(|_| congestion(Some(Duration::from_millis(5)), is_stray));
        let has_seen = tries.any(|(events, lost)| {
            assert_eq!(lost, 0);
            events > 0
        });
        assert_eq!(has_seen, ARE_MARKS_CARRIED);
    }
}

/// How often a connection over a narrow path sees congestion, and how many of its packets are
/// lost.
fn congestion(marks_after: Option<Duration>, is_stray: bool) -> (u64, u64) {
    let narrow = Faults {
        rate: 500_000,
        buffer: Duration::from_secs(60),
        marks_after,
        ..Faults::default()
    };
    let network = Network {
        up: narrow.into(),
        ..Network::default()
    };
    let listening = socket();
    let address = listening.local_address();
    let mut server = Endpoint::new(vec![listening], Some(server_config())).unwrap();
    let mut client = endpoint();
    client.set_network(&network, 1);
    let (mut from, mut to) = (Sender::default(), Sender::default());
    from.left = SENT_BYTES;
    let start = Instant::now();
    let handle = connect(&mut client, address, start);
    while to.arrived < SENT_BYTES {
        assert!(start.elapsed() < Duration::from_secs(60), "too slow");
        client
            .wait(Instant::now() + Duration::from_millis(1))
            .unwrap();
        client.receive(&mut from, 100);
        client.upkeep(&mut from);
        server
            .wait(Instant::now() + Duration::from_millis(1))
            .unwrap();
        if is_stray {
            let mut packets = vec![];
            server.sockets[0].receive(&mut packets, Instant::now());
            server.take_strays(packets.into_iter(), &mut to);
        } else {
            server.receive(&mut to, 100);
        }
        server.upkeep(&mut to);
    }
    let seen = client.visit(handle, &mut from, Instant::now(), |_, link, ()| {
        let lost = link.connection().stats().path.lost_packets;
        (link.congestion().events, lost)
    });
    seen.unwrap()
}

fn endpoint() -> Endpoint<()> {
    Endpoint::new(vec![Socket::towards(NO_PEER).unwrap()], None).unwrap()
}

fn socket() -> Socket {
    let any_port = SocketAddr::new(NO_PEER.ip(), 0);
    Socket::new(crate::socket::bind(any_port).unwrap()).unwrap()
}

/// The next packets, one at least.
fn receive(socket: &mut Socket) -> Vec<Packet> {
    let (mut packets, start) = (vec![], Instant::now());
    while packets.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10), "no packet");
        socket.receive(&mut packets, Instant::now());
    }
    packets
}

fn connect(endpoint: &mut Endpoint<()>, server: SocketAddr, now: Instant) -> Handle {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trust = verifier(&Trust::AnyCertificate, provider.clone()).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(trust)
        .with_no_client_auth();
    let tls = QuicClientConfig::try_from(tls).unwrap();
    let mut config = ClientConfig::new(Arc::new(tls));
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(ThinFlowConfig::default()));
    config.transport_config(Arc::new(transport));
    endpoint
        .connect(config, server, "test", 0, (), now)
        .unwrap()
}

fn server_config() -> Arc<ServerConfig> {
    let random = ring::rand::SystemRandom::new();
    let key = ring::signature::Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.as_ref().to_vec());
    let key = rustls::crypto::ring::sign::any_eddsa_type(&key).unwrap();
    // Its packets are not read.
    let certificate = CertificateDer::from(vec![0]);
    let certified = CertifiedKey::new(vec![certificate], key);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Certificate(Arc::new(certified))));
    let tls = QuicServerConfig::try_from(tls).unwrap();
    Arc::new(ServerConfig::with_crypto(Arc::new(tls)))
}

/// The one certificate of a server.
#[derive(Debug)]
struct Certificate(Arc<CertifiedKey>);

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

/// The port for discarded packets.
const NO_PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9);
const SENT_BYTES: usize = 30_000;
const ARE_MARKS_CARRIED: bool = cfg!(all(
    feature = "batches",
    any(target_os = "linux", target_os = "android")
));
