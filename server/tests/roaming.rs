//! A client whose address changes stays connected: behind a router that forgets, or from one
//! network to the next.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use client_bot::connect::hello;

use crate::common::{Player, ROOM, go, start_with, until};

/// A router that translates the address of one client, and forgets its port on demand.
struct Router {
    address: SocketAddr,
    state: Arc<State>,
    threads: Vec<JoinHandle<()>>,
}

struct State {
    inside: UdpSocket,
    /// Towards the server; another one after each change.
    outside: Mutex<UdpSocket>,
    client: Mutex<Option<SocketAddr>>,
    /// Packets from the server since the last change.
    answered: AtomicUsize,
    is_over: AtomicBool,
}

impl Router {
    fn start(server: SocketAddr) -> Router {
        let inside = UdpSocket::bind("127.0.0.1:0").unwrap();
        inside.set_read_timeout(Some(LOOK)).unwrap();
        let state = Arc::new(State {
            outside: Mutex::new(towards(server)),
            client: Mutex::new(None),
            answered: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            inside,
        });
        let (out, back) = (state.clone(), state.clone());
        Router {
            address: state.inside.local_addr().unwrap(),
            threads: vec![
                std::thread::spawn(move || out.pass_out()),
                std::thread::spawn(move || back.pass_back()),
            ],
            state,
        }
    }

    /// From here on the client's packets come from another port.
    fn forget(&self, server: SocketAddr) -> SocketAddr {
        let mut outside = self.state.outside.lock().unwrap();
        // The old one stays bound until now, so that the new one is another.
        let new = towards(server);
        self.state.answered.store(0, Ordering::Relaxed);
        let address = new.local_addr().unwrap();
        *outside = new;
        address
    }

    fn stop(self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
    }
}

impl State {
    fn pass_out(&self) {
        let mut packet = [0; 2048];
        while !self.is_over.load(Ordering::Relaxed) {
            if let Ok((length, from)) = self.inside.recv_from(&mut packet) {
                *self.client.lock().unwrap() = Some(from);
                // A packet may be lost.
                let _ = self.outside.lock().unwrap().send(&packet[..length]);
            }
        }
    }

    fn pass_back(&self) {
        let mut packet = [0; 2048];
        while !self.is_over.load(Ordering::Relaxed) {
            let outside = self.outside.lock().unwrap().try_clone().unwrap();
            if let Ok(length) = outside.recv(&mut packet) {
                self.answered.fetch_add(1, Ordering::Relaxed);
                if let Some(client) = *self.client.lock().unwrap() {
                    let _ = self.inside.send_to(&packet[..length], client);
                }
            }
        }
    }
}

fn towards(server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(LOOK)).unwrap();
    socket
}

const LOOK: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_client_keeps_its_connection_when_its_port_changes_whichever_shard_it_reaches() {
    // With this many shards, a new port almost always reaches another one.
    let world = format!("{ROOM}\n[limits]\nidle_seconds = 10\n[commands]\nmove.speed_max = 30");
    let server = start_with(&world, |options| options.shards = 8);
    let router = Router::start(server.address());
    let greeting = hello("", None);
    let joined = Player::try_join_at(&server, router.address, &greeting).await;
    let mut roamer = joined.expect("a welcome through the router");
    let mut bystander = Player::join(&server).await;
    let entity = roamer.entity();
    until(
        &mut [&mut roamer, &mut bystander],
        "both see the roamer",
        |p| p.iter().all(|player| player.sees(entity)),
    )
    .await;
    let mut ports = vec![];
    for step in 1..=6 {
        ports.push(router.forget(server.address()).port());
        // Its commands arrive, and so do datagrams to it.
        let place = 2.0 + 4.0 * f64::from(step);
        go(&mut roamer, place, 3.0).await;
        assert!(router.state.answered.load(Ordering::Relaxed) > 0);
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 6, "the router has changed its port each time");
    assert_eq!(roamer.entity(), entity);
    assert_eq!(server.stats().figures().sessions_lost, 0);
    assert_eq!(
        roamer.enters_of(entity),
        1,
        "it was in the world all the time"
    );
    assert!(bystander.leaves_of(entity).is_empty());
    router.stop();
    server.stop().unwrap();
}
