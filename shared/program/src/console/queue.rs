//! Lines on their way to a file descriptor. One thread writes them, so that trouble with
//! the descriptor (no reader, a full disk, a closed pipe) delays no other thread.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A bounded queue of lines, and the thread that writes them. Lines without room, and those that
/// can't be written, are lost and counted; once writing works again, a line reports how many.
#[derive(Clone)]
pub struct LineQueue(Arc<Shared>);

/// Whether a line gives way when many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Usual,
    /// It has room of its own, which other lines can't fill.
    Important,
}

/// A line that reports how many were lost.
pub type Notice = Box<dyn Fn(u64) -> String + Send>;

struct Shared {
    state: Mutex<State>,
    /// For the thread: there is work. For a flush: it is done.
    changed: Condvar,
}

struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    is_writing: bool,
    /// Since the start.
    lost: u64,
    /// Of these, those that no line has reported yet.
    unreported: u64,
    /// A caller waits until all is written.
    is_flushed: bool,
    failure: Option<ErrorKind>,
    notice: Option<Notice>,
}

impl LineQueue {
    /// Starts the thread.
    pub fn start(name: &str, out: impl Write + Send + 'static) -> io::Result<LineQueue> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                lines: VecDeque::new(),
                bytes: 0,
                is_writing: false,
                lost: 0,
                unreported: 0,
                is_flushed: false,
                failure: None,
                notice: None,
            }),
            changed: Condvar::new(),
        });
        let queue = LineQueue(shared.clone());
        // It ends with the process: a write that hangs can't be ended otherwise.
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || shared.write_all(out))?;
        Ok(queue)
    }

    /// The line that reports losses. Without one, they are not reported.
    pub fn set_notice(&self, notice: Notice) {
        self.0.lock().notice = Some(notice);
    }

    /// Queues lines with their ends, or counts them as lost. It never waits for the descriptor.
    pub fn push(&self, line: impl Into<Vec<u8>>, weight: Weight) {
        let line = line.into();
        let mut state = self.0.lock();
        let room = match weight {
            Weight::Usual => BYTES_MAX,
            Weight::Important => BYTES_MAX + BYTES_IMPORTANT,
        };
        if state.bytes + line.len() > room {
            state.lose();
            return;
        }
        state.bytes += line.len();
        state.lines.push_back(line);
        drop(state);
        self.0.changed.notify_all();
    }

    /// Queues text only if nothing waits: the next text will do as well.
    pub fn push_if_idle(&self, text: impl Into<Vec<u8>>) {
        let is_idle = {
            let state = self.0.lock();
            state.lines.is_empty() && !state.is_writing
        };
        if is_idle {
            self.push(text, Weight::Usual);
        }
    }

    /// The number of lines that were lost so far.
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }

    /// The error of the last failed write.
    pub fn failure(&self) -> Option<ErrorKind> {
        self.0.lock().failure
    }

    /// Waits until everything is written or lost; false if that takes longer.
    pub fn flush(&self, patience: Duration) -> bool {
        let begun = Instant::now();
        let mut state = self.0.lock();
        state.is_flushed = true;
        self.0.changed.notify_all();
        while !state.lines.is_empty() || state.is_writing || state.is_flushed {
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.0.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl State {
    fn lose(&mut self) {
        self.lost += 1;
        self.unreported += 1;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all(&self, out: impl Write) {
        // A terminal would stop the whole process for a line that it writes in the background.
        #[cfg(target_os = "linux")]
        let _ = nix::sys::signal::SigSet::from(nix::sys::signal::SIGTTOU).thread_block();
        let mut out = Pen {
            out,
            is_torn: false,
        };
        let mut state = self.lock();
        loop {
            let is_flush = state.is_flushed;
            let line = state.lines.pop_front();
            state.bytes -= line.as_ref().map_or(0, Vec::len);
            let unreported = state.unreported;
            let notice = match (unreported, &state.notice) {
                (1.., Some(notice)) => Some(notice(unreported)),
                _ => None,
            };
            state.is_writing = true;
            drop(state);
            let reported = notice.map(|notice| out.write(notice.as_bytes()));
            // Where the notice fails, so does the line; it is tried all the same, as it may be
            // shorter than what room there is.
            let written = line.map_or(Ok(()), |line| out.write(&line));
            state = self.lock();
            state.is_writing = false;
            if matches!(reported, Some(Ok(()))) {
                state.unreported -= unreported;
            }
            if let Err(error) = written {
                state.failure = Some(error.kind());
                state.lose();
            }
            if state.lines.is_empty() {
                // Lines lost meanwhile are reported in another round.
                state.is_flushed &= !is_flush;
                self.changed.notify_all();
                state = self.wait(state);
            }
        }
    }

    /// Waits for lines. Tries again now and then to say that some were lost.
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let is_idle = |state: &mut State| state.lines.is_empty() && !state.is_flushed;
        if state.unreported == 0 || state.notice.is_none() {
            let waited = self.changed.wait_while(state, is_idle);
            return waited.unwrap_or_else(PoisonError::into_inner);
        }
        let waited = self
            .changed
            .wait_timeout_while(state, NOTICE_PERIOD, is_idle);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A descriptor that may have got half a line.
struct Pen<W> {
    out: W,
    is_torn: bool,
}

impl<W: Write> Pen<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.is_torn {
            write_patiently(&mut self.out, b"\n")?;
            self.is_torn = false;
        }
        let mut left = line;
        let written = write_from(&mut self.out, &mut left);
        self.is_torn = written.is_err() && left.len() < line.len();
        written
    }
}

/// Writes all, also to a descriptor that does not wait for its reader.
pub fn write_patiently(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut left = bytes;
    write_from(out, &mut left)
}

/// The same; `left` is what is not written.
fn write_from(out: &mut impl Write, left: &mut &[u8]) -> io::Result<()> {
    let mut pause = PAUSE_MIN;
    while !left.is_empty() {
        match out.write(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => {
                *left = &left[written.min(left.len())..];
                pause = PAUSE_MIN;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(pause);
                pause = (pause * 2).min(PAUSE_MAX);
            }
            Err(error) => return Err(error),
        }
    }
    out.flush()
}

/// Lines that wait: some seconds of the fastest log.
const BYTES_MAX: usize = 1 << 20;
const BYTES_IMPORTANT: usize = 1 << 20;
const NOTICE_PERIOD: Duration = Duration::from_secs(5);
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// The result of each write; without one, it waits.
    struct Scripted {
        results: Receiver<Result<usize, ErrorKind>>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Scripted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let result = self.results.recv().unwrap_or(Ok(usize::MAX));
            let length = result?.min(bytes.len());
            self.written.lock().unwrap().extend(&bytes[..length]);
            Ok(length)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Test {
        queue: LineQueue,
        results: Sender<Result<usize, ErrorKind>>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Test {
        fn start() -> Test {
            let (results, incoming) = channel();
            let written = Arc::new(Mutex::new(vec![]));
            let out = Scripted {
                results: incoming,
                written: written.clone(),
            };
            let queue = LineQueue::start("test", out).unwrap();
            queue.set_notice(Box::new(|lost| format!("{lost} lost\n")));
            Test {
                queue,
                results,
                written,
            }
        }

        fn say(&self, line: &str) {
            self.queue.push(line, Weight::Usual);
        }

        /// Waits until the thread is writing the only line there is.
        fn is_written_to(&self) {
            loop {
                let state = self.queue.0.lock();
                if state.is_writing && state.lines.is_empty() {
                    return;
                }
                drop(state);
                thread::sleep(Duration::from_millis(1));
            }
        }

        fn loses(&self, count: u64) {
            while self.queue.lost() < count {
                thread::sleep(Duration::from_millis(1));
            }
        }

        /// The written bytes once every write works.
        fn end(self) -> String {
            drop(self.results);
            assert!(self.queue.flush(Duration::from_secs(60)));
            String::from_utf8(self.written.lock().unwrap().clone()).unwrap()
        }
    }

    #[test]
    fn a_full_disk_loses_lines_which_are_counted_and_said_once_there_is_room() {
        let test = Test::start();
        test.results.send(Err(ErrorKind::StorageFull)).unwrap();
        test.say("one\n");
        test.loses(1);
        assert_eq!(test.queue.failure(), Some(ErrorKind::StorageFull));
        let queue = test.queue.clone();
        test.say("two\n");
        assert_eq!(test.end(), "1 lost\ntwo\n");
        assert_eq!(queue.lost(), 1);
    }

    #[test]
    fn a_descriptor_that_nobody_reads_holds_up_nobody_and_memory_is_bounded() {
        let test = Test::start();
        let line = "x".repeat(1023) + "\n";
        // While the first one is being written, no line can say that others are lost.
        test.say(&line);
        test.is_written_to();
        let pushed = 3 * BYTES_MAX / line.len();
        for _ in 0..pushed {
            test.say(&line);
        }
        assert!(!test.queue.flush(Duration::from_millis(10)));
        let lost = test.queue.lost();
        assert!((pushed as u64 / 2..pushed as u64).contains(&lost), "{lost}");
        // Lines of operators are not crowded out by others.
        test.queue.push("audit\n", Weight::Important);
        assert_eq!(test.queue.lost(), lost);
        let written = test.end();
        assert!(written.contains(&format!("{lost} lost\n")));
        assert!(written.ends_with("audit\n"));
    }

    #[test]
    fn a_torn_line_does_not_run_into_the_next_one() {
        let test = Test::start();
        test.results.send(Ok(2)).unwrap();
        test.results.send(Err(ErrorKind::StorageFull)).unwrap();
        test.say("first\n");
        test.say("second\n");
        let written = test.end();
        assert!(written.starts_with("fi\n"), "{written}");
        assert!(written.contains("\nsecond\n"), "{written}");
    }

    #[test]
    fn a_descriptor_that_does_not_wait_gets_every_byte() {
        let test = Test::start();
        for result in [
            Ok(1),
            Err(ErrorKind::WouldBlock),
            Err(ErrorKind::Interrupted),
        ] {
            test.results.send(result).unwrap();
        }
        test.say("whole\n");
        let queue = test.queue.clone();
        assert_eq!(test.end(), "whole\n");
        assert_eq!(queue.lost(), 0);
    }

    #[test]
    fn that_lines_were_lost_is_said_though_no_other_line_follows() {
        let test = Test::start();
        test.results.send(Err(ErrorKind::BrokenPipe)).unwrap();
        test.say("one\n");
        test.loses(1);
        assert_eq!(test.end(), "1 lost\n");
    }
}
