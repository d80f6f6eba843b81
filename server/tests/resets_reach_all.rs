//! After a crash, all clients of a shard learn at once that their connections are gone. One socket
//! for many stands for 65,536 clients: a reset goes to whoever sends a packet with a known id.

use std::collections::HashMap;
use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use quic::Steering;
use ring::hmac;
use shared::world::mix::mix;

use crate::common::folder::TestFolder;
use crate::common::process::Process;

const CLIENTS: usize = 65_536;
const SOCKETS: usize = 64;
/// At 20 Hz.
const TICK: Duration = Duration::from_millis(50);
/// As a client's datagram with an acknowledgement and a command.
const PACKET_BYTES: usize = 60;

type Id = [u8; 8];
type Token = [u8; 16];

/// What the servers of a folder share: they know the ids of connections of those before them.
struct Key {
    steering: Steering,
    tokens: hmac::Key,
}

impl Key {
    fn read(folder: &Path) -> Key {
        let key: [u8; 64] = fs::read(folder.join("reset.key"))
            .unwrap()
            .try_into()
            .unwrap();
        Key {
            steering: Steering::new(u16::MAX, Some(&key), None),
            tokens: hmac::Key::new(hmac::HMAC_SHA256, &key),
        }
    }

    /// An id as the shard 0 gives it out.
    fn id(&self, number: u64) -> Id {
        let mut id: Id = mix(number, 7).to_le_bytes();
        let shard = self.steering.owner(&packet(&id)).unwrap_or_default();
        let [low, high] = shard.to_le_bytes();
        // The number is hidden by an exclusive or with a hash of the rest.
        id[0] ^= low;
        id[1] ^= high;
        assert_eq!(self.steering.owner(&packet(&id)), Some(0));
        id
    }

    fn token(&self, id: &Id) -> Token {
        let tag = hmac::sign(&self.tokens, id);
        tag.as_ref()[..16].try_into().unwrap()
    }
}

fn packet(id: &Id) -> [u8; PACKET_BYTES] {
    let mut packet = [9; PACKET_BYTES];
    packet[0] = 0x40;
    packet[1..9].copy_from_slice(id);
    packet
}

/// Takes resets until it is stopped: the token of each, when it came, and its length.
struct Receiver {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<(Token, Instant, usize)>>>,
}

impl Receiver {
    fn start(sockets: &[UdpSocket]) -> Receiver {
        let stop = Arc::new(AtomicBool::new(false));
        // Few threads: the machine has few cores.
        let threads = sockets.chunks(SOCKETS / 4).map(|sockets| {
            let own = |socket: &UdpSocket| {
                let socket = socket.try_clone().unwrap();
                socket.set_nonblocking(true).unwrap();
                socket
            };
            let sockets: Vec<UdpSocket> = sockets.iter().map(own).collect();
            let stop = stop.clone();
            std::thread::spawn(move || {
                let (mut resets, mut bytes) = (vec![], [0; 1500]);
                while !stop.load(Ordering::Relaxed) {
                    let before = resets.len();
                    for socket in &sockets {
                        while let Ok(length) = socket.recv(&mut bytes) {
                            let token = bytes[length - 16..length].try_into().unwrap();
                            resets.push((token, Instant::now(), length));
                        }
                    }
                    if resets.len() == before {
                        std::thread::sleep(Duration::from_micros(200));
                    }
                }
                resets
            })
        });
        Receiver {
            threads: threads.collect(),
            stop,
        }
    }

    fn finish(self) -> Vec<(Token, Instant, usize)> {
        // The last ones are on their way.
        std::thread::sleep(Duration::from_millis(500));
        self.stop.store(true, Ordering::Relaxed);
        let threads = self.threads.into_iter();
        threads.flat_map(|thread| thread.join().unwrap()).collect()
    }
}

