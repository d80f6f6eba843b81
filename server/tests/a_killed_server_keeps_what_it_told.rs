//! A server that is killed at any moment goes on where it was: with `--level told`
//! everything that anybody was told is there, at any level everything up to the tick that
//! clients were told is kept, and clients come back with their tickets.
//!
//! A primary that is killed at level `standby` lives on at its standby, with all that it told,
//! and bots play on there by themselves. With `--nocapture` each kill is a line of JSON.
//!
//! | variable | sets |
//! | --- | --- |
//! | `KILLS` | how often a server is killed |
//! | `BOTS` | how many bots play (8) |
//! | `SEED` | other plays |
//! | `PORT` | the server's port: one that the system gives to nobody while the server is dead |
//! | `PROMOTE_AFTER_MS` | how long after a primary's death its standby is promoted (1000) |

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client_bot::connect::{ClientError, hello};
use client_bot::{BehaviourKind, Client, Connector, Swarm, SwarmOptions, Trust};
use common::folder::TestFolder;
use common::{DEADLINE, Log, come_back, eventually, myriad_binary, units};
use gpu_kernels::{Backend, CpuBackend, SlotState};
use quic::Faults;
use script::builtin;
use serde::Serialize;
use server::durable::checkpoint;
use server::durable::disk::Folder;
use server::durable::log::Log as Journal;
use server::durable::recovery;
use shared::wire::control::Ticket;
use shared::wire::stream::Message;
use shared::world::mix::mix;
use shared::{EntityId, Tick};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

/// Small enough that everybody fights.
fn fight(bots: usize) -> String {
    let clients = bots + 40;
    let (side, capacity) = ((clients * 75).isqrt(), clients + 16);
    format!(
        "[world]
        size = [{side}, {side}]
        aoi = 60
        capacity = {capacity}
        tick_hz = 20

        [limits]
        clients = {clients}
        {FIGHT}"
    )
}

const FIGHT: &str = "
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
    begun: Instant,
    /// What it has logged so far.
    log: Arc<Mutex<String>>,
}

impl Process {
    fn start(folder: &Path, world: &Path, level: &str, listen: &str) -> Process {
        let world = world.display().to_string();
        let more = ["--level", level, "--world", &world];
        let mut process = Process::spawn(folder, listen, 1, &more);
        process.listens();
        process
    }

    fn spawn(folder: &Path, listen: &str, threads: usize, more: &[&str]) -> Process {
        let threads = threads.to_string();
        let mut command = Command::new(myriad_binary());
        command
            .args(["serve", "--backend", "cpu"])
            .args(["--threads", &threads, "--shards", &threads])
            .args(["--listen", listen, "--keep"])
            .args(["--checkpoint-every", "1"])
            .arg("--data")
            .arg(folder)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let errors = BufReader::new(child.stderr.take().expect("its errors"));
        let log = Arc::new(Mutex::new(String::new()));
        let written = log.clone();
        // Otherwise it would wait for somebody to read them. The thread ends with the process.
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let mut log = written.lock().expect("nobody panics with it");
                *log += &line;
                log.push('\n');
            }
        });
        Process {
            child,
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            output,
            begun,
            log,
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
                let log = self.log.lock().expect("nobody panics with it");
                panic!("the server does not say `{beginning}`:\n{said}{log}");
            }
            said += &line;
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until it has logged something.
    async fn logs(&self, what: &str) {
        eventually(what, || {
            let log = self.log.lock().expect("nobody panics with it");
            log.contains(what)
        })
        .await;
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
    connector: Connector,
}

