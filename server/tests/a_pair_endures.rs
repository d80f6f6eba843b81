//! A pair and the three members of its etcd, killed, stopped and upgraded in a row, under bots that
//! check what they get. Nothing is edited.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client_bot::client_core::{Event, GameOptions, RetryOptions};
use client_bot::{Addresses, GameClient, Trust};
use shared::{EntityId, Tick};
use tokio::time::sleep;

use crate::a_lease_decides::is_healthy;
use crate::a_pair_reforms_by_itself::{ALONE, Member, primary_of};
use crate::common::folder::TestFolder;
use crate::common::process::signal;
use crate::common::{free_address, myriad_binary, myriad_in};

/// A world with so many units a side.
fn world(side: u32) -> String {
    format!("[world]\nsize = [{side}, {side}]\n{WORLD}")
}

const WORLD: &str = "
    aoi = 100
    capacity = 256
    tick_hz = 20

    [limits]
    clients = 240
    resume_seconds = 120

    [logic]
    builtin = []
    folder = 'scripts'

    [commands]
    count = { per_tick = 0 }

    [[kind]]
    name = 'player'
    attributes = [{ name = 'count', type = 'i32', audience = 'state' }]
";

const SCRIPT: &str = "
#[command(clients)]
fn count(me: Entity) {
    me.count += 1;
}
";

/// A member of an etcd.
struct EtcdMember {
    binary: PathBuf,
    arguments: Vec<String>,
    health: SocketAddr,
    child: Child,
}

/// An etcd of three members.
struct Cluster {
    members: Vec<EtcdMember>,
    urls: String,
}

impl Cluster {
    /// `None`, and a line that says so, where there is no etcd.
    fn start(folder: &Path) -> Option<Cluster> {
        let ports: Vec<[SocketAddr; 3]> =
            (0..3).map(|_| [(); 3].map(|()| free_address())).collect();
        let urls: Vec<String> = ports
            .iter()
            .map(|[url, ..]| format!("http://{url}"))
            .collect();
        let all = ports.iter().enumerate();
        let all: Vec<String> = all
            .map(|(n, [_, peers, _])| format!("m{n}=http://{peers}"))
            .collect();
        let all = all.join(",");
        let mut members = vec![];
        for (number, [_, peers, health]) in ports.iter().enumerate() {
            let data = folder.join(format!("etcd-{number}")).display().to_string();
            let (name, url) = (format!("m{number}"), &urls[number]);
            let (peers, metrics) = (format!("http://{peers}"), format!("http://{health}"));
            let words = [
                ["--name", &name],
                ["--data-dir", &data],
                ["--listen-client-urls", url],
                ["--advertise-client-urls", url],
                ["--listen-peer-urls", &peers],
                ["--initial-advertise-peer-urls", &peers],
                ["--initial-cluster", &all],
                ["--listen-metrics-urls", &metrics],
            ];
            let arguments: Vec<String> = words.concat().into_iter().map(str::to_owned).collect();
            let binary = PathBuf::from("etcd");
            let Ok(child) = start_etcd(&binary, &arguments) else {
                println!("skipped: there is no etcd (apt-get install etcd-server)");
                return None;
            };
            members.push(EtcdMember {
                binary,
                arguments,
                health: *health,
                child,
            });
        }
        Some(Cluster {
            members,
            urls: urls.join(","),
        })
    }

    fn is_whole(&self) -> bool {
        let mut members = self.members.iter();
        members.all(|member| is_healthy(member.health).unwrap_or(false))
    }

    fn restart(&mut self, number: usize, by: &str) {
        let member = &mut self.members[number % 3];
        signal(&member.child, by);
        member.child.wait().expect("it ends");
        member.child = start_etcd(&member.binary, &member.arguments).expect("it has run before");
    }

    /// Each member in turn goes on by another binary, while the others are a majority.
    async fn upgrade(&mut self, folder: &Path) {
        let next = folder.join("etcd");
        if !next.exists() {
            fs::copy(installed_etcd(), &next).expect("a copy of etcd");
        }
        for number in 0..3 {
            let member = &mut self.members[number];
            let is_new = member.binary == next;
            member.binary = if is_new { "etcd".into() } else { next.clone() };
            self.restart(number, "-TERM");
            holds("etcd is whole", || self.is_whole()).await;
        }
    }
}

/// Where the installed etcd is.
fn installed_etcd() -> PathBuf {
    let path = std::env::var_os("PATH").expect("a path");
    let mut files = std::env::split_paths(&path).map(|folder| folder.join("etcd"));
    files.find(|file| file.exists()).expect("it has run before")
}

