//! A server that is killed at any moment goes on where it was: with `--level told`
//! everything that anybody was told is there, at any level everything up to the tick that
//! clients were told is kept, and clients come back with their tickets.
//!
//! A primary that is killed at level `standby` lives on at its standby, with all that it told.
//!
//! `KILLS=1000` kills it so many times.

mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use client_bot::connect::{ClientError, hello};
use client_bot::{BehaviourKind, Client, Connector, Swarm, SwarmOptions, Trust};
use common::folder::TestFolder;
use common::{DEADLINE, Log, myriad_binary, units};
use gpu_kernels::{Backend, CpuBackend, SlotState};
use quic::Faults;
use script::builtin;
use server::durable::checkpoint;
use server::durable::disk::Folder;
use server::durable::log::Log as Journal;
use server::durable::recovery;
use shared::wire::control::Ticket;
use shared::wire::stream::Message;
use shared::world::mix::mix;
use shared::{EntityId, Tick};
use tokio::time::{sleep, timeout};

/// Small enough that everybody fights.
const FIGHT: &str = "
    [world]
    size = [60, 60]
    aoi = 60
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 48
    resume_seconds = 10

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
    ]

    [[kind]]
    name = 'item'
    population = 6
    attributes = [{ name = 'owner', type = 'entity', merge = 'first', audience = 'state' }]

    [[every]]
    kind = 'item'
    ticks = 5
    command = 'roam'
";

/// A server in a process of its own.
struct Process {
    child: Child,
    address: SocketAddr,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(folder: &Path, world: &Path, level: &str, listen: &str) -> Process {
        let world = world.display().to_string();
        let mut process = Process::spawn(folder, listen, &["--level", level, "--world", &world]);
        process.listens();
        process
    }

    fn spawn(folder: &Path, listen: &str, more: &[&str]) -> Process {
        let mut child = Command::new(myriad_binary())
            .args([
                "serve",
                "--backend",
                "cpu",
                "--threads",
                "1",
                "--shards",
                "1",
            ])
            .args(["--listen", listen, "--keep"])
            .args(["--checkpoint-every", "1"])
            .arg("--data")
            .arg(folder)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        Process {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            output,
        }
    }

    /// Waits until it takes clients.
    fn listens(&mut self) {
        let address = self.says("listening on ");
        self.address = address.parse().expect("an address");
    }

    /// Waits for a line, and gives the rest of it.
    fn says(&mut self, beginning: &str) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                let mut error = String::new();
                let mut stderr = self.child.stderr.take().expect("its errors");
                stderr.read_to_string(&mut error).expect("text");
                panic!("the server does not say `{beginning}`:\n{said}{error}");
            }
            said += &line;
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Tells it to stop, as a system does that shuts down, and waits for its end.
    fn stop(mut self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.expect("the command runs").success());
        assert!(self.child.wait().expect("it ends").success());
    }

    /// Ends it without a warning.
    fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A player that writes down what it is told.
struct Witness {
    client: Client,
    log: Log,
    _connector: Connector,
}

/// The value of an attribute after a tick, as somebody was told.
#[derive(Clone, Copy, Debug)]
struct Told {
    tick: Tick,
    entity: EntityId,
    column: u16,
    value: i32,
}