/// The value of an attribute after a tick, as somebody was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
                        connector,
                    };
                }
                Err(ClientError::Ended(_)) if started.elapsed() < DEADLINE => {
                    sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Plays for a while: walks about, blasts who is near, and heals itself.
    async fn play(&mut self, dice: &mut impl FnMut(u64) -> u64, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let step = [(); 2].map(|()| units(dice(200) as f64 / 100.0 - 1.0));
            self.client.command(builtin::MOVE, &step);
            let own = self.client.view().own().map(|own| [own.row[0], own.row[1]]);
            match (dice(4), own) {
                (0, Some(place)) => drop(self.client.command(builtin::BLAST, &place)),
                (1, _) => {
                    let own = self.client.view().entity().reference();
                    self.client.command(builtin::HEAL, &[own.0]);
                }
                _ => {}
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

    /// Comes back to wherever the world is now, and is told of all anew.
    async fn rejoin(&mut self) {
        come_back(&mut self.client, &self.connector).await;
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

/// Who plays, kill after kill.
struct Crowd {
    witnesses: Vec<Witness>,
    seed: u64,
}

impl Crowd {
    /// Lets so many in. Those of `before` come back with their tickets, as who they were.
    async fn join(address: SocketAddr, bots: usize, before: Option<Crowd>, seed: u64) -> Crowd {
        let known = before.map_or(vec![], |crowd| crowd.witnesses);
        let known = known.iter().map(|witness| {
            let client = &witness.client;
            Some((client.ticket(), client.view().entity()))
        });
        let known = known.chain(std::iter::repeat(None)).take(bots);
        let joins = known.map(|known| async move {
            let witness = Witness::join(address, known.map(|(ticket, _)| ticket)).await;
            if let Some((_, entity)) = known {
                assert_eq!(witness.client.view().entity(), entity, "seed {seed}");
            }
            witness
        });
        Crowd {
            witnesses: all(joins.collect()).await,
            seed,
        }
    }

    async fn play(self, time: Duration) -> Crowd {
        let seed = self.seed;
        let plays = self.witnesses.into_iter().zip(0..);
        let plays = plays.map(|(mut witness, number)| async move {
            witness.play(&mut dice(mix(seed, number)), time).await;
            witness
        });
        Crowd {
            witnesses: all(plays.collect()).await,
            seed,
        }
    }

    /// The newest tick that anybody was told is kept.
    fn kept(&self) -> Tick {
        let kept = self
            .witnesses
            .iter()
            .map(|witness| witness.client.view().kept());
        kept.flatten().max().expect("a world that is kept")
    }

    /// What any of them was told of hit points.
    fn told(&self) -> Vec<Told> {
        let schema = self.witnesses[0].client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let told = self
            .witnesses
            .iter()
            .flat_map(|witness| witness.told(&[hp]));
        told.collect()
    }
}

/// Waits until all of these have ended.
async fn all<T: 'static>(futures: Vec<impl Future<Output = T> + 'static>) -> Vec<T> {
    let running = async {
        let tasks: Vec<_> = futures.into_iter().map(spawn_local).collect();
        let mut ended = vec![];
        for task in tasks {
            ended.push(task.await.expect("a bot plays"));
        }
        ended
    };
    LocalSet::new().run_until(running).await
}

fn dice(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below: u64| {
        state = mix(state, 1);
        state % below
    }
}

/// What a test has checked.
#[derive(Default)]
struct Figures {
    kills: u64,
    /// Values that were told, each of a tick and an entity.
    told: usize,
    checked: usize,
    /// From each start of the process until it listens, and from then until all are back.
    starts: Vec<Duration>,
    returns: Vec<Duration>,
}

impl Figures {
    fn print(&mut self, level: &str, bots: usize, seed: u64) {
        let Figures {
            kills,
            told,
            checked,
            starts,
            returns,
        } = self;
        let late = returns.iter().filter(|time| time.as_secs() >= 3).count();
        let [starts, returns] = [starts, returns].map(|times: &mut Vec<Duration>| {
            times.sort_unstable();
            let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_millis();
            format!(r#"{{"p50":{},"p99":{},"max":{}}}"#, at(50), at(99), at(100))
        });
        // Another line would have ended the test.
        println!(
            r#"{{"level":"{level}","bots":{bots},"seed":{seed},"kills":{kills},"told":{told},"checked":{checked},"lost":0,"start_ms":{starts},"all_back_ms":{returns},"not_back_in_3_s":{late}}}"#
        );
    }
}

/// What [`check`] has found.
struct Checked {
    /// The tick before which the journal ends.
    end: u64,
    values: usize,
}

/// Runs the journal of a folder, and checks everything that was told up to a tick.
fn check(folder: &Path, told: &mut Vec<Told>, up_to: Tick) -> Checked {
    // Many were told the same.
    told.sort_unstable();
    told.dedup();
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
    let capacity = world.schema.world.capacity;
    let mut journal = Journal::open(&disk, capacity, tick, Some(previous)).unwrap();
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
    Checked {
        end: journal.next_tick(),
        values: checked,
    }
}

fn bots(address: SocketAddr, clients: usize, seed: u64) -> Swarm {
    Swarm::start(SwarmOptions {
        server: address,
        name: "localhost".to_owned(),
        trust: Trust::AnyCertificate,
        token: String::new(),
        clients,
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
    let (bots, seed) = (given("BOTS", 8) as usize, given("SEED", 7));
    fs::write(&world, fight(bots)).unwrap();
    let data = folder.join("data");
    let mut dice = dice(seed);
    // The port stays, as it does where players are.
    let mut listen = format!("127.0.0.1:{}", given("PORT", 0));
    let (mut crowd, mut hurt) = (None, 0);
    let mut figures = Figures::default();
    for kill in 0..kills {
        let server = Process::start(&data, &world, level, &listen);
        listen = server.address.to_string();
        let listening = Instant::now();
        figures.starts.push(listening - server.begun);
        let joined = Crowd::join(server.address, bots, crowd.take(), mix(seed, kill)).await;
        figures.returns.push(listening.elapsed());
        let time = Duration::from_millis(300 + dice(700));
        let killed = async {
            sleep(time).await;
            server.kill();
        };
        // What was on its way still comes.
        let playing = joined.play(time + Duration::from_millis(50));
        let (played, ()) = tokio::join!(playing, killed);
        let kept = played.kept();
        let up_to = match level {
            "told" => Tick(u64::MAX),
            _ => kept,
        };
        let mut told = played.told();
        hurt += told.iter().filter(|told| told.value < 100).count();
        let checked = check(&data, &mut told, up_to);
        assert!(kept.0 < checked.end, "kill {kill}: tick {kept} was kept");
        figures.kills += 1;
        figures.told += told.len();
        figures.checked += checked.values;
        crowd = Some(played);
    }
    assert!(hurt > 0, "nobody fought");
    figures.print(level, bots, seed);
}

fn kills() -> u64 {
    given("KILLS", 10)
}

/// A number that a variable of the environment may give.
fn given(variable: &str, own: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(own, |text| text.parse().expect("a number"))
}

#[tokio::test]
async fn everything_that_was_told_is_there_at_the_level_told() {
    kill_many("told", kills()).await;
}

#[tokio::test]
async fn everything_up_to_the_kept_tick_is_there_at_the_level_soon() {
    kill_many("soon", kills()).await;
}

/// What a kill of a primary cost, in milliseconds.
#[derive(Serialize)]
struct Takeover {
    kill: u64,
    bots: usize,
    /// How long the promotion took.
    promotion_ms: u64,
    /// From the beginning of the promotion until a command of every bot was processed again.
    play_after_promotion_ms: u64,
    /// The same, from the death of the primary.
    play_after_kill_ms: u64,
    /// Values that were told, and found at the standby.
    checked: u64,
}

/// The servers change their roles with each kill: who was killed follows who was promoted. All
/// bots, and a witness, live through all of it.
#[tokio::test]
async fn bots_play_on_at_the_standby_of_a_killed_primary_which_has_everything_that_was_told() {
    let kills = given("KILLS", 3);
    let clients = given("BOTS", 8) as usize;
    let promote_after = Duration::from_millis(given("PROMOTE_AFTER_MS", 1000));
    let threads = if clients < 100 { 1 } else { 4 };
    let folder = TestFolder::new("killed-primary");
    let world = folder.join("world.toml");
    fs::write(&world, fight(clients)).unwrap();
    let key = folder.join("link.pem").display().to_string();
    myriad(&["link-key", &key]);
    let mut data = ["one", "two"].map(|name| folder.join(name));
    let world = world.display().to_string();
    let at_level = [
        "--level",
        "standby",
        "--followers",
        "127.0.0.1:0",
        "--link-key",
        &key,
    ];
    let first = [&at_level[..], &["--world", &world]].concat();
    let mut primary = Process::spawn(&data[0], "127.0.0.1:0", threads, &first);
    primary.listens();
    let mut witness = Witness::join(primary.address, None).await;
    let entity = witness.client.view().entity();
    let mut swarm = bots(primary.address, clients, 7);
    eventually("all bots are connected", || swarm.is_settled()).await;
    swarm.play();
    let mut dice = dice(7);
    let mut takeovers = vec![];
    let mut hurt = 0;
    for kill in 0..kills {
        let follow = primary.says("a standby may follow at ");
        let more = [&at_level[..], &["--follow", &follow]].concat();
        let mut standby = Process::spawn(&data[1], "127.0.0.1:0", threads, &more);
        // Before that, what is told may be lost.
        let in_force = primary.logs("level `standby` is in force");
        tokio::join!(
            in_force,
            witness.play(&mut dice, Duration::from_millis(100))
        );
        witness.log = Log::default();
        witness.rejoin().await;
        let time = Duration::from_millis(500 + dice(700));
        witness.play(&mut dice, time).await;
        primary.kill();
        let killed = Instant::now();
        // What was on its way.
        witness.play(&mut dice, Duration::from_millis(50)).await;
        let schema = witness.client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let mut told = witness.told(&[hp]);
        hurt += told.iter().filter(|told| told.value < 100).count();
        sleep(promote_after.saturating_sub(killed.elapsed())).await;
        let promoting = Instant::now();
        myriad(&["promote", &data[1].display().to_string()]);
        let promotion = promoting.elapsed();
        let back = clients as u64 * (kill + 1);
        eventually("all bots play on", || {
            let progress = swarm.progress();
            assert_eq!(progress.lost, 0, "kill {kill}");
            progress.came_back >= back
        })
        .await;
        let played = Instant::now();
        assert_eq!(
            swarm.progress().came_back,
            back,
            "kill {kill}: some came back twice"
        );
        standby.listens();
        witness.rejoin().await;
        assert_eq!(witness.client.view().entity(), entity, "kill {kill}");
        check(&data[1], &mut told, Tick(u64::MAX));
        let ms = |since: Instant| (played - since).as_millis() as u64;
        let takeover = Takeover {
            kill,
            bots: clients,
            promotion_ms: promotion.as_millis() as u64,
            play_after_promotion_ms: ms(promoting),
            play_after_kill_ms: ms(killed),
            checked: told.len() as u64,
        };
        println!("{}", serde_json::to_string(&takeover).expect("numbers"));
        takeovers.push(takeover);
        primary = standby;
        data.swap(0, 1);
    }
    assert!(hurt > 0, "nobody fought");
    show(&takeovers);
    drop(swarm);
}

/// Prints least, median and most of what was measured.
fn show(takeovers: &[Takeover]) {
    type Column = (&'static str, fn(&Takeover) -> u64);
    let columns: [Column; 3] = [
        ("promotion", |takeover| takeover.promotion_ms),
        ("promotion to play", |takeover| {
            takeover.play_after_promotion_ms
        }),
        ("kill to play", |takeover| takeover.play_after_kill_ms),
    ];
    println!(
        "{:>20} {:>8} {:>8} {:>8} {:>8}",
        "ms", "least", "median", "most", "> 2 s"
    );
    for (name, of) in columns {
        let mut all: Vec<u64> = takeovers.iter().map(of).collect();
        all.sort_unstable();
        let late = all.iter().filter(|&&ms| ms > 2000).count();
        let (least, median, most) = (all[0], all[all.len() / 2], all[all.len() - 1]);
        println!("{name:>20} {least:>8} {median:>8} {most:>8} {late:>8}");
    }
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
    fs::write(&world, fight(8)).unwrap();
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
