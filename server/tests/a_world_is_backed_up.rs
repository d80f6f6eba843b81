//! A backup of a running world, and worlds that are restored from it.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use client_bot::BehaviourKind;
use durability::backup::{self, Retention, prune, ship};
use durability::checkpoint;
use durability::disk::Folder;
use server::host::DataOptions;

use crate::common::folder::TestFolder;
use crate::common::names::{ByName, named};
use crate::common::{Bots, Player, leave, myriad_binary, myriad_in, start_with, ticks};

const WORLD: &str = "
    [world]
    size = [60, 60]
    aoi = 30
    capacity = 64
    tick_hz = 20

    [limits]
    clients = 48
    resume_seconds = 0

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 30, min = 0, max = 30, persist = true, audience = 'state' },
    ]
";

const DAY: Duration = Duration::from_secs(86_400);

/// A backup a day, of which those of the last week stay. Each day, a world of each of them that is
/// left is restored, and is the one that was, to the byte.
#[tokio::test]
async fn every_day_of_a_month_can_be_restored_as_it_was_as_long_as_it_is_kept() {
    let folder = TestFolder::new("backup-month");
    let world = folder.join("world");
    let place = backup::folder(&folder.join("backup")).unwrap();
    let server = start_with(WORLD, |options| {
        options.authenticator = Arc::new(ByName);
        options.data = Some(DataOptions {
            checkpoint_seconds: 1,
            keeps_all: true,
            ..DataOptions::new(&*world)
        });
    });
    let bots = Bots::start(&server, 5, BehaviourKind::Wander).await;
    let begun = SystemTime::now();
    let myriad = |words: &[&str]| myriad_in(&folder, words);
    let week = Retention {
        span: Some(7 * DAY),
        bytes: None,
    };
    for day in 0..30_u32 {
        let player = Player::join_as(&server, &named(&format!("guest {day}"))).await;
        leave(&server, player).await;
        ticks(&server, 5).await;
        let now = begun + day * DAY;
        let shipped = ship(&world, &place, now).unwrap();
        prune(&place, week, now).unwrap();
        let points = backup::read(&place).unwrap().unwrap().points;
        assert_eq!(points.last(), Some(&shipped.point));
        assert!(points.len() <= 8, "{} points", points.len());
        // The newest one, and now and then the oldest.
        let oldest = points.first().filter(|_| day % 5 == 4);
        for point in points.last().into_iter().chain(oldest) {
            let at = point.tick.to_string();
            let (restored, forked) = (format!("restored-{at}"), format!("forked-{at}"));
            for name in [&restored, &forked] {
                let _ = fs::remove_dir_all(folder.join(name));
            }
            myriad(&[
                "restore",
                "backup",
                "--at",
                &at,
                "--to",
                &restored,
                "--backend",
                "cpu",
            ]);
            myriad(&[
                "fork",
                "world",
                "--at",
                &at,
                "--to",
                &forked,
                "--backend",
                "cpu",
            ]);
            let name = checkpoint::name_of(point.tick);
            let state = |of: &str| fs::read(folder.join(of).join(&name)).unwrap();
            assert_eq!(state(&restored), state(&forked), "day {day}");
            let identity = |of: &str| fs::read(folder.join(of).join("certificate.pem")).unwrap();
            assert_eq!(identity(&restored), identity("world"));
            fs::remove_dir_all(folder.join(&forked)).unwrap();
        }
    }
    bots.go_home();
    server.stop().unwrap();
    // By time: the last point.
    let points = backup::read(&place).unwrap().unwrap().points;
    let last = points.last().unwrap().tick;
    myriad(&["restore", "backup", "--to", "latest", "--backend", "cpu"]);
    let found = checkpoint::ticks(&Folder::new(folder.join("latest"))).unwrap();
    assert_eq!(found, [last]);
    // With the characters of those who had left by then.
    let mut exporting = Command::new(myriad_binary());
    let exported = exporting
        .current_dir(&*folder)
        .args(["characters", "list", "latest"])
        .output()
        .unwrap();
    let accounts = String::from_utf8_lossy(&exported.stdout).into_owned();
    for day in 0..29 {
        assert!(
            accounts.contains(&format!("guest {day}\n")),
            "{day}: {accounts}"
        );
    }
    let again = start_with(WORLD, |options| {
        options.data = Some(DataOptions::new(folder.join("latest")));
    });
    ticks(&again, 10).await;
    again.stop().unwrap();
}

#[tokio::test]
async fn a_backup_is_of_one_world_and_keeps_to_its_size() {
    let folder = TestFolder::new("backup-size");
    let place = backup::folder(&folder.join("backup")).unwrap();
    let start = |name: &str| {
        let data = DataOptions {
            checkpoint_seconds: 1,
            ..DataOptions::new(folder.join(name))
        };
        start_with(WORLD, |options| options.data = Some(data))
    };
    let server = start("one");
    let begun = SystemTime::now();
    for second in 0..4 {
        ticks(&server, 25).await;
        let now = begun + Duration::from_secs(second);
        ship(&folder.join("one"), &place, now).unwrap();
    }
    server.stop().unwrap();
    let before = backup::read(&place).unwrap().unwrap().points;
    let small = Retention {
        span: None,
        bytes: Some(1),
    };
    prune(&place, small, begun).unwrap();
    let after = backup::read(&place).unwrap().unwrap().points;
    assert_eq!(after, before[before.len() - 1..]);
    let first = checkpoint::ticks(&place).unwrap()[0];
    assert_eq!(first, after[0].checkpoint);
    start("two").stop().unwrap();
    let other = ship(&folder.join("two"), &place, begun)
        .unwrap_err()
        .to_string();
    assert!(other.contains("has a backup of another world"), "{other}");
}
