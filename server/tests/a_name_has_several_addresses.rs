//! A name may have addresses at which the server is not: a client connects by another one.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use client_bot::client_core::{Event, GameOptions, RetryOptions};
use client_bot::connect::ClientError;
use client_bot::scout::reach;
use client_bot::{Addresses, Client, Connector, GameClient, Trust};
use platform::renewal::Renewals;
use server::Server;
use standby::closed_port::ClosedPort;
use tokio::time::timeout;
use transport::quic::self_signed_pem;

use crate::common::folder::TestFolder;
use crate::common::python::interpreter;
use crate::common::{DEADLINE, ROOM, eventually, play_until, start, trust};

/// As `localhost` is looked up on many machines, for a server that listens on IPv4.
fn localhost(server: &Server) -> Addresses {
    let v4 = server.address();
    assert!(v4.is_ipv4());
    let v6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), v4.port());
    Addresses::new([v6, v4]).expect("two addresses")
}

/// An address without a server: packets arrive, and are never read.
fn silent() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

/// One attempt, which would end long after the test.
fn once() -> GameOptions {
    GameOptions {
        connect_timeout: DEADLINE,
        retry: RetryOptions::NEVER,
        ..GameOptions::default()
    }
}

fn is_welcome(event: &Event) -> bool {
    matches!(event, Event::Welcomed(_))
}

#[test]
fn a_game_connects_by_the_family_that_the_server_listens_on() {
    let server = start(ROOM);
    let client = GameClient::new(localhost(&server), "localhost", &trust(&server), once());
    let mut client = client.expect("sockets");
    let events = play_until(&mut client, "the welcome", is_welcome);
    assert!(is_welcome(&events[0]), "{events:?}");
    client.leave();
    server.stop().unwrap();
}

#[test]
fn a_game_waits_a_quarter_of_a_second_for_each_silent_address() {
    let server = start(ROOM);
    let [(one, first), (other, second)] = [silent(), silent()];
    let addresses = Addresses::new([first, second, server.address()]).expect("addresses");
    let client = GameClient::new(addresses, "localhost", &trust(&server), once());
    let mut client = client.expect("sockets");
    let started = Instant::now();
    play_until(&mut client, "the welcome", is_welcome);
    assert!(started.elapsed() >= Duration::from_millis(500));
    assert!(started.elapsed() < DEADLINE / 2);
    for socket in [one, other] {
        socket.set_nonblocking(true).expect("a socket");
        assert!(socket.recv(&mut [0; 2048]).is_ok(), "it was not tried");
    }
    client.leave();
    server.stop().unwrap();
}

#[test]
fn a_game_tries_the_next_address_where_one_is_another_servers() {
    let (other, server) = (start(ROOM), start(ROOM));
    let addresses = Addresses::new([other.address(), server.address()]).expect("addresses");
    let trust = trust(&server);
    let mut client = GameClient::new(addresses, "localhost", &trust, once()).expect("sockets");
    let events = play_until(&mut client, "the welcome", is_welcome);
    assert!(is_welcome(&events[0]), "{events:?}");
    // Both are wrong: this is the end, and not the silence of one of them.
    let addresses = Addresses::new([other.address(), server.address()]).expect("addresses");
    let unknown = Trust::Fingerprint([0; 32]);
    let mut client = GameClient::new(addresses, "localhost", &unknown, once()).expect("sockets");
    let is_lost = |event: &Event| matches!(event, Event::Lost { .. });
    let events = play_until(&mut client, "the end", is_lost);
    let [
        Event::Lost {
            reason, retry_in, ..
        },
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert!(reason.contains("certificate"), "{reason}");
    assert_eq!(*retry_in, None);
    client.leave();
    server.stop().unwrap();
    other.stop().unwrap();
}

/// As of a name that has both servers of a pair.
#[test]
fn a_game_tries_the_next_address_where_one_is_a_standbys() {
    let folder = TestFolder::new("several-addresses");
    let (certificate, key) = self_signed_pem().expect("a certificate");
    let files = (folder.join("tls.crt"), folder.join("tls.key"));
    fs::write(&files.0, certificate).expect("a file");
    fs::write(&files.1, key).expect("a file");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let standby = ClosedPort::open(any, files, Renewals::default()).expect("a port");
    let server = start(ROOM);
    let addresses = Addresses::new([standby.address(), server.address()]).expect("addresses");
    let trust = Trust::AnyCertificate;
    let client = GameClient::new(addresses, "localhost", &trust, GameOptions::default());
    let mut client = client.expect("sockets");
    let events = play_until(&mut client, "the welcome", is_welcome);
    let losses = events
        .iter()
        .filter(|event| matches!(event, Event::Lost { .. }));
    assert_eq!(losses.count(), 1, "{events:?}");
    client.leave();
    server.stop().unwrap();
}

#[test]
fn bots_go_to_the_address_that_answers() {
    let server = start(ROOM);
    let (_socket, silent) = silent();
    let v4 = server.address();
    let v6 = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), v4.port());
    let addresses = Addresses::new([v6, silent, v4]).expect("addresses");
    assert_eq!(
        reach(&addresses, "localhost", &trust(&server)).ok(),
        Some(v4)
    );
    // The probe is no client.
    assert_eq!(server.stats().figures().clients, 0);
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_in_python_connects_by_another_address() {
    let Some(python) = interpreter() else { return };
    let server = start(ROOM);
    // `localhost` as many machines look it up, behind an address without a server.
    let play = format!(
        "import asyncio, myriad.client as client\n\
         async def found(host, port): return ['::1', '{}', '127.0.0.1']\n\
         client.addresses = found\n\
         async def play():\n    \
             async with client.connect('localhost', {}) as own: print('in', own.view.own)\n\
         asyncio.run(asyncio.wait_for(play(), {}))",
        "127.0.0.2",
        server.address().port(),
        DEADLINE.as_secs(),
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client-bot/python");
    let mut command = std::process::Command::new(python);
    command.args(["-B", "-c", &play]).current_dir(folder);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.expect("a thread").expect("Python starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(printed.starts_with("in "), "{printed}{errors}");
    server.stop().unwrap();
}

#[tokio::test]
async fn a_client_for_tokio_connects_by_another_address() {
    let server = start(ROOM);
    let connector = Connector::new(localhost(&server), "localhost", &trust(&server));
    let connector = connector.expect("sockets");
    let joining = Client::connect_with(&connector, once(), None);
    let client = timeout(DEADLINE, joining).await.expect("an answer");
    let client = client.expect("the server welcomes a player");
    assert_eq!(client.connection().remote_address(), server.address());
    client.leave();
    eventually("no client is left", || {
        server.stats().figures().clients == 0
    })
    .await;

    let unknown = Trust::Fingerprint([0; 32]);
    let (_socket, silent) = silent();
    let addresses = Addresses::new([server.address(), silent]).expect("addresses");
    let connector = Connector::new(addresses.clone(), "localhost", &unknown).expect("sockets");
    let options = GameOptions {
        connect_timeout: Duration::from_millis(600),
        ..once()
    };
    let failed = Client::connect_with(&connector, options, None).await.err();
    let Some(ClientError::TimedOut { server: of, .. }) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(of, addresses);
    server.stop().unwrap();
}
