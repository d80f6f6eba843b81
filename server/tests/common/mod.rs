//! Shared parts of the end-to-end tests: servers, swarms of bots, single players, and clients
//! that break the rules.
//!
//! Conditions are awaited with a deadline that only a failure reaches, and spans are
//! counted in ticks.

// Each test file uses its own part of this.
#![allow(dead_code)]

pub mod browser;
pub mod chromium;
pub mod disks;
pub mod folder;
pub mod gateways;
pub mod names;
pub mod pair;
pub mod player;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod process;
pub mod python;
pub mod raw;
pub mod recorded;
pub mod relay;
pub mod web_socket;
pub mod witness;

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use client_bot::client_core::Event;
use client_bot::{
    BehaviourKind, Client, GameClient, Progress, Swarm, SwarmOptions, SwarmReport, Trust,
};
use quic::{Faults, Network};
use server::host::WebServing;
use server::{Server, ServerOptions};
use shared::{Fixed, WorldConfig};
use tokio::time::{sleep, timeout};

pub use player::{Log, Player, Vanished, all_listen, go, listen_for, until};

/// A world in which every player is near some others.
pub const PLAIN: &str = "
    [world]
    size = [200, 200]
    aoi = 50
    capacity = 256
    tick_hz = 20
";

/// A world in which all players see each other.
pub const ROOM: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20
";

pub fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "a test's world").expect("a valid world file")
}

pub fn start(text: &str) -> Server {
    start_with(text, |_| ())
}

pub fn start_with(text: &str, change: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::local(world(text));
    change(&mut options);
    Server::start(options).expect("the server starts")
}

/// Lets browsers connect, from pages of any origin.
pub fn web(options: &mut ServerOptions) {
    options.web = Some(WebServing::at("127.0.0.1:0".parse().expect("an address")));
}

/// Waits until a condition holds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < DEADLINE, "timed out: {what}");
        sleep(POLL).await;
    }
}

/// The output of a program.
pub fn text(output: &Output) -> String {
    String::from_utf8([output.stdout.as_slice(), &output.stderr].concat()).unwrap()
}

/// Lets a player leave for good, and waits until the world has removed it.
pub async fn leave(server: &Server, player: Player) {
    let before = server.stats().figures().clients;
    drop(player);
    eventually("the client is gone", || {
        server.stats().figures().clients < before
    })
    .await;
    ticks(server, 3).await;
}

/// Lets a client come back after its connection has ended, wherever the world is now.
pub async fn come_back(client: &mut Client) {
    let came = timeout(DEADLINE, client.come_back()).await;
    came.expect("an answer")
        .expect("a server welcomes the client again");
}

/// Plays until something holds, of a game and its newest events; fails after the deadline.
pub fn until_game<T>(
    game: &mut GameClient,
    (what, deadline): (&str, Duration),
    holds: impl Fn(&GameClient, &[Event]) -> Option<T>,
) -> T {
    let started = Instant::now();
    loop {
        let events = game.poll();
        game.flush();
        if let Some(found) = holds(game, &events) {
            return found;
        }
        assert!(started.elapsed() < deadline, "timed out: {what}");
        game.wait(Duration::from_millis(5)).expect("a socket");
    }
}

/// Polls until an event comes, and gives all events up to it.
pub fn play_until(game: &mut GameClient, what: &str, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let started = Instant::now();
    let mut events = vec![];
    while !events.iter().any(&is_it) {
        assert!(
            started.elapsed() < DEADLINE,
            "timed out waiting for {what}: {events:?}"
        );
        game.wait(Duration::from_millis(10)).expect("a socket");
        events.extend(game.poll());
        game.flush();
    }
    events
}

/// Waits until a server has run this many more ticks.
pub async fn ticks(server: &Server, count: u64) {
    let end = server.stats().figures().ticks + count;
    eventually("the world runs", || server.stats().figures().ticks >= end).await;
}

