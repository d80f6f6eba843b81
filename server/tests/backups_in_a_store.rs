//! A backup in an S3-compatible store: moto's, where it is installed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client_bot::BehaviourKind;
use durability::checkpoint;
use durability::disk::Folder;
use server::host::DataOptions;

use crate::common::folder::TestFolder;
use crate::common::python::{Running, interpreter_with};
use crate::common::{
    Bots, DEADLINE, eventually, free_address, myriad_binary, start_with, text, ticks,
};

const WORLD: &str = "
    [world]
    size = [60, 60]
    aoi = 30
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', default = 30, min = 0, max = 30, persist = true, audience = 'state' },
    ]
";

/// A store with an empty bucket `worlds`. It ends when it is dropped.
struct Store {
    _running: Running,
    address: String,
}

impl Store {
    fn start() -> Option<Store> {
        let python = interpreter_with("moto.server", "moto[server]")?;
        let port = free_address().port();
        let child = Command::new(python)
            .args([
                "-m",
                "moto.server",
                "-H",
                "127.0.0.1",
                "-p",
                &port.to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let store = Store {
            _running: Running(child),
            address: format!("127.0.0.1:{port}"),
        };
        let begun = Instant::now();
        while !store.make_bucket() {
            assert!(begun.elapsed() < DEADLINE, "the store does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(store)
    }

    fn make_bucket(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(&self.address) else {
            return false;
        };
        let request = format!(
            "PUT /worlds HTTP/1.1\r\nHost: {}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.address
        );
        let mut answer = String::new();
        let sent = stream.write_all(request.as_bytes());
        let read = sent.and_then(|()| stream.read_to_string(&mut answer));
        read.is_ok() && answer.starts_with("HTTP/1.1 200")
    }

    fn run(&self, folder: &Path, words: &[&str]) -> Output {
        let endpoint = format!("http://{}", self.address);
        let mut command = Command::new(myriad_binary());
        command
            .current_dir(folder)
            .env("AWS_ACCESS_KEY_ID", "tester")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "us-east-1")
            .args(words)
            .args(["--s3-endpoint", &endpoint]);
        command.output().unwrap()
    }
}

#[tokio::test]
async fn a_world_is_backed_up_to_a_store_and_restored_from_there() {
    let Some(store) = Store::start() else { return };
    let folder = TestFolder::new("backup-store");
    let server = start_with(WORLD, |options| {
        options.data = Some(DataOptions {
            checkpoint_seconds: 1,
            keeps_all: true,
            ..DataOptions::new(folder.join("world"))
        });
    });
    let bots = Bots::start(&server, 5, BehaviourKind::Wander).await;
    let place = "s3://worlds/of/ours";
    let run = |words: &[&str]| {
        let done = store.run(&folder, words);
        assert!(done.status.success(), "{words:?}: {}", text(&done));
        text(&done)
    };
    let mut ends = vec![];
    for _ in 0..3 {
        ticks(&server, 30).await;
        let printed = run(&["backup", "world", "--to", place]);
        let tick = printed.split("before tick ").nth(1).unwrap();
        let tick: u64 = tick.split(';').next().unwrap().parse().unwrap();
        ends.push(tick);
    }
    assert!(ends.is_sorted() && ends[0] < ends[2], "{ends:?}");
    bots.go_home();
    server.stop().unwrap();
    // The end, and a tick between: the bytes of the world itself.
    let between = ends[1].to_string();
    for (at, name) in [(None, "latest"), (Some(&*between), "between")] {
        let (restored, forked) = (name.to_owned(), format!("{name}-forked"));
        let mut words = vec!["restore", place, "--to", &restored, "--backend", "cpu"];
        words.extend(at.iter().flat_map(|&at| ["--at", at]));
        run(&words);
        let tick = at.map_or(ends[2], |at| at.parse().unwrap());
        let found = checkpoint::ticks(&Folder::new(folder.join(&restored))).unwrap();
        assert_eq!(found, [tick]);
        let done = Command::new(myriad_binary())
            .current_dir(&*folder)
            .args(["fork", "world", "--at", &tick.to_string(), "--to", &forked])
            .args(["--backend", "cpu"])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", text(&done));
        let file = checkpoint::name_of(tick);
        let state = |of: &str| fs::read(folder.join(of).join(&file)).unwrap();
        assert_eq!(state(&restored), state(&forked), "{name}");
        let identity = |of: &str| fs::read(folder.join(of).join("certificate.pem")).unwrap();
        assert_eq!(identity(&restored), identity("world"));
    }
    // Prometheus learns when it was up to date.
    let address = free_address();
    let backup = Command::new(myriad_binary())
        .current_dir(&*folder)
        .args([
            "backup",
            "world",
            "--to",
            "elsewhere",
            "--every",
            "1s",
            "--metrics",
        ])
        .arg(address.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let backup = Running(backup);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    eventually("a backup", || {
        let Ok(mut stream) = TcpStream::connect(address) else {
            return false;
        };
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let value = |name: &str| -> f64 {
            let line = page.lines().find_map(|line| line.strip_prefix(name));
            line.map_or(0.0, |value| value.trim().parse().unwrap())
        };
        assert_eq!(value("myriad_backup_failures_total "), 0.0);
        value("myriad_backup_time_seconds ") >= now.as_secs_f64().floor()
            && value("myriad_backup_bytes_total ") > 0.0
    })
    .await;
    drop(backup);
    // Only the newest point is left, and what it needs.
    run(&["backup", "world", "--to", place, "--keep-for", "1s"]);
    std::thread::sleep(Duration::from_millis(1100));
    run(&["backup", "world", "--to", place, "--keep-for", "1s"]);
    let early = (ends[0] / 2).to_string();
    let early = store.run(
        &folder,
        &["restore", place, "--to", "early", "--at", &early],
    );
    assert!(!early.status.success());
    assert!(
        text(&early).contains("there is no checkpoint before"),
        "{}",
        text(&early)
    );
    // Nothing is copied twice.
    let printed = run(&["backup", "world", "--to", place, "--keep-for", "1s"]);
    assert!(printed.contains("; 0 bytes are new"), "{printed}");
    // Each prefix has a backup of its own.
    let other = store.run(&folder, &["restore", "s3://worlds/of", "--to", "other"]);
    assert!(text(&other).contains("has no backup"), "{}", text(&other));
    for (place, expected) in [
        ("s3://absent/of/ours", "absent"),
        ("s3://", "expected s3://BUCKET or s3://BUCKET/PREFIX"),
    ] {
        let done = store.run(&folder, &["backup", "world", "--to", place]);
        assert!(!done.status.success(), "{place}");
        assert!(text(&done).contains(expected), "{place}: {}", text(&done));
    }
}
