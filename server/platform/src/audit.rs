//! The audit log: who came, left or was refused, and what operators did, as lines of JSON in a
//! file of its own, which never leaves a line out.
//!
//! No thread waits for the file: lines wait in memory for a thread that writes and syncs them.
//! Their number is bounded since no client is admitted while the file fails, or while too many
//! wait: then the clients that are there can only leave.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;
use tracing::{error, info};

use crate::log::queue::now;
use crate::metrics::table;
use crate::private;
use crate::scheduling::give_way;

/// The audit log of a server, or none. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Audit(Option<Arc<Open>>);

/// What has happened. The time is added to it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry<'a> {
    pub event: &'static str,
    /// The newest tick, if the entry has none of its own.
    pub tick: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'a str>,
    /// The number of a client in the list of operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<u32>,
    /// Slot and generation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<[u32; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// An operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a str>,
    /// Of events that are summed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    entry: Entry<'a>,
}

#[derive(Debug)]
struct Open {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    /// The newest tick of a shard.
    tick: AtomicU64,
    /// The file does not take lines now.
    is_failing: Arc<AtomicBool>,
    /// Clients that were turned away as no line could be written about them.
    turned_away: AtomicU64,
    writer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    /// These are being written.
    taken: usize,
    is_ending: bool,
}

impl Audit {
    /// Appends to a file, which only the server's user may read if this makes it.
    pub fn open(path: &Path) -> Result<Audit> {
        let output = Output::open(path)
            .with_context(|| format!("cannot open the audit log {}", path.display()))?;
        let open = Arc::new(Open {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            tick: AtomicU64::new(0),
            is_failing: Arc::default(),
            turned_away: AtomicU64::new(0),
            writer: Mutex::default(),
        });
        let of_writer = open.clone();
        let writer = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                give_way();
                of_writer.write(output);
            })
            .context("cannot start the thread of the audit log")?;
        *open.writer() = Some(writer);
        Ok(Audit(Some(open)))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a client may join: there will be a line about it. One that may not is counted.
    pub fn may_admit(&self) -> bool {
        let Some(open) = &self.0 else {
            return true;
        };
        let may = self.is_well() && open.waiting().bytes() < WAITING_BYTES_MAX;
        if !may {
            open.turned_away.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// Whether the file takes lines.
    pub fn is_well(&self) -> bool {
        let is_failing = |open: &Arc<Open>| open.is_failing.load(Ordering::Relaxed);
        !self.0.as_ref().is_some_and(is_failing)
    }

    /// True while the file takes no lines.
    pub fn failing(&self) -> Arc<AtomicBool> {
        let failing = self.0.as_ref().map(|open| open.is_failing.clone());
        failing.unwrap_or_default()
    }

    /// The newest tick, for entries without one.
    pub fn note_tick(&self, tick: u64) {
        if let Some(open) = &self.0 {
            open.tick.fetch_max(tick, Ordering::Relaxed);
        }
    }

    /// Queues a line. It does not wait.
    pub fn note(&self, entry: Entry<'_>) {
        let Some(open) = &self.0 else { return };
        let line = open.line(entry);
        let mut waiting = open.waiting();
        waiting.lines.extend_from_slice(&line);
        table::AUDIT_WAITING.set(waiting.bytes() as u64);
        open.changed.notify_all();
    }

    /// Writes all lines, as far as the file takes them in some seconds. Later ones are lost.
    pub fn finish(&self) {
        let Some(open) = &self.0 else { return };
        open.waiting().is_ending = true;
        open.changed.notify_all();
        let until = Instant::now() + END_PATIENCE;
        let writer = open.writer().take();
        while writer.as_ref().is_some_and(|writer| !writer.is_finished()) {
            if Instant::now() > until {
                let bytes = open.waiting().bytes();
                return error!(bytes, "the end of the audit log is lost");
            }
            std::thread::sleep(END_LOOK);
        }
    }
}

/// Appends lines to a file, and returns once they are safe: for commands.
pub fn append<'a>(path: &Path, entries: impl IntoIterator<Item = Entry<'a>>) -> Result<()> {
    let lines: Vec<u8> = entries.into_iter().flat_map(encode).collect();
    let written = Output::open(path).and_then(|mut output| {
        output.file.write_all(&lines)?;
        output.sync()
    });
    written.with_context(|| format!("cannot write to the audit log {}", path.display()))
}

impl Open {
    fn line(&self, mut entry: Entry<'_>) -> Vec<u8> {
        let newest = || self.tick.load(Ordering::Relaxed);
        entry.tick = Some(entry.tick.unwrap_or_else(newest));
        encode(entry)
    }

