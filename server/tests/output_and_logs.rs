//! Commands whose output can't be written, and a world whose log
//! can't be.

use std::fs::{self, File};
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use client_bot::connect::hello;
use client_bot::{Client, Connector, Trust};
use rustix::fs::OFlags;
use server::host::DataOptions;
use tokio::time::timeout;

use crate::common::disks::FailingSyncs;
use crate::common::folder::TestFolder;
use crate::common::process::signal;
use crate::common::{DEADLINE, eventually, free_address, get, myriad_binary, start_with, ticks};

const WORLD: &str = "
    [world]
    size = [30, 30]
    aoi = 100
    capacity = 64
    tick_hz = 20

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i32', default = 20, min = 0, persist = true, audience = 'state' },
    ]

    [[kind]]
    name = 'rock'
    population = 30
    attributes = []
";

/// A persistent world that has stopped, with an account that has a character.
async fn kept(name: &str) -> TestFolder {
    let folder = TestFolder::new(name);
    let data = folder.join("data");
    let server = start_with(WORLD, |options| {
        options.data = Some(DataOptions::new(&data));
    });
    ticks(&server, 3).await;
    server.stop().expect("it stops");
    fs::write(folder.join("world.toml"), WORLD).unwrap();
    let set = ["characters", "set", "data", "ann", "gold=7"];
    let set = run(&folder, &set, Stdio::piped());
    assert!(set.status.success(), "{}", errors(&set));
    folder
}

fn run(folder: &Path, arguments: &[&str], output: impl Into<Stdio>) -> Output {
    Command::new(myriad_binary())
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::piped())
        .output()
        .expect("the binary runs")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A pipe that takes nothing until it is read.
fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[b'.'; 4096]).is_ok() {}
    while writer.write(b".").is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

fn full() -> File {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("a full device")
}

/// Commands whose purpose is their output.
const COMMANDS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["help"],
    &["serve", "--help"],
    &["completions", "bash"],
    &["completions", "zsh"],
    &["check", "world.toml"],
    &["doctor"],
    &["doctor", "--world", "world.toml"],
    &["characters", "list", "data"],
    &["characters", "show", "data", "ann"],
    &["characters", "export", "data"],
    &["export", "data"],
    &["inspect", "data"],
    &["verify", "data"],
    &["replay", "data"],
    &["migrate", "data", "--world", "world.toml"],
    &["logic", "new", "made"],
    &["link-key", "made.pem"],
    &["demo", "--clients", "2", "--seconds", "1", "--json"],
];

