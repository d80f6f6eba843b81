//! Servers in processes of their own.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

use super::{eventually, myriad_binary};

/// Starts a program, and collects what it prints: otherwise it would wait for a reader.
pub fn start_printing(command: &mut Command) -> (Child, Arc<Mutex<String>>) {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let printed = Arc::new(Mutex::new(String::new()));
    let outputs: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("its output")),
        Box::new(child.stderr.take().expect("its errors")),
    ];
    for output in outputs {
        let printed = printed.clone();
        // It ends with the process.
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let mut printed = printed.lock().expect("no panic with it");
                *printed += &line;
                printed.push('\n');
            }
        });
    }
    (child, printed)
}

/// A server in a process of its own.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    output: BufReader<ChildStdout>,
    pub begun: Instant,
    /// Its log so far.
    log: Arc<Mutex<String>>,
    reading: Option<JoinHandle<()>>,
}

impl Process {
    pub fn start(folder: &Path, world: &Path, level: &str, listen: &str) -> Process {
        let world = world.display().to_string();
        let more = ["--level", level, "--world", &world];
        let mut process = Process::spawn(folder, listen, 1, &more);
        process.listens();
        process
    }

    pub fn spawn(folder: &Path, listen: &str, threads: usize, more: &[&str]) -> Process {
        Process::spawn_with(folder, listen, threads, more, |_| ())
    }

    /// The same with other variables of the environment, for example.
    pub fn spawn_with(
        folder: &Path,
        listen: &str,
        threads: usize,
        more: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Process {
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
            .args(begins(folder, more).then_some("--new"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        change(&mut command);
        let begun = Instant::now();
        let mut child = command.spawn().expect("the binary runs");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let errors = BufReader::new(child.stderr.take().expect("its errors"));
        let log = Arc::new(Mutex::new(String::new()));
        let written = log.clone();
        // Otherwise it would wait for a reader. The thread ends with the process.
        let reading = std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                let mut log = written.lock().expect("no panic with it");
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
            reading: Some(reading),
        }
    }

    /// Waits until it takes clients.
    pub fn listens(&mut self) {
        let address = self.says("listening on ");
        self.address = address.parse().expect("an address");
    }

    /// Waits for a line, and gives the rest of it.
    pub fn says(&mut self, beginning: &str) -> String {
        let mut printed = String::new();
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("text") == 0 {
                let log = self.log.lock().expect("no panic with it");
                panic!("the server does not say `{beginning}`:\n{printed}{log}");
            }
            printed += &line;
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Waits until it has logged something.
    pub async fn logs(&self, what: &str) {
        eventually(what, || {
            let log = self.log.lock().expect("no panic with it");
            log.contains(what)
        })
        .await;
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        self.log.lock().expect("no panic with it").clone()
    }

    /// Waits for its end, which is to be a failure, and gives all that it has logged.
    pub async fn fails(mut self) -> String {
        let mut ended = None;
        eventually("the server ends", || {
            ended = self.child.try_wait().expect("a process");
            ended.is_some()
        })
        .await;
        assert!(!ended.expect("an end").success());
        let reading = self.reading.take().expect("it is read once");
        reading.join().expect("the thread reads to the end");
        let log = self.log.lock().expect("no panic with it");
        log.clone()
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Stops it with the signal of a system that shuts down, and waits for its end.
    pub fn stop(mut self) {
        self.signal("-TERM");
        assert!(self.child.wait().expect("it ends").success());
    }

    /// Ends it without a warning.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

/// Whether a server with these arguments is to begin a world.
fn begins(folder: &Path, more: &[&str]) -> bool {
    let has_files = std::fs::read_dir(folder).is_ok_and(|files| {
        let names = files.flatten().map(|file| file.file_name());
        names
            .into_iter()
            .any(|name| name.to_string_lossy().starts_with("checkpoint-"))
    });
    !has_files
        && !more
            .iter()
            .any(|word| ["--follow", "--pair"].contains(word))
}

/// Sends a signal to a process, by the name that `kill` has for it.
pub fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args([name, &pid]).status();
    assert!(sent.expect("the command runs").success());
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