/// Sends a packet with each id. Returns when each was sent.
fn send(sockets: &[UdpSocket], address: SocketAddr, ids: &[Id]) -> Vec<Instant> {
    let sent = ids.iter().enumerate().map(|(number, id)| {
        let at = Instant::now();
        // A full buffer drops it, as networks do.
        let _ = sockets[number % sockets.len()].send_to(&packet(id), address);
        at
    });
    sent.collect()
}

#[test]
#[ignore = "measures"]
fn all_clients_of_a_killed_server_are_reset_within_two_ticks() {
    let folder = TestFolder::new("resets");
    let data = folder.join("data");
    let mut before = Process::spawn(&data, "127.0.0.1:0", 1, &["--tick-hz", "20"]);
    before.listens();
    let address = before.address;
    before.kill();
    let mut server = Process::spawn(&data, &address.to_string(), 1, &[]);
    server.listens();
    let key = Key::read(&data);
    let sockets: Vec<UdpSocket> = (0..SOCKETS)
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .collect();

    // Ids of another world are none of its business.
    let receiver = Receiver::start(&sockets);
    let foreign: Vec<Id> = (0..10_000).map(|n| mix(n, 99).to_le_bytes()).collect();
    send(&sockets, address, &foreign);
    assert!(receiver.finish().len() < 10, "ids of others are answered");

    // Each client sends a packet in each tick until it is reset.
    let ids: Vec<Id> = (0..CLIENTS as u64).map(|n| key.id(n)).collect();
    let mut left: HashMap<Token, Id> = ids.iter().map(|id| (key.token(id), *id)).collect();
    let (mut rounds, mut sent, mut received) = (vec![], 0, (0, 0));
    let mut delays = vec![];
    while !left.is_empty() && rounds.len() < 100 {
        let receiver = Receiver::start(&sockets);
        let begun = Instant::now();
        let these: Vec<(Token, Id)> = left.iter().map(|(token, id)| (*token, *id)).collect();
        let packets: Vec<Id> = these.iter().map(|(_, id)| *id).collect();
        let times = send(&sockets, address, &packets);
        let sending = begun.elapsed();
        sent += packets.len();
        let at: HashMap<Token, Instant> =
            these.iter().map(|(token, _)| *token).zip(times).collect();
        std::thread::sleep(TICK.saturating_sub(begun.elapsed()));
        let resets = receiver.finish();
        received.0 += resets.len();
        for (token, came, length) in resets {
            received.1 += length;
            assert!(length < PACKET_BYTES, "a reset of {length} bytes amplifies");
            left.remove(&token);
            if let Some(at) = at.get(&token) {
                delays.push(came.saturating_duration_since(*at));
            }
        }
        rounds.push((packets.len(), packets.len() - left.len(), sending));
    }
    delays.sort_unstable();
    let part = |part: f64| delays[((delays.len() - 1) as f64 * part) as usize];
    for (sent, reset, sending) in &rounds {
        println!("{sent} packets, sent within {sending:.1?}: {reset} reset");
    }
    println!(
        "from a packet to its reset: {:.2?} (median), {:.2?} (99 of 100), {:.2?} (worst)",
        part(0.5),
        part(0.99),
        part(1.0)
    );
    println!(
        "{sent} packets of {PACKET_BYTES} bytes, {} resets of {} bytes",
        received.0, received.1
    );
    assert!(left.is_empty(), "{} clients were not reset", left.len());

    // A peer that knows ids gets no more than the burst, and then an even rate.
    let receiver = Receiver::start(&sockets);
    let begun = Instant::now();
    let mut flood = 0;
    while flood < 6 * CLIENTS {
        flood += send(&sockets, address, &ids).len();
    }
    let resets = received.0 + receiver.finish().len();
    let seconds = begun.elapsed().as_secs_f64() + rounds.len() as f64;
    println!("{flood} more packets within {seconds:.1} s: {resets} resets in all");
    assert!(resets as f64 <= f64::from(1 << 17) + seconds * 17_000.0);
    server.stop();
}