impl Drop for EtcdMember {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start_etcd(binary: &Path, arguments: &[String]) -> std::io::Result<Child> {
    let mut command = Command::new(binary);
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn()
}

/// A player that counts by commands, and checks all that it gets about itself.
struct Counter {
    game: GameClient,
    entity: Option<EntityId>,
    newest: Tick,
    /// When its newest tick came.
    fresh: Instant,
    /// When the times without a new tick began, if they were long.
    gaps: Vec<(Instant, Duration)>,
    /// Its count, as it was sent last.
    received: i32,
    sent: i32,
    /// The tick of its last command.
    counted: Tick,
    /// How many of its commands had no effect, by reason.
    refused: BTreeMap<String, u64>,
    lost: Lost,
}

/// What a player had, and has not any more.
#[derive(Debug, Default, PartialEq, Eq)]
struct Lost {
    /// It came back as another entity, or not at all.
    sessions: u32,
    /// Ticks that it had been sent, and that the world then did without.
    ticks: u64,
    /// How often its count was less than it had been.
    counts: u32,
}

impl Counter {
    fn new(server: &Addresses, seed: u64) -> Counter {
        let options = GameOptions {
            retry: RetryOptions {
                longest: Duration::from_secs(1),
                attempts: u32::MAX,
                seed,
                ..RetryOptions::default()
            },
            ..GameOptions::default()
        };
        let game = GameClient::new(server.clone(), "localhost", &Trust::AnyCertificate, options);
        Counter {
            game: game.expect("a socket"),
            entity: None,
            newest: Tick(0),
            fresh: Instant::now(),
            gaps: vec![],
            received: 0,
            sent: 0,
            counted: Tick(0),
            refused: BTreeMap::new(),
            lost: Lost::default(),
        }
    }

    fn play(&mut self, may_count: bool) {
        for event in self.game.poll() {
            match event {
                Event::Welcomed(entity) | Event::Resumed(entity) => {
                    let before = self.entity.replace(entity);
                    if before.is_some_and(|before| before != entity) {
                        self.lost.sessions += 1;
                        (self.received, self.sent) = (0, 0);
                    }
                }
                Event::Lost {
                    retry_in: None,
                    reason,
                    ..
                } => {
                    println!("a player gives up: {reason}");
                    self.lost.sessions += 1;
                }
                Event::Refused { commands, .. } => {
                    *self.refused.entry(commands.reason.to_string()).or_default() +=
                        u64::from(commands.count);
                }
                _ => {}
            }
        }
        self.check();
        if let Some(due) = self
            .game
            .input_due()
            .filter(|due| *due > self.counted && may_count)
        {
            self.counted = due;
            self.sent += i32::from(self.game.command_named("count", &[]).is_ok());
        }
        self.game.flush();
    }

    fn check(&mut self) {
        let Some(view) = self.game.view() else { return };
        let newest = view.newest();
        if newest > self.newest {
            let gap = self.fresh.elapsed();
            if gap >= GAP_MIN && self.newest > Tick(0) {
                self.gaps.push((self.fresh, gap));
            }
            self.fresh = Instant::now();
        } else {
            self.lost.ticks += u64::from(self.newest.since(newest));
        }
        self.newest = newest;
        if let Some(count) = self.count_of(self.entity) {
            self.lost.counts += u32::from(count < self.received);
            self.received = count;
        }
    }

