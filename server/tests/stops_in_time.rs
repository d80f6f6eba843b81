//! Signals end a program whatever it waits for, and whichever process it is.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::disks::FailingSyncs;
use crate::common::folder::TestFolder;
use crate::common::process::signal;
use crate::common::{DEADLINE, myriad_binary};

#[cfg(feature = "postgres")]
const KEEPS_GOLD: &str = "
    [[kind]]
    name = 'player'
    attributes = [
        { name = 'gold', type = 'i32', default = 20, min = 0, persist = true, audience = 'state' },
    ]
";

/// A program, and its output so far on both streams.
struct Running {
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl Running {
    fn start(command: &mut Command) -> Running {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let printed = Arc::new(Mutex::new(String::new()));
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let printed = printed.clone();
            // It ends with the program.
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    *printed.lock().unwrap() += &format!("{line}\n");
                }
            });
        }
        Running { child, printed }
    }

    fn serve(folder: &Path, more: &[&str]) -> Running {
        Running::start(&mut serve(folder, more))
    }

    fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    fn says(&self, what: &str) {
        let begun = Instant::now();
        while !self.printed().contains(what) {
            assert!(begun.elapsed() < DEADLINE, "{what}: {}", self.printed());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for its end, which without the signal would come after minutes.
    fn ends(&mut self) -> ExitStatus {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(
                begun.elapsed() < DEADLINE,
                "it does not end: {}",
                self.printed()
            );
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn myriad(arguments: &[&str]) -> Command {
    let mut command = Command::new(myriad_binary());
    command.args(arguments);
    command
}

fn serve(folder: &Path, more: &[&str]) -> Command {
    let mut command = myriad(&["serve", "--backend", "cpu", "--threads", "1"]);
    command
        .current_dir(folder)
        .args(["--shards", "1", "--listen", "127.0.0.1:0"])
        .args(more);
    if more.contains(&"--data") && !folder.join("world").join("key.pem").exists() {
        command.arg("--new");
    }
    command
}

/// A server that takes connections and says nothing.
fn silent() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Waits for a connection, and keeps it open.
fn connected(listener: &TcpListener) -> std::net::TcpStream {
    listener.accept().expect("a connection").0
}

#[test]
fn a_server_that_waits_for_its_standby_stops_at_a_signal() {
    let folder = TestFolder::new("stop-standby");
    let key = folder.join("link.pem").display().to_string();
    let made = myriad(&["link-key", &key]).output().unwrap();
    assert!(made.status.success());
    let options = [
        "--data",
        "world",
        "--level",
        "standby",
        "--standby-required",
    ];
    let standby = ["--followers", "127.0.0.1:0", "--link-key", &key];
    let more = [&options[..], &standby[..], &["--standby-wait", "3600"]].concat();
    let mut server = Running::serve(&folder, &more);
    server.says("waiting for the standby to acknowledge tick 0");
    signal(&server.child, "-TERM");
    let status = server.ends();
    assert!(status.success(), "{}", server.printed());
    assert!(
        server.printed().contains("was stopped while it waited"),
        "{}",
        server.printed()
    );
    // Its world continues, with the tick that was not sent.
    let verified = myriad(&["verify", "world"])
        .current_dir(&*folder)
        .output()
        .unwrap();
    assert!(verified.status.success());
    let mut again = Running::serve(&folder, &["--data", "world"]);
    again.says("listening on");
    signal(&again.child, "-INT");
    assert!(again.ends().success(), "{}", again.printed());
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_that_waits_for_its_database_says_so_and_stops_at_a_signal() {
    let folder = TestFolder::new("stop-database");
    fs::write(folder.join("world.toml"), KEEPS_GOLD).unwrap();
    let (listener, address) = silent();
    let place = format!("postgres://ann@{address}/games?sslmode=disable#world");
    let more = [
        "--world",
        "world.toml",
        "--data",
        "world",
        "--characters",
        &place,
    ];
    let mut server = Running::serve(&folder, &more);
    let _open = connected(&listener);
    server.says("waiting for the database of characters");
    signal(&server.child, "-TERM");
    assert!(server.ends().success(), "{}", server.printed());
}

#[test]
fn a_server_that_waits_for_etcd_says_so_and_stops_at_a_signal() {
    let folder = TestFolder::new("stop-etcd");
    let (listener, address) = silent();
    let url = format!("http://{address}");
    // Of several the silence adds up.
    let urls = vec![url; 20].join(",");
    let more = [
        "--data",
        "world",
        "--lease",
        &urls,
        "--lease-seconds",
        "600",
    ];
    let mut server = Running::serve(&folder, &more);
    let _open = connected(&listener);
    server.says("waiting for etcd to");
    signal(&server.child, "-INT");
    assert!(server.ends().success(), "{}", server.printed());
}

#[test]
fn a_server_whose_disk_hangs_says_so_and_ends_in_time() {
    let folder = TestFolder::new("stop-disk");
    let Some(syncs) = FailingSyncs::new(&folder) else {
        return;
    };
    let mut command = serve(&folder, &["--data", "world"]);
    syncs.beneath(&mut command);
    let mut server = Running::start(&mut command);
    server.says("listening on");
    syncs.hang();
    server.says("waiting for the disk to sync tick");
    signal(&server.child, "-TERM");
    assert_eq!(server.ends().code(), Some(1), "{}", server.printed());
    server.says("ends before its stop is complete: it still waits for the disk");
    // All sent values are there.
    let verified = myriad(&["verify", "world"]).current_dir(&*folder).output();
    assert!(verified.unwrap().status.success());
}

#[test]
fn a_second_signal_ends_a_program_that_is_at_its_end() {
    let mut demo = Running::start(&mut myriad(&[
        "demo",
        "--clients",
        "3",
        "--seconds",
        "3600",
    ]));
    demo.says("updates/s");
    signal(&demo.child, "-TERM");
    // Views are compared for some seconds.
    signal(&demo.child, "-TERM");
    demo.ends();
}

#[test]
fn a_demo_ends_early_at_a_signal_with_its_report() {
    for name in ["-TERM", "-INT"] {
        let arguments = ["demo", "--clients", "3", "--seconds", "3600"];
        let mut demo = Running::start(&mut myriad(&arguments));
        demo.says("updates/s");
        signal(&demo.child, name);
        let status = demo.ends();
        assert!(status.success(), "{name}: {}", demo.printed());
        demo.says("All data that the bots received was right.");
    }
}

/// A process that others see is process 1 for itself. `None`, and a line that says so, where users
/// may not have such.
fn as_process_1(program: &Path, arguments: &[&str]) -> Option<(Running, String)> {
    let unshared = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args([
                "--user",
                "--map-root-user",
                "--pid",
                "--fork",
                "--kill-child",
            ])
            .arg(program)
            .args(arguments);
        command
    };
    let can = unshared(Path::new("true"), &[]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: this system lets users have no processes of their own");
        return None;
    }
    let outer = Running::start(&mut unshared(program, arguments));
    let pid = outer.child.id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    let begun = Instant::now();
    loop {
        let inner = fs::read_to_string(&children).unwrap_or_default();
        if let Some(inner) = inner.split_whitespace().next() {
            return Some((outer, inner.to_owned()));
        }
        assert!(begun.elapsed() < DEADLINE, "no process");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn process_1_ends_at_signals_like_any_other() {
    let binary = myriad_binary();
    let bots = binary.with_file_name("myriad-bot");
    let scripts = format!("{}/worlds/hollow", env!("CARGO_MANIFEST_DIR"));
    let world = format!("{scripts}.toml");
    let cases: [(&Path, &[&str], &str); 4] = [
        (
            &binary,
            &["serve", "--listen", "127.0.0.1:0"],
            "listening on",
        ),
        (
            &binary,
            &["demo", "--clients", "3", "--seconds", "3600"],
            "updates/s",
        ),
        // While bots still connect, too: there is no server at this port.
        (&bots, &["127.0.0.1:9", "--insecure"], "connecting: 0"),
        (
            &binary,
            &[
                "logic",
                "check",
                &scripts,
                "--world",
                &world,
                "--seconds",
                "100000",
            ],
            "",
        ),
    ];
    for (program, arguments, sign) in cases {
        if !program.exists() {
            println!("skipped: {} is not built", program.display());
            continue;
        }
        for name in ["-TERM", "-INT"] {
            let Some((mut outer, inner)) = as_process_1(program, arguments) else {
                return;
            };
            outer.says(sign);
            let sent = || {
                let mut kill = Command::new("kill");
                kill.args([name, &inner]).stderr(Stdio::null()).status()
            };
            assert!(sent().unwrap().success());
            if sign.is_empty() {
                // It says nothing, so it may not have listened yet.
                thread::sleep(Duration::from_secs(1));
                let _ = sent();
            }
            outer.ends();
        }
    }
}

#[test]
fn a_hangup_that_was_ignored_stays_ignored_and_other_signals_end_no_world() {
    let binary = myriad_binary().display().to_string();
    let script = "trap '' HUP; exec \"$0\" serve --listen 127.0.0.1:0 --shards 1 --threads 1";
    let mut server = Running::start(Command::new("sh").args(["-c", script, &binary]));
    server.says("listening on");
    for name in ["-HUP", "-USR1", "-USR2"] {
        signal(&server.child, name);
    }
    // It still accepts requests.
    thread::sleep(Duration::from_millis(300));
    assert!(
        server.child.try_wait().unwrap().is_none(),
        "{}",
        server.printed()
    );
    signal(&server.child, "-TERM");
    assert!(server.ends().success());
    assert!(
        server.printed().contains("stopped after"),
        "{}",
        server.printed()
    );
}

#[test]
fn counts_beyond_all_sense_are_refused_at_once() {
    for option in ["--threads", "--shards"] {
        let output = myriad(&["serve", option, "200000"]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(
            printed.contains("expected a whole number of at least 1 and at most"),
            "{printed}"
        );
    }
}
