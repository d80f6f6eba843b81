use std::net::{Ipv4Addr, SocketAddr};

use quinn_proto::crypto::rustls::QuicClientConfig;
use rustls::RootCertStore;

use super::*;

struct Silent;

impl Application for Silent {
    type Session = ();

    fn open(&mut self, _: &Incoming, _: Load, _: Instant) -> Open<()> {
        Open::Ignore
    }

    fn event(&mut self, _: Event, _: &mut Link<'_>, (): &mut ()) {}

    fn closed(&mut self, _: Handle, (): (), _: ConnectionError) {}
}

#[test]
fn a_closed_connection_rests_until_its_own_timer_is_due() {
    let (mut endpoint, now) = (endpoint(), Instant::now());
    let handle = connect(&mut endpoint, now);
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
    let first = connect(&mut endpoint, now);
    // As by a packet that resets it: what it brings is passed on before it is settled.
    let peer = endpoint.peers.get_mut(first.index()).expect("a peer");
    peer.connection
        .handle_timeout(now + Duration::from_secs(3600));
    endpoint.pass_events(first.index(), &mut Silent, now, &mut false);
    let second = connect(&mut endpoint, now);
    assert_eq!(first, second);
    endpoint.settle(&mut Silent, now);
    let load = Load {
        connections: 1,
        handshakes: 1,
    };
    assert_eq!(endpoint.load(), load);
}

fn endpoint() -> Endpoint<()> {
    Endpoint::new(vec![Socket::towards(NOBODY).unwrap()], None).unwrap()
}

fn connect(endpoint: &mut Endpoint<()>, now: Instant) -> Handle {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let tls = QuicClientConfig::try_from(tls).unwrap();
    let config = ClientConfig::new(Arc::new(tls));
    endpoint
        .connect(config, NOBODY, "test", 0, (), now)
        .unwrap()
}

/// The port for what is thrown away.
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9);