    /// Writes lines until the end.
    fn write(&self, mut output: Output) {
        let mut lines: Vec<u8> = vec![];
        loop {
            let is_ending = self.take(&mut lines);
            output.follow_path();
            let appended = match lines.is_empty() {
                true => Ok(()),
                false => output.append(&lines).and_then(|()| output.sync()),
            };
            match appended {
                Ok(()) => {
                    lines.clear();
                    output.written = 0;
                    self.recover(&mut lines);
                }
                Err(problem) => {
                    table::AUDIT_FAILURES.add(1);
                    // Lines that could not be synced are written once more.
                    if !self.is_failing.swap(true, Ordering::Relaxed) {
                        let path = output.path.display();
                        error!(
                            "the audit log {path} can't be written, so no client is admitted: {problem}"
                        );
                    }
                    if !is_ending {
                        std::thread::sleep(RETRY_PERIOD);
                    }
                }
            }
            let mut waiting = self.waiting();
            waiting.taken = lines.len();
            table::AUDIT_WAITING.set(waiting.bytes() as u64);
            let is_empty = waiting.bytes() == 0;
            if is_ending && (is_empty || self.is_failing.load(Ordering::Relaxed)) {
                return;
            }
        }
    }

    /// Adds the waiting lines to those that were not written, or waits for some. True at the end.
    fn take(&self, lines: &mut Vec<u8>) -> bool {
        let mut waiting = self.waiting();
        if lines.is_empty() && waiting.lines.is_empty() && !waiting.is_ending {
            let waited = self.changed.wait_timeout(waiting, LOOK_PERIOD);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        lines.append(&mut waiting.lines);
        waiting.taken = lines.len();
        waiting.is_ending
    }

    /// The file takes lines: the next one tells how many clients were turned away.
    fn recover(&self, lines: &mut Vec<u8>) {
        if self.is_failing.swap(false, Ordering::Relaxed) {
            info!("the audit log is written again");
        }
        let count = self.turned_away.swap(0, Ordering::Relaxed);
        if count > 0 {
            lines.extend(self.line(Entry {
                event: "refused",
                reason: Some("the audit log was not written"),
                count: Some(count),
                ..Entry::default()
            }));
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Lines are whole after each push, so a panic elsewhere does no harm.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.lines.len() + self.taken
    }
}

/// The file at a path.
#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: File,
    /// Bytes of the lines at hand that the file has.
    written: usize,
}

impl Output {
    fn open(path: &Path) -> io::Result<Output> {
        let file = private::options().create(true).append(true).open(path)?;
        Ok(Output {
            path: path.to_owned(),
            file,
            written: 0,
        })
    }

    /// Begins another file where the one at the path was renamed or removed, as programs do that
    /// rotate logs.
    fn follow_path(&mut self) {
        let id = |found: std::fs::Metadata| (found.dev(), found.ino());
        let own = self.file.metadata().map(id).ok();
        let there = std::fs::metadata(&self.path).map(id).ok();
        if own == there {
            return;
        }
        // Where that fails, the open file is as good.
        if let Ok(next) = Output::open(&self.path) {
            // The lines at hand are written there from the first one on.
            *self = next;
        }
    }

    /// Appends those bytes of some lines that the file does not have.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        while let Some(rest) = lines.get(self.written..).filter(|rest| !rest.is_empty()) {
            match self.file.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        // A pipe has nothing to sync.
        let is_file = self.file.metadata()?.is_file();
        let synced = if is_file {
            self.file.sync_data()
        } else {
            Ok(())
        };
        if synced.is_err() {
            // The system may have dropped any of it.
            self.written = 0;
        }
        synced
    }
}

