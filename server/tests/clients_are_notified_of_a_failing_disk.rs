//! A world whose disk fills up or fails: clients are notified, and all that they received is there
//! for the next server.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use durability::level::Level;
use server::host::DataOptions;
use server::{Server, ServerOptions};
use shared::Tick;

use crate::common;
use crate::common::DEADLINE;
use crate::common::disks::{FailingSyncs, SmallDisk};
use crate::common::folder::TestFolder;
use crate::common::process::Process;
use crate::common::witness::{Crowd, check, fight};

const PLAYERS: usize = 4;

#[tokio::test]
async fn a_full_disk_is_announced_and_the_world_stops_before_its_journal_does() {
    let folder = TestFolder::new("full");
    let Some(disk) = SmallDisk::mount(&folder, 4096) else {
        return;
    };
    let data = disk.path().join("world");
    let start = || {
        let data = DataOptions {
            level: Level::Synced,
            keeps_all: true,
            checkpoint_seconds: 10_000,
            // It is full after a few seconds.
            segment_bytes: 32 << 10,
            ..DataOptions::new(&data)
        };
        Server::start(ServerOptions {
            shards: 1,
            threads: 1,
            data: Some(data),
            ..ServerOptions::local(common::world(&fight(PLAYERS)))
        })
        .expect("a disk with room")
    };
    let server = start();
    let mut crowd = Crowd::join(server.address(), PLAYERS, None, 7).await;
    disk.fill();
    let begun = Instant::now();
    while server.is_running() {
        assert!(begun.elapsed() < DEADLINE, "the disk is never full");
        crowd = crowd.play(Duration::from_millis(300)).await;
    }
    for witness in &mut crowd.witnesses {
        let reason = witness.end().await;
        let expected = "the server has stopped: the disk has no room for the journal";
        assert!(reason.contains(expected), "{reason}");
        let announced = witness.announced();
        let expected = "the server's disk is full: without more room, the world stops soon";
        assert_eq!(announced, [expected]);
    }
    let reason = format!("{:#}", server.stop().unwrap_err());
    assert!(reason.contains("no room for the journal"), "{reason}");
    // Without room there is no other server.
    disk.make_room();
    check(&data, &mut crowd.received(), Tick(u64::MAX));
    let again = start();
    let crowd = Crowd::join(again.address(), PLAYERS, Some(crowd), 8).await;
    let crowd = crowd.play(Duration::from_millis(500)).await;
    again.stop().unwrap();
    check(&data, &mut crowd.received(), Tick(u64::MAX));
}

/// A server beneath which syncs can fail.
struct Failing {
    /// Where the world is.
    data: PathBuf,
    world: PathBuf,
    syncs: FailingSyncs,
    _folder: TestFolder,
}

impl Failing {
    fn new(name: &str) -> Option<Failing> {
        let folder = TestFolder::new(name);
        let world = folder.join("world.toml");
        fs::write(&world, fight(PLAYERS)).unwrap();
        Some(Failing {
            syncs: FailingSyncs::new(&folder)?,
            data: folder.join("data"),
            world,
            _folder: folder,
        })
    }

    fn start(&self) -> Process {
        let world = self.world.display().to_string();
        let more = ["--level", "synced", "--world", &world];
        let beneath = |command: &mut _| self.syncs.beneath(command);
        let mut server = Process::spawn_with(&self.data, "127.0.0.1:0", 1, &more, beneath);
        server.listens();
        server
    }

    /// Lets players play on a server whose next sync fails.
    async fn fail(&self, server: &Process, crowd: Crowd) -> Crowd {
        let crowd = crowd.play(Duration::from_millis(300)).await;
        self.syncs.fail();
        let crowd = crowd.play(Duration::from_millis(300)).await;
        server
            .logs("the disk has failed; the journal continues")
            .await;
        crowd
    }

    /// All values that players received are there, and they come back as the same entities.
    async fn has_all(&self, crowd: Crowd) {
        check(&self.data, &mut crowd.received(), Tick(u64::MAX));
        let server = self.start();
        let crowd = Crowd::join(server.address, PLAYERS, Some(crowd), 8).await;
        let crowd = crowd.play(Duration::from_millis(300)).await;
        server.stop();
        check(&self.data, &mut crowd.received(), Tick(u64::MAX));
    }
}

#[tokio::test]
async fn a_sync_that_fails_is_not_noticed_by_players() {
    let Some(failing) = Failing::new("a-sync-fails") else {
        return;
    };
    let server = failing.start();
    let crowd = Crowd::join(server.address, PLAYERS, None, 7).await;
    let crowd = failing.fail(&server, crowd).await;
    let before = crowd.kept();
    let crowd = crowd.play(Duration::from_millis(500)).await;
    assert!(crowd.kept() > before.after(5), "play does not continue");
    assert!(crowd.witnesses.iter().all(|w| w.announced().is_empty()));
    server.kill();
    failing.has_all(crowd).await;
}

#[tokio::test]
async fn a_second_sync_that_fails_stops_the_world_with_the_reason_to_all() {
    let Some(failing) = Failing::new("two-syncs-fail") else {
        return;
    };
    let server = failing.start();
    let crowd = Crowd::join(server.address, PLAYERS, None, 7).await;
    let crowd = failing.fail(&server, crowd).await;
    failing.syncs.fail();
    let mut crowd = crowd.play(Duration::from_millis(300)).await;
    for witness in &mut crowd.witnesses {
        let reason = witness.end().await;
        let expected =
            "the server has stopped: the journal can't continue: the disk has failed twice";
        assert!(reason.contains(expected), "{reason}");
    }
    let reason = server.fails().await;
    assert!(reason.contains("the disk has failed twice"), "{reason}");
    failing.has_all(crowd).await;
}
