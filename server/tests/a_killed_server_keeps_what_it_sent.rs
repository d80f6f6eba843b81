//! A server that is killed at any moment continues where it was: with `--level synced`
//! all sent values are there, at any level all values up to the durable tick that was sent to
//! clients, and clients come back with their tickets.
//!
//! A primary that is killed at level `standby` lives on at its standby, with all that it sent,
//! and bots play on there by themselves. With `--nocapture` each kill is a line of JSON.
//!
//! | variable | sets |
//! | --- | --- |
//! | `KILLS` | how often a server is killed |
//! | `BOTS` | how many bots play (8) |
//! | `SEED` | other plays |
//! | `PORT` | the server's port: one that no other program gets while the server is dead |
//! | `PROMOTE_AFTER_MS` | how long after a primary's death its standby is promoted (1000) |

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use client_bot::{BehaviourKind, Swarm, SwarmOptions, Trust};
use durability::checkpoint;
use durability::disk::Folder;
use durability::log::Log as Journal;
use serde::Serialize;
use shared::Tick;
use shared::world::mix::mix;
use tokio::time::sleep;

use crate::common::folder::TestFolder;
use crate::common::process::Process;
use crate::common::witness::{Crowd, Witness, check, dice, fight};
use crate::common::{Log, eventually, myriad_binary};

/// The numbers of a test.
#[derive(Default)]
struct Figures {
    kills: u64,
    /// Values that clients received, each of a tick and an entity.
    received: usize,
    checked: usize,
    /// From each start of the process until it listens, and from then until all are back.
    starts: Vec<Duration>,
    returns: Vec<Duration>,
}

impl Figures {
    fn print(&mut self, level: &str, bots: usize, seed: u64) {
        let Figures {
            kills,
            received,
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
            r#"{{"level":"{level}","bots":{bots},"seed":{seed},"kills":{kills},"received":{received},"checked":{checked},"lost":0,"start_ms":{starts},"all_back_ms":{returns},"not_back_in_3_s":{late}}}"#
        );
    }
}

fn bots(address: SocketAddr, clients: usize, seed: u64) -> Swarm {
    Swarm::start(SwarmOptions {
        behaviour: BehaviourKind::Fight,
        sockets: 2,
        seed,
        ..SwarmOptions::new(address, Trust::AnyCertificate, clients)
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
        // Data in flight still arrives.
        let playing = joined.play(time + Duration::from_millis(50));
        let (played, ()) = tokio::join!(playing, killed);
        let kept = played.kept();
        let up_to = match level {
            "synced" => Tick(u64::MAX),
            _ => kept,
        };
        let mut received = played.received();
        hurt += received
            .iter()
            .filter(|received| received.value < 100)
            .count();
        let checked = check(&data, &mut received, up_to);
        assert!(kept.0 < checked.end, "kill {kill}: tick {kept} was kept");
        figures.kills += 1;
        figures.received += received.len();
        figures.checked += checked.values;
        crowd = Some(played);
    }
    assert!(hurt > 0, "no player fought");
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
async fn all_sent_values_are_there_at_the_level_synced() {
    kill_many("synced", kills()).await;
}

#[tokio::test]
async fn all_values_up_to_the_durable_tick_are_there_at_the_level_soon() {
    kill_many("soon", kills()).await;
}

/// The cost of a kill of a primary, in milliseconds.
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
    /// Values that clients received, and that the standby has.
    checked: u64,
}

/// The servers change their roles with each kill: the killed one follows the promoted one. All
/// bots, and a witness, live through all of it.
#[tokio::test]
async fn bots_play_on_at_the_standby_of_a_killed_primary_which_has_all_sent_values() {
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
        // Before that, sent ticks may be lost.
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
        // Data in flight.
        witness.play(&mut dice, Duration::from_millis(50)).await;
        let schema = witness.client.view().schema();
        let hp = schema.column("hp").expect("such an attribute") as u16;
        let mut received = witness.received(&[hp]);
        hurt += received
            .iter()
            .filter(|received| received.value < 100)
            .count();
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
        check(&data[1], &mut received, Tick(u64::MAX));
        let ms = |since: Instant| (played - since).as_millis() as u64;
        let takeover = Takeover {
            kill,
            bots: clients,
            promotion_ms: promotion.as_millis() as u64,
            play_after_promotion_ms: ms(promoting),
            play_after_kill_ms: ms(killed),
            checked: received.len() as u64,
        };
        println!("{}", serde_json::to_string(&takeover).expect("numbers"));
        takeovers.push(takeover);
        primary = standby;
        data.swap(0, 1);
    }
    assert!(hurt > 0, "no player fought");
    show(&takeovers);
    drop(swarm);
}

/// Prints minimum, median and maximum of the measurements.
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
async fn a_server_that_stops_sends_the_time_to_come_back_and_leaves_a_checkpoint() {
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
    let reason = witness.end().await;
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