fn encode(entry: Entry<'_>) -> Vec<u8> {
    let line = Line { time: now(), entry };
    // Nothing in it can fail.
    let mut line = serde_json::to_vec(&line).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Beyond this, no client is admitted: some 20,000 lines.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// How soon a renamed file is followed.
const LOOK_PERIOD: Duration = Duration::from_secs(1);
const RETRY_PERIOD: Duration = Duration::from_millis(500);
const END_PATIENCE: Duration = Duration::from_secs(5);
const END_LOOK: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, pipe};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use serde_json::Value;

    use super::*;

    /// A folder of a test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let name = format!("myriad-audit-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a folder");
            Scratch(path)
        }

        /// The lines of a file, each read as JSON.
        fn read(&self, name: &str) -> Vec<Value> {
            let text = fs::read_to_string(self.0.join(name)).expect("a file");
            assert!(text.is_empty() || text.ends_with('\n'));
            let line = |line| serde_json::from_str(line).expect("JSON");
            text.lines().map(line).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn join(client: u32) -> Entry<'static> {
        Entry {
            event: "join",
            client: Some(client),
            ..Entry::default()
        }
    }

    fn clients(lines: &[Value]) -> Vec<u64> {
        let client = |line: &Value| line["client"].as_u64();
        lines.iter().filter_map(client).collect()
    }

    fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < until, "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn all_lines_of_several_threads_are_in_the_file_at_the_end() {
        let scratch = Scratch::new("threads");
        let path = scratch.0.join("audit.log");
        let audit = Audit::open(&path).expect("a file");
        audit.note_tick(7);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let audit = &audit;
                scope.spawn(move || {
                    (0..1000).for_each(|n| audit.note(join(thread * 1000 + n)));
                });
            }
        });
        audit.finish();
        let lines = scratch.read("audit.log");
        let mut clients = clients(&lines);
        clients.sort_unstable();
        assert!(clients.into_iter().eq(0..4000));
        let last = &lines[3999];
        assert!(last["tick"] == 7 && last["event"] == "join" && last.get("reason").is_none());
        assert!(
            last["time"]
                .as_str()
                .is_some_and(|time| time.ends_with('Z'))
        );
        // Another server appends.
        append(&path, [join(4000)]).expect("a line");
        assert_eq!(scratch.read("audit.log").len(), 4001);
    }

    #[test]
    fn a_file_that_is_renamed_is_followed_by_another_one_without_a_gap() {
        let scratch = Scratch::new("renamed");
        let path = scratch.0.join("audit.log");
        let audit = Audit::open(&path).expect("a file");
        let mut next = 0;
        for name in ["audit.1", "audit.2"] {
            (0..50).for_each(|n| audit.note(join(next + n)));
            next += 50;
            fs::rename(&path, scratch.0.join(name)).expect("to rename a file");
            eventually("there is another file", || path.exists());
        }
        audit.note(join(next));
        audit.finish();
        let files = ["audit.1", "audit.2", "audit.log"];
        let lines: Vec<Value> = files.iter().flat_map(|name| scratch.read(name)).collect();
        assert!(clients(&lines).into_iter().eq(0..101));
    }

    #[test]
    fn while_the_file_fails_no_client_is_admitted_and_no_line_is_lost() {
        let scratch = Scratch::new("failing");
        let path = scratch.0.join("audit.log");
        symlink("/dev/full", &path).expect("a link");
        let audit = Audit::open(&path).expect("a device");
        assert!(audit.may_admit());
        (0..10).for_each(|n| audit.note(join(n)));
        eventually("it fails", || !audit.is_well());
        (10..20).for_each(|n| audit.note(join(n)));
        assert!(![audit.may_admit(), audit.may_admit(), audit.may_admit()].contains(&true));
        // There is room again.
        fs::remove_file(&path).expect("to remove a link");
        eventually("it is written again", || audit.is_well());
        assert!(audit.may_admit());
        audit.finish();
        let lines = scratch.read("audit.log");
        let (joins, sums): (Vec<Value>, _) =
            (lines.into_iter()).partition(|line| line["event"] == "join");
        assert!(clients(&joins).into_iter().eq(0..20));
        assert_eq!(sums.len(), 1);
        assert!(sums[0]["event"] == "refused" && sums[0]["count"] == 3);
    }

    #[test]
    fn a_disk_that_hangs_stops_no_thread_and_admissions_before_memory_is_full() {
        let (reader, stuck) = pipe().expect("a pipe");
        let path = format!("/proc/self/fd/{}", stuck.as_raw_fd());
        let audit = Audit::open(Path::new(&path)).expect("a pipe");
        let mut noted = 0;
        while audit.may_admit() {
            audit.note(join(noted));
            noted += 1;
        }
        let open = audit.0.as_ref().expect("a file");
        assert!(open.waiting().bytes() < WAITING_BYTES_MAX + 1000);
        // The clients that are there leave.
        (noted..noted + 100).for_each(|n| audit.note(join(n)));
        let read = |line: io::Result<String>| -> Value {
            serde_json::from_str(&line.expect("text")).expect("JSON")
        };
        let lines = BufReader::new(reader).lines().map(read);
        // The one that was turned away is in a line of its own.
        let mut joins = lines.filter(|line| line["event"] == "join");
        for n in 0..noted + 100 {
            assert_eq!(joins.next().expect("a line")["client"], n);
        }
        eventually("clients are admitted", || audit.may_admit());
        drop(stuck);
    }
}
