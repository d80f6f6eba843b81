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
pub mod names;
pub mod pair;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod process;
pub mod python;
pub mod raw;
pub mod relay;
pub mod witness;

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Output;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client_bot::EventHandler;
use client_bot::client_core::{Event, LossCode};
use client_bot::connect::{ClientError, hello};
use client_bot::{
    BehaviourKind, Client, Connector, GameClient, Progress, Swarm, SwarmOptions, SwarmReport, Trust,
};
use quic::{Faults, Network};
use script::builtin;
use server::server::WebServing;
use server::{Server, ServerOptions};
use shared::wire::control::{Hello, Ticket};
use shared::wire::notice::Notice;
use shared::wire::stream::Message;
use shared::{CommandKind, EntityId, Fixed, Tick, WorldConfig};
use tokio::time::{sleep, timeout};

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
    script::world::parse(text, "a test's world").expect("a valid world file")
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
        assert!(started.elapsed() < DEADLINE, "waited in vain: {what}");
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

/// Polls until an event comes, and gives all events up to it.
pub fn play_until(game: &mut GameClient, what: &str, is_it: impl Fn(&Event) -> bool) -> Vec<Event> {
    let started = Instant::now();
    let mut events = vec![];
    while !events.iter().any(&is_it) {
        assert!(
            started.elapsed() < DEADLINE,
            "waited in vain for {what}: {events:?}"
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
        server: server.address(),
        name: "localhost".to_owned(),
        trust: trust(server),
        token: String::new(),
        clients,
        spectators: 0,
        behaviour,
        play: None,
        rate_hz: None,
        threads: 2,
        sockets: 8,
        seed: 1,
        network: Network::default(),
        verify: true,
        view_every: NonZeroUsize::MIN,
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

/// A single client, and the messages of its stream.
pub struct Player {
    pub client: Client,
    pub log: Log,
}

#[derive(Default)]
pub struct Log {
    pub messages: Vec<(Tick, Message)>,
}

impl EventHandler for Log {
    fn message(&mut self, tick: Tick, item: &Message) {
        self.messages.push((tick, item.clone()));
    }
}

impl Player {
    /// Joins, and waits until it sees itself.
    pub async fn join(server: &Server) -> Player {
        Player::join_as(server, &hello("", None)).await
    }

    /// The same with a hello of its own.
    pub async fn join_as(server: &Server, hello: &Hello) -> Player {
        let joined = Player::try_join(server, hello).await;
        let mut player = joined.expect("the server welcomes a player");
        until(&mut [&mut player], "a player sees itself", |p| {
            p[0].client.view().own().is_some()
        })
        .await;
        player
    }

    /// Resumes the session of a ticket; begins a new one if it is over.
    pub async fn resume(server: &Server, ticket: Ticket) -> Player {
        let joined = Player::try_join(server, &hello("", Some(ticket))).await;
        joined.expect("the server welcomes a client that resumes")
    }

    /// The code and the sentence with which a server refuses a hello.
    pub async fn refusal(server: &Server, hello: &Hello) -> (LossCode, String) {
        let joined = Player::try_join(server, hello).await;
        let error = joined.err().expect("no welcome");
        (error.code(), error.to_string())
    }

    pub async fn try_join(server: &Server, hello: &Hello) -> Result<Player, ClientError> {
        Player::try_join_at(server, server.address(), hello).await
    }

    /// Joins by another address than the server's own.
    pub async fn try_join_at(
        server: &Server,
        address: SocketAddr,
        hello: &Hello,
    ) -> Result<Player, ClientError> {
        let connector = Connector::new(address, "localhost", &trust(server))?;
        let joining = Client::connect(&connector, hello);
        let client = timeout(DEADLINE, joining).await.expect("an answer")?;
        Ok(Player {
            client,
            log: Log::default(),
        })
    }

    /// Comes back after its connection has ended, wherever the world is now.
    pub async fn come_back(&mut self) {
        come_back(&mut self.client).await;
    }

    /// Receives for a moment, and acknowledges.
    pub async fn listen(&mut self) -> Result<(), ClientError> {
        let end = Instant::now() + POLL;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match timeout(left, self.client.receive(&mut self.log)).await {
                Ok(received) => received?,
                Err(_) => break,
            }
        }
        self.client.flush();
        Ok(())
    }

    pub fn entity(&self) -> EntityId {
        self.client.view().entity()
    }

    pub fn sees(&self, entity: EntityId) -> bool {
        let seen = self.client.view().entities().get(&entity.slot.0);
        seen.is_some_and(|seen| seen.id == entity)
    }

    /// The number of enters of an entity's slot.
    pub fn enters_of(&self, of: EntityId) -> usize {
        let is_it = |item: &Message| matches!(item, Message::Enter { entity, .. } if entity.slot == of.slot);
        self.log.messages.iter().filter(|(_, i)| is_it(i)).count()
    }

    /// The ticks of the leaves of an entity.
    pub fn leaves_of(&self, entity: EntityId) -> Vec<Tick> {
        let items = self.log.messages.iter();
        let leaves = items.filter(|(_, item)| *item == Message::Leave(entity.slot));
        leaves.map(|&(tick, _)| tick).collect()
    }

    /// The requests that were answered, each with its answer.
    pub fn answers(&self) -> Vec<(u32, Result<(), String>)> {
        let items = self.log.messages.iter();
        let answers = items.filter_map(|(_, item)| match item {
            Message::Answer(answer) => Some((answer.request, answer.result.clone())),
            _ => None,
        });
        answers.collect()
    }

    /// Waits for the answer to a request.
    pub async fn answer(&mut self, request: impl Into<Option<u32>>) -> Result<(), String> {
        let answer = self.client.answer(request, &mut self.log).await;
        answer.expect("an answer")
    }

    /// Subscribes, and waits for the answer.
    pub async fn subscribe(&mut self, id: u32, predicate: &str) -> Result<(), String> {
        let request = self.client.subscribe(id, predicate).expect("a short text");
        self.answer(request).await
    }

    /// The notices that it was sent.
    pub fn notices(&self) -> Vec<&Notice> {
        let items = self.log.messages.iter();
        let notices = items.filter_map(|(_, item)| match item {
            Message::Notice(notice) => Some(notice),
            _ => None,
        });
        notices.collect()
    }

    /// An attribute of an entity in view.
    pub fn value(&self, entity: EntityId, attribute: &str) -> i32 {
        let view = self.client.view();
        let column = view.schema().column(attribute).expect("such an attribute");
        view.entities()[&entity.slot.0].row[column]
    }

    pub fn send(&mut self, kind: CommandKind, words: &[i32]) {
        let sent = self.client.command(kind, words);
        assert!(sent.is_some(), "this world has no command {kind:?}");
        self.client.flush();
    }

    /// Listens until the connection ends, and gives the reason.
    pub async fn end(&mut self) -> String {
        self.error().await.to_string()
    }

    /// The same with the code.
    pub async fn end_with_code(&mut self) -> (LossCode, String) {
        let error = self.error().await;
        (error.code(), error.to_string())
    }

    async fn error(&mut self) -> ClientError {
        let started = Instant::now();
        loop {
            if let Err(error) = self.listen().await {
                return error;
            }
            assert!(started.elapsed() < DEADLINE, "the connection does not end");
        }
    }
}

/// Lets players listen until a condition holds.
pub async fn until(
    players: &mut [&mut Player],
    what: &str,
    mut holds: impl FnMut(&[&mut Player]) -> bool,
) {
    let started = Instant::now();
    while !holds(players) {
        assert!(started.elapsed() < DEADLINE, "waited in vain: {what}");
        listen(players, what).await;
    }
}

/// Lets players listen for this many ticks.
pub async fn listen_for(server: &Server, players: &mut [&mut Player], ticks: u64) {
    let end = server.stats().figures().ticks + ticks;
    until(players, "the world runs", |_| {
        server.stats().figures().ticks >= end
    })
    .await;
}

/// Lets all of these players listen for some ticks.
pub async fn all_listen(server: &Server, players: &mut [Player]) {
    let mut all: Vec<&mut Player> = players.iter_mut().collect();
    listen_for(server, &mut all, 4).await;
}

/// Moves a player somewhere in one step, and waits until it is there.
pub async fn go(player: &mut Player, x: f64, y: f64) {
    let own = player.client.view().own().expect("it lives");
    let goal = [units(x), units(y)];
    let step = [goal[0] - own.row[0], goal[1] - own.row[1]];
    player.send(builtin::MOVE, &step);
    until(&mut [player], "it is there", |p| {
        let own = p[0].client.view().own();
        own.is_some_and(|own| own.row[..2] == goal)
    })
    .await;
}

async fn listen(players: &mut [&mut Player], what: &str) {
    for player in players {
        if let Err(error) = player.listen().await {
            panic!("while waiting until {what}: {error}");
        }
    }
}

/// A player whose machine has stopped: it sends nothing any more, not even a goodbye.
pub struct Vanished {
    pub entity: EntityId,
    pub ticket: Ticket,
    /// The newest tick that it received.
    pub newest: Tick,
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Vanished {
    /// Joins, sees itself, and vanishes.
    pub fn join(server: &Server) -> Vanished {
        Vanished::join_with(server, async |_: &mut Player| ())
    }

    /// Joins, sees itself, does something, and vanishes.
    pub fn join_with(server: &Server, act: impl AsyncFnOnce(&mut Player) + Send) -> Vanished {
        Vanished::join_as(server, &hello("", None), act)
    }

    /// The same with a hello of its own.
    pub fn join_as(
        server: &Server,
        hello: &Hello,
        act: impl AsyncFnOnce(&mut Player) + Send,
    ) -> Vanished {
        std::thread::scope(|scope| {
            let joined = scope.spawn(|| Vanished::join_here(server, hello, act));
            joined.join().expect("a player joins and vanishes")
        })
    }

    fn join_here(server: &Server, hello: &Hello, act: impl AsyncFnOnce(&mut Player)) -> Vanished {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let player = runtime.block_on(async {
            let mut player = Player::join_as(server, hello).await;
            act(&mut player).await;
            player
        });
        let (wake, woken) = channel();
        let (entity, ticket) = (player.entity(), player.client.ticket());
        let newest = player.client.view().newest();
        let thread = std::thread::spawn(move || {
            // The socket stays open, and is not read.
            let _ = woken.recv();
            drop((player, runtime));
        });
        Vanished {
            entity,
            ticket,
            newest,
            wake: Some(wake),
            thread: Some(thread),
        }
    }
}

impl Drop for Vanished {
    fn drop(&mut self) {
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a vanished player's thread ends");
        }
    }
}

/// The response of an HTTP port.
pub fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time-out");
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = vec![];
    stream.read_to_end(&mut answer).expect("an answer");
    String::from_utf8_lossy(&answer).into_owned()
}

pub fn trust(server: &Server) -> Trust {
    Trust::Certificates(vec![server.certificate().clone()])
}

/// Only a failure takes this long, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(5);
/// At 20 Hz: bots compare only entities that have not moved for a second.
const REST_TICKS: u64 = 45;