    /// The count of an entity in view.
    fn count_of(&self, entity: Option<EntityId>) -> Option<i32> {
        let (view, entity) = (self.game.view()?, entity?);
        let column = view
            .schema()
            .attributes
            .iter()
            .position(|a| a.name == "count")?;
        let seen = view.entities().get(&entity.slot.0)?;
        (seen.id == entity).then(|| seen.row[column])
    }
}

/// Players on a thread of their own.
struct Players {
    /// How many get ticks.
    present: Arc<AtomicUsize>,
    may_count: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Counter>>,
}

impl Players {
    fn start(server: Addresses, count: usize) -> Players {
        let (present, may_count) = (
            Arc::new(AtomicUsize::new(0)),
            Arc::new(AtomicBool::new(true)),
        );
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, state) = (present.clone(), (may_count.clone(), stop.clone()));
        let thread = std::thread::spawn(move || {
            let seeds = 0..count as u64;
            let mut players: Vec<Counter> = seeds.map(|seed| Counter::new(&server, seed)).collect();
            while !state.1.load(Ordering::Relaxed) {
                let may_count = state.0.load(Ordering::Relaxed);
                players.iter_mut().for_each(|player| player.play(may_count));
                let is_present =
                    |player: &&Counter| player.newest > Tick(0) && player.fresh.elapsed() < PRESENT;
                shared.store(players.iter().filter(is_present).count(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
            players
        });
        Players {
            present,
            may_count,
            stop,
            thread,
        }
    }

    async fn all_present(&self, count: usize) {
        holds("all players get ticks", || {
            self.present.load(Ordering::Relaxed) == count
        })
        .await;
    }
}

/// A longer deadline than others': the machine may be shared with more.
async fn holds(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "timed out: {what}"
        );
        sleep(Duration::from_millis(20)).await;
    }
}

async fn formed(members: &mut [Member; 2]) -> usize {
    let mut primary = None;
    holds("the two are a pair", || {
        supervise(members);
        primary = primary_of(members);
        primary.is_some()
    })
    .await;
    primary.expect("it was waited for")
}

/// A busy machine may cost a server its lease: then it ends, and starts again.
fn supervise(members: &mut [Member; 2]) {
    for member in members {
        if let Some(printed) = member.supervise() {
            let last: Vec<&str> = printed.lines().rev().take(3).collect();
            println!("a server has ended by itself: {last:?}");
        }
    }
}

/// Ends one of two servers, which starts again, and waits until they are a pair.
async fn hit(members: &mut [Member; 2], number: usize, by: &str) {
    let other = 1 - number;
    supervise(members);
    let alone_before = members[other].count(ALONE);
    members[number].restart(by);
    let begun = Instant::now();
    // Either leads now.
    holds("the end is noticed", || {
        supervise(members);
        let is_alone = members[other].count(ALONE) > alone_before;
        // Both may have started anew.
        is_alone || members[number].is_primary() || begun.elapsed() > NOTICED
    })
    .await;
    formed(members).await;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillPrimary,
    KillStandby,
    StopPrimary,
    StopStandby,
    /// The standby, and then the primary, by another binary.
    Upgrade,
    KillEtcd,
    StopEtcd,
    /// Each member, by another binary.
    UpgradeEtcd,
}

/// So many faults of each kind in a row, of either server and of each member of etcd.
async fn endure(name: &str, (players, side): (usize, u32), faults: &[Fault]) {
    let folder = TestFolder::new(name);
    let Some(mut etcd) = Cluster::start(&folder) else {
        return;
    };
    holds("etcd is whole", || etcd.is_whole()).await;
    fs::create_dir(folder.join("scripts")).unwrap();
    fs::write(folder.join("scripts/count.rs"), SCRIPT).unwrap();
    fs::write(folder.join("world.toml"), world(side)).unwrap();
    let myriad = |words: &[&str]| myriad_in(&folder, words);
    myriad(&["link-key", "link.pem"]);
    myriad(&["init", "one", "--world", "world.toml", "--backend", "cpu"]);
    // The next version, which is the same here.
    let binaries = [myriad_binary(), folder.join("myriad")];
    fs::copy(&binaries[0], &binaries[1]).unwrap();
    let mut members =
        ["one", "two"].map(|data| Member::new(&folder, data, (&etcd.urls, LEASE_SECONDS)));
    let mut primary = formed(&mut members).await;
    let addresses: Vec<SocketAddr> = members.iter().map(|m| m.address.parse().unwrap()).collect();
    let addresses = Addresses::new(addresses).expect("two addresses");
    let crowd = Players::start(addresses, players);
    crowd.all_present(players).await;
    let mut begun = vec![];
    for (number, &fault) in faults.iter().enumerate() {
        begun.push((Instant::now(), fault));
        match fault {
            Fault::KillPrimary => hit(&mut members, primary, "-KILL").await,
            Fault::StopPrimary => hit(&mut members, primary, "-TERM").await,
            Fault::KillStandby => hit(&mut members, 1 - primary, "-KILL").await,
            Fault::StopStandby => hit(&mut members, 1 - primary, "-TERM").await,
            Fault::Upgrade => {
                let standby = 1 - primary;
                for member in [standby, primary] {
                    let is_old = members[member].binary == binaries[0];
                    members[member].binary = binaries[usize::from(is_old)].clone();
                    hit(&mut members, member, "-TERM").await;
                }
            }
            Fault::KillEtcd => etcd.restart(number, "-KILL"),
            Fault::StopEtcd => etcd.restart(number, "-TERM"),
            Fault::UpgradeEtcd => etcd.upgrade(&folder).await,
        }
        sleep(Duration::from_secs(1)).await;
        holds("etcd is whole", || etcd.is_whole()).await;
        primary = formed(&mut members).await;
        crowd.all_present(players).await;
        let took = begun[number].0.elapsed();
        println!("{number}: {fault:?}: all is whole again after {took:.1?}");
    }
    crowd.may_count.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(3)).await;
    crowd.stop.store(true, Ordering::Relaxed);
    let counters = crowd.thread.join().expect("the players end");
    report(&begun, &counters);
    for counter in &counters {
        assert_eq!(counter.lost, Lost::default(), "{:?}", counter.entity);
        assert!(counter.received > 0 && counter.received <= counter.sent);
        // All who see it see the same: the player itself, and in a small world everyone.
        let counts: Vec<i32> = counters
            .iter()
            .filter_map(|other| other.count_of(counter.entity))
            .collect();
        let least = if side < 70 { players } else { 1 };
        assert!(counts.len() >= least, "{counts:?}");
        assert!(counts.iter().all(|&count| count == counter.received));
    }
    drop(members);
    for name in ["one", "two"] {
        myriad(&["verify", name]);
    }
}