impl Witness {
    /// Comes in. Tries again while the server says that it is starting.
    async fn join(address: SocketAddr, ticket: Option<Ticket>) -> Witness {
        let started = Instant::now();
        loop {
            let trust = Trust::AnyCertificate;
            let connector = Connector::new(address, "localhost", &trust).expect("a socket");
            let hello = hello("", ticket);
            let joining = Client::connect(&connector, &hello);
            match timeout(DEADLINE, joining).await.expect("an answer") {
                Ok(client) => {
                    return Witness {
                        client,
                        log: Log::default(),
                        _connector: connector,
                    };
                }
                Err(ClientError::Ended(_)) if started.elapsed() < DEADLINE => {
                    sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Plays for a while: walks about, and blasts who is near.
    async fn play(&mut self, dice: &mut impl FnMut(u64) -> u64, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let step = [(); 2].map(|()| units(dice(200) as f64 / 100.0 - 1.0));
            self.client.command(builtin::MOVE, &step);
            if dice(4) == 0 {
                let blast = self.client.view().schema().command_named("blast");
                if let Some(blast) = blast.map(|command| command.kind) {
                    self.client.command(blast, &[units(20.0), 7]);
                }
            }
            self.client.flush();
            let wait = timeout(Duration::from_millis(40), async {
                loop {
                    if self.client.receive(&mut self.log).await.is_err() {
                        sleep(Duration::from_millis(40)).await;
                    }
                }
            });
            let _ = wait.await;
        }
    }

    /// The values that it was told of attributes that last.
    fn told(&self, lasting: &[u16]) -> Vec<Told> {
        let mut entities = std::collections::HashMap::new();
        let mut told = vec![];
        for (tick, message) in &self.log.messages {
            let (entity, values) = match message {
                Message::Enter { entity, values, .. } => {
                    entities.insert(entity.slot, *entity);
                    (*entity, values)
                }
                Message::State { slot, values } => (entities[slot], values),
                _ => continue,
            };
            let lasting = values.iter().filter(|(column, _)| lasting.contains(column));
            told.extend(lasting.map(|&(column, value)| Told {
                tick: *tick,
                entity,
                column,
                value,
            }));
        }
        told
    }
}

/// Runs the journal of a folder, and checks everything that was told up to a tick. Gives the
/// tick before which it ends.
fn check(folder: &Path, told: &mut [Told], up_to: Tick) -> u64 {
    told.sort_by_key(|told| told.tick);
    let first = told.first().map_or(0, |told| told.tick.0);
    let disk = Folder::new(folder);
    let stored = recovery::newest(&disk, Some(first))
        .unwrap()
        .expect("a checkpoint");
    let world = &stored.body.world;
    let columns = world.schema.attributes.len();
    let mut backend = CpuBackend::new(world, 1, None).unwrap();
    backend.restore(&stored.body.snapshot).unwrap();
    let (tick, previous) = (stored.head.tick, stored.head.previous);
    let mut journal = Journal::open(&disk, 64, tick, Some(previous)).unwrap();
    let mut checked = 0;
    let mut left = told.iter().filter(|told| told.tick <= up_to).peekable();
    while let Ok(read) = journal.read().unwrap() {
        backend.tick(&read.entry.frame).unwrap();
        let now = read.entry.frame.tick;
        if left.peek().is_none_or(|told| told.tick > now) {
            continue;
        }
        let state = backend.snapshot().unwrap();
        while let Some(told) = left.next_if(|told| told.tick <= now) {
            assert_eq!(told.tick, now, "{told:?} is before the checkpoint");
            let slot = told.entity.slot.index();
            assert_eq!(state.states[slot], SlotState::Live, "{told:?}");
            assert_eq!(state.generations[slot], told.entity.generation, "{told:?}");
            let value = state.rows[slot * columns + usize::from(told.column)];
            assert_eq!(value, told.value, "{told:?}");
            checked += 1;
        }
    }
    if let Some(told) = left.next() {
        panic!(
            "{told:?} is lost: the journal ends before tick {}",
            journal.next_tick()
        );
    }
    assert!(checked > 0, "nothing was told");
    journal.next_tick()
}

fn bots(address: SocketAddr, seed: u64) -> Swarm {
    Swarm::start(SwarmOptions {
        server: address,
        name: "localhost".to_owned(),
        trust: Trust::AnyCertificate,
        token: String::new(),
        clients: 8,
        spectators: 0,
        behaviour: BehaviourKind::Fight,
        play: None,
        rate_hz: None,
        threads: 1,
        sockets: 2,
        seed,
        faults: Faults::default(),
        verify: false,
    })
    .expect("the bots start")
}

async fn kill_many(level: &str, kills: u64) {
    let folder = TestFolder::new(&format!("killed-{level}"));
    let world = folder.join("world.toml");
    fs::write(&world, FIGHT).unwrap();
    let data = folder.join("data");
    let seed = 7;
    let mut state = seed;
    let mut dice = move |below: u64| {
        state = mix(state, 1);
        state % below
    };
    // The port stays, as it does where players are.
    let mut listen = "127.0.0.1:0".to_owned();
    let mut came_back: Option<(Ticket, EntityId)> = None;
    let mut hurt = 0;
    for kill in 0..kills {
        let server = Process::start(&data, &world, level, &listen);
        listen = server.address.to_string();
        let mut witness = Witness::join(server.address, came_back.map(|(ticket, _)| ticket)).await;
        if let Some((_, entity)) = came_back {
            assert_eq!(witness.client.view().entity(), entity, "kill {kill}");
        }
        let mut swarm = bots(server.address, kill);
        swarm.play();
        let time = Duration::from_millis(300 + dice(700));
        witness.play(&mut dice, time).await;
        server.kill();
        // What was on its way.
        witness.play(&mut dice, Duration::from_millis(50)).await;
        let kept = witness.client.view().kept().expect("a world that is kept");
        let up_to = match level {
            "told" => Tick(u64::MAX),
            _ => kept,
        };
        let schema = witness.client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let mut told = witness.told(&[hp]);
        hurt += told.iter().filter(|told| told.value < 100).count();
        let end = check(&data, &mut told, up_to);
        assert!(kept.0 < end, "kill {kill}: tick {kept} was kept");
        came_back = Some((witness.client.ticket(), witness.client.view().entity()));
        drop(swarm);
    }
    assert!(hurt > 0, "nobody fought");
}

fn kills() -> u64 {
    let number = std::env::var("KILLS").ok();
    number.map_or(10, |text| text.parse().expect("a number"))
}

#[tokio::test]
async fn everything_that_was_told_is_there_at_the_level_told() {
    kill_many("told", kills()).await;
}

#[tokio::test]
async fn everything_up_to_the_kept_tick_is_there_at_the_level_soon() {
    kill_many("soon", kills()).await;
}

/// The servers change their roles with each kill: who was killed follows who was promoted.
#[tokio::test]
async fn everything_that_was_told_is_there_at_the_standby_of_a_killed_primary() {
    let folder = TestFolder::new("killed-primary");
    let world = folder.join("world.toml");
    fs::write(&world, FIGHT).unwrap();
    let key = folder.join("link.pem").display().to_string();
    myriad(&["link-key", &key]);
    let mut data = ["one", "two"].map(|name| folder.join(name));
    let world = world.display().to_string();
    let strict = [
        "--level",
        "standby",
        "--standby-required",
        "--standby-wait",
        "60",
        "--followers",
        "127.0.0.1:0",
        "--link-key",
        &key,
    ];
    let first = [&strict[..], &["--world", &world]].concat();
    let mut primary = Process::spawn(&data[0], "127.0.0.1:0", &first);
    primary.listens();
    let mut came_back: Option<(Ticket, EntityId)> = None;
    let mut hurt = 0;
    let mut state = 7;
    let mut dice = move |below: u64| {
        state = mix(state, 1);
        state % below
    };
    for kill in 0..kills().div_ceil(3) {
        let follow = primary.says("a standby may follow at ");
        let more = [&strict[..], &["--follow", &follow]].concat();
        let mut standby = Process::spawn(&data[1], "127.0.0.1:0", &more);
        let ticket = came_back.map(|(ticket, _)| ticket);
        let mut witness = Witness::join(primary.address, ticket).await;
        if let Some((_, entity)) = came_back {
            assert_eq!(witness.client.view().entity(), entity, "kill {kill}");
        }
        let mut swarm = bots(primary.address, kill);
        swarm.play();
        let time = Duration::from_millis(500 + dice(700));
        witness.play(&mut dice, time).await;
        primary.kill();
        // What was on its way.
        witness.play(&mut dice, Duration::from_millis(50)).await;
        myriad(&["promote", &data[1].display().to_string()]);
        standby.listens();
        let schema = witness.client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let mut told = witness.told(&[hp]);
        hurt += told.iter().filter(|told| told.value < 100).count();
        check(&data[1], &mut told, Tick(u64::MAX));
        came_back = Some((witness.client.ticket(), witness.client.view().entity()));
        drop(swarm);
        primary = standby;
        data.swap(0, 1);
    }
    assert!(hurt > 0, "nobody fought");
}

fn myriad(arguments: &[&str]) {
    let output = Command::new(myriad_binary())
        .args(arguments)
        .output()
        .expect("the binary runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_says_when_to_come_back_and_leaves_a_checkpoint() {
    let folder = TestFolder::new("stopped");
    let world = folder.join("world.toml");
    fs::write(&world, FIGHT).unwrap();
    let data = folder.join("data");
    let server = Process::start(&data, &world, "soon", "127.0.0.1:0");
    let listen = server.address.to_string();
    let mut witness = Witness::join(server.address, None).await;
    let mut dice = |below: u64| below / 2;
    witness.play(&mut dice, Duration::from_millis(300)).await;
    let stopping = std::thread::spawn(|| server.stop());
    let ended = async {
        loop {
            if let Err(error) = witness.client.receive(&mut witness.log).await {
                return error.to_string();
            }
        }
    };
    let reason = timeout(DEADLINE, ended).await.expect("an end");
    assert!(
        reason.contains("come back within 10 seconds of its return"),
        "{reason}"
    );
    stopping.join().unwrap();
    // Nothing is to be replayed.
    let disk = Folder::new(&data);
    let last = checkpoint::newest_name(&disk).unwrap().unwrap();
    let mut journal = Journal::open(&disk, 64, last, None).unwrap();
    assert_eq!(journal.read().unwrap().unwrap_err().tick, last);
    assert!(last > witness.client.view().newest().0);
    let server = Process::start(&data, &world, "soon", &listen);
    let again = Witness::join(server.address, Some(witness.client.ticket())).await;
    let [before, after] = [&witness, &again].map(|witness| witness.client.view().entity());
    assert_eq!(after, before);
}