/// A path for a test's own file: in the build's folder, or in the one that `MYRIAD_SCRATCH`
/// names, so that tests can run where nothing was built, and side by side.
pub fn scratch(name: &str) -> PathBuf {
    given_or("MYRIAD_SCRATCH", env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs an ignored test of this program in a process of its own, for what processes share, as
/// metrics and memory.
pub fn run_alone(name: &str) {
    let program = std::env::current_exe().expect("this program");
    let mut command = Command::new(program);
    let ran = command.args(["--exact", name, "--ignored"]).output();
    let ran = text(&ran.expect("it runs"));
    assert!(ran.contains("test result: ok. 1 passed"), "{ran}");
}

/// Runs `myriad` in a folder to its end, which is a good one.
pub fn myriad_in(folder: &Path, words: &[&str]) {
    let mut command = Command::new(myriad_binary());
    let done = command.current_dir(folder).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}", text(&done));
}

/// The server's binary: the one of this build, or the one that `MYRIAD_BINARY` names.
pub fn myriad_binary() -> PathBuf {
    given_or("MYRIAD_BINARY", env!("CARGO_BIN_EXE_myriad"))
}

fn given_or(variable: &str, own: &str) -> PathBuf {
    PathBuf::from(std::env::var_os(variable).unwrap_or_else(|| own.into()))
}

/// A number of units as a command's word.
pub fn units(number: f64) -> i32 {
    Fixed::from_f64(number).expect("a number in range").raw()
}

/// Bots that verify their views.
pub struct Bots {
    swarm: Swarm,
    options: SwarmOptions,
}

impl Bots {
    /// Bots that are all connected, and play.
    pub async fn start(server: &Server, clients: usize, behaviour: BehaviourKind) -> Bots {
        Bots::start_with(server, clients, behaviour, |_| ()).await
    }

    pub async fn start_with(
        server: &Server,
        clients: usize,
        behaviour: BehaviourKind,
        change: impl FnOnce(&mut SwarmOptions),
    ) -> Bots {
        let mut options = swarm_options(server, clients, behaviour);
        change(&mut options);
        let mut swarm = Swarm::start(options.clone()).expect("the bots start");
        eventually("all bots are connected", || swarm.is_settled()).await;
        swarm.play();
        Bots { swarm, options }
    }

    pub fn progress(&self) -> Progress {
        self.swarm.progress()
    }

    /// Ends the play as it is.
    pub fn go_home(self) {
        self.swarm.finish().expect("the bots report");
    }

    /// Lets the world come to rest, and asserts that everything the bots were
    /// received was right.
    pub async fn verify(mut self, server: &Server) -> SwarmReport {
        self.swarm.rest();
        ticks(server, REST_TICKS).await;
        let options = self.options;
        let report = self.swarm.finish().expect("the bots report");
        let mut story = format!("bots of seed {}:", options.seed);
        for example in &report.examples {
            write!(story, "\n  {example}").expect("text grows");
        }
        assert_eq!(report.clients_connected, options.clients as u64, "{story}");
        assert_eq!(report.sessions_lost, 0, "{story}");
        assert_eq!(report.verify_errors, 0, "{story}");
        assert!(report.verify_checked > 0, "nothing was verified");
        assert!(report.commands_sent > 0, "no bot did anything");
        report
    }
}

/// Bots that look at everything.
pub fn swarm_options(server: &Server, clients: usize, behaviour: BehaviourKind) -> SwarmOptions {
    SwarmOptions {
        behaviour,
        threads: 2,
        sockets: 8,
        verify: true,
        ..SwarmOptions::new(server.address(), trust(server), clients)
    }
}

/// A network that loses a share of all packets, each way.
pub fn losing(loss: f64) -> Network {
    let faults = Faults {
        loss,
        ..Faults::default()
    };
    faults.into()
}

/// An address of this machine with a port that is free for TCP and UDP. It is none of those that the
/// system picks by itself, so hardly any socket has it when a server listens there later.
pub fn free_address() -> SocketAddr {
    static TRIES: AtomicU32 = AtomicU32::new(0);
    loop {
        // Programs that run at the same time begin at different ports.
        let number = (std::process::id() * 101 + TRIES.fetch_add(1, Ordering::Relaxed)) % 12_000;
        let address = SocketAddr::from(([127, 0, 0, 1], 20_000 + number as u16));
        if TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok() {
            return address;
        }
    }
}

/// The response of an HTTP port.
pub fn get(address: SocketAddr, path: &str) -> String {
    String::from_utf8_lossy(&get_bytes(address, path)).into_owned()
}

/// The same as it came.
pub fn get_bytes(address: SocketAddr, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

pub fn trust(server: &Server) -> Trust {
    Trust::Certificates(vec![server.certificate().clone()])
}

/// Only a failure takes this long, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(5);
/// At 20 Hz: bots compare only entities that have not moved for a second.
const REST_TICKS: u64 = 45;