fn report(begun: &[(Instant, Fault)], counters: &[Counter]) {
    let lost = |what: fn(&Lost) -> u64| counters.iter().map(|c| what(&c.lost)).sum::<u64>();
    println!(
        "{} faults, {} players: {} sessions, {} sent ticks and {} counts lost",
        begun.len(),
        counters.len(),
        lost(|lost| u64::from(lost.sessions)),
        lost(|lost| lost.ticks),
        lost(|lost| u64::from(lost.counts)),
    );
    let (counted, sent) = counters.iter().fold((0, 0), |(received, sent), counter| {
        (received + counter.received, sent + counter.sent)
    });
    let mut refused = BTreeMap::<&str, u64>::new();
    for (reason, count) in counters.iter().flat_map(|counter| &counter.refused) {
        *refused.entry(reason).or_default() += count;
    }
    println!("{counted} of {sent} commands had an effect; without one: {refused:?}");
    for fault in [
        Fault::KillPrimary,
        Fault::KillStandby,
        Fault::StopPrimary,
        Fault::StopStandby,
        Fault::Upgrade,
        Fault::KillEtcd,
        Fault::StopEtcd,
        Fault::UpgradeEtcd,
    ] {
        // By fault and player: the longest time without a tick.
        let mut longest = vec![];
        for (at, (from, _)) in begun
            .iter()
            .enumerate()
            .filter(|(_, (_, kind))| *kind == fault)
        {
            let until = begun.get(at + 1).map(|(next, _)| *next);
            for counter in counters {
                // A gap begins with the last tick before it.
                let within = counter.gaps.iter().filter(|(begin, gap)| {
                    *begin + *gap > *from && until.is_none_or(|until| *begin < until)
                });
                longest.push(within.map(|(_, gap)| *gap).max().unwrap_or_default());
            }
        }
        longest.sort_unstable();
        if let (Some(median), Some(worst)) = (longest.get(longest.len() / 2), longest.last()) {
            println!("{fault:?}: without a tick for {median:.1?} (median), {worst:.1?} (worst)");
        }
    }
}

#[tokio::test]
async fn players_stay_through_a_kill_a_stop_and_an_upgrade_of_a_pair_and_its_etcd() {
    let faults = [
        Fault::KillPrimary,
        Fault::KillEtcd,
        Fault::StopPrimary,
        Fault::StopEtcd,
        Fault::Upgrade,
        Fault::UpgradeEtcd,
        Fault::KillStandby,
    ];
    endure("pair-endures", (8, 60), &faults).await;
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn players_stay_through_twenty_kills_twenty_stops_and_ten_upgrades_of_each() {
    let mut faults = vec![];
    for _ in 0..10 {
        faults.extend([
            Fault::KillPrimary,
            Fault::KillEtcd,
            Fault::StopStandby,
            Fault::StopEtcd,
            Fault::KillStandby,
            Fault::KillEtcd,
            Fault::StopPrimary,
            Fault::StopEtcd,
            Fault::Upgrade,
            Fault::UpgradeEtcd,
        ]);
    }
    endure("pair-endures-long", (200, 700), &faults).await;
}

/// The usual one: it outlasts an election of etcd.
const LEASE_SECONDS: &str = "5";
/// Ticks come every 50 ms.
const GAP_MIN: Duration = Duration::from_millis(250);
const PRESENT: Duration = Duration::from_millis(500);
const NOTICED: Duration = Duration::from_secs(30);