#[tokio::test]
async fn a_command_that_cannot_write_all_of_its_output_fails_and_says_so() {
    let folder = kept("output-full").await;
    for command in COMMANDS {
        let output = run(&folder, command, full());
        let printed = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {printed}");
        assert!(
            printed.contains("cannot write to standard output"),
            "{command:?}: {printed}"
        );
        assert!(!printed.contains("panicked"), "{command:?}: {printed}");
    }
    // A descriptor that is open for reading only.
    let unwritable = File::open("/dev/null").unwrap();
    let output = run(&folder, &["characters", "export", "data"], unwritable);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let is_built = |name: &&str| cfg!(feature = "parquet") || !name.ends_with(".parquet");
    // The file itself is full, also of those formats that are written at the end.
    for name in ["full.json", "full.parquet"].into_iter().filter(is_built) {
        std::os::unix::fs::symlink("/dev/full", folder.join(name)).unwrap();
        let output = run(&folder, &["export", "data", "--to", name], Stdio::piped());
        let printed = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {printed}");
        assert!(printed.contains("cannot write full."), "{name}: {printed}");
    }
    // A disk that takes the bytes and loses them.
    if let Some(syncs) = FailingSyncs::new(&folder) {
        for name in ["lost.json", "lost.parquet"].into_iter().filter(is_built) {
            let mut command = Command::new(myriad_binary());
            command
                .current_dir(&*folder)
                .args(["export", "data", "--to", name]);
            syncs.beneath(&mut command);
            let output = command.env("FAIL_SYNCS_OF", "/lost.").output().unwrap();
            let printed = errors(&output);
            assert_eq!(output.status.code(), Some(1), "{name}: {printed}");
            assert!(printed.contains("cannot write lost."), "{name}: {printed}");
        }
    }
    // An error sets the exit status even where it can't be written.
    let mut command = Command::new(myriad_binary());
    command.args(["check", "no such file"]).stdin(Stdio::null());
    let status = command.stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[tokio::test]
async fn a_reader_that_has_read_enough_is_no_failure() {
    let folder = kept("output-closed").await;
    for command in COMMANDS {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let _ = fs::remove_file(folder.join("made.pem"));
        let _ = fs::remove_dir_all(folder.join("made"));
        let output = run(&folder, command, writer);
        let printed = errors(&output);
        // The doctor may find something of this machine.
        let is_doctor = command[0] == "doctor";
        assert!(
            output.status.success() || is_doctor,
            "{command:?}: {printed}"
        );
        assert!(!printed.contains("cannot write"), "{command:?}: {printed}");
    }
}

#[tokio::test]
async fn an_output_that_does_not_wait_for_its_reader_gets_everything() {
    let folder = kept("output-nonblocking").await;
    let whole = run(&folder, &["completions", "bash"], Stdio::piped());
    let (mut reader, writer) = pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    let mut child = Command::new(myriad_binary())
        .args(["completions", "bash"])
        .stdout(writer)
        .spawn()
        .unwrap();
    let mut read = vec![];
    reader.read_to_end(&mut read).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(read.len() > 65_536, "more than a pipe takes");
    assert_eq!(read, whole.stdout);
}

/// A server whose standard error is something else, with its metrics.
struct Logging {
    child: Child,
    address: String,
    metrics: std::net::SocketAddr,
}

impl Logging {
    fn start(log: impl Into<Stdio>) -> Logging {
        let metrics = free_address();
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
            .args(["--listen", "127.0.0.1:0", "--metrics", &metrics.to_string()])
            // Much more than a pipe takes.
            .env("RUST_LOG", "trace")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the binary runs");
        let mut output = child.stdout.take().unwrap();
        let mut printed = String::new();
        while !printed.contains("metrics on") {
            let mut some = [0; 256];
            let length = output.read(&mut some).expect("text");
            assert!(length > 0, "{printed}");
            printed += &String::from_utf8_lossy(&some[..length]);
        }
        let line = printed
            .lines()
            .find_map(|line| line.strip_prefix("listening on "));
        Logging {
            child,
            address: line.expect(&printed).to_owned(),
            metrics,
        }
    }

    async fn clients_come_and_go(&self, count: usize) {
        for _ in 0..count {
            let address: std::net::SocketAddr = self.address.parse().unwrap();
            let connector = Connector::new(address, "localhost", &Trust::AnyCertificate).unwrap();
            let joining = async { Client::connect(&connector, &hello("", None)).await };
            let client = timeout(DEADLINE, joining).await.expect("in time");
            drop(client.expect("the world takes it"));
        }
    }

    fn lost(&self) -> f64 {
        let page = get(self.metrics, "/metrics");
        let name = "myriad_log_lines_lost_total ";
        let line = page.lines().find_map(|line| line.strip_prefix(name));
        line.expect("the metric").parse().unwrap()
    }

    fn stop(mut self) {
        signal(&self.child, "-TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn no_fault_of_the_log_slows_or_ends_the_world_and_lost_lines_are_counted() {
    let (closed, without_reader) = pipe().unwrap();
    drop(closed);
    // Both are full from the start.
    let (_unread, stuck) = full_pipe();
    let (_busy, unwilling) = full_pipe();
    rustix::io::ioctl_fionbio(&unwilling, true).unwrap();
    let logs: [(&str, bool, Stdio); 5] = [
        ("a full disk", false, full().into()),
        ("a reader that has gone", false, without_reader.into()),
        ("a reader that does not read", true, stuck.into()),
        ("a pipe that does not wait", true, unwilling.into()),
        (
            "a descriptor for reading",
            false,
            File::open("/dev/null").unwrap().into(),
        ),
    ];
    for (what, is_waiting, log) in logs {
        let server = Logging::start(log);
        server.clients_come_and_go(30).await;
        // Unread output may still be read.
        if !is_waiting {
            eventually(what, || server.lost() > 0.0).await;
        }
        server.clients_come_and_go(3).await;
        server.stop();
    }
}

#[tokio::test]
async fn a_log_says_how_many_lines_were_lost_once_it_can_be_written_again() {
    let folder = TestFolder::new("log-again");
    let path = folder.join("log");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let read = || {
        File::options()
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(&path)
            .unwrap()
    };
    let first = read();
    let server = Logging::start(File::options().write(true).open(&path).unwrap());
    drop(first);
    while server.lost() == 0.0 {
        server.clients_come_and_go(5).await;
    }
    let mut log = read();
    rustix::io::ioctl_fionbio(&log, false).unwrap();
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).expect("text");
        text
    });
    server.clients_come_and_go(1).await;
    server.stop();
    let text = reading.join().unwrap();
    assert!(
        text.contains("lines of the log were lost, as they could not be written lines="),
        "{} bytes of log",
        text.len()
    );
}
