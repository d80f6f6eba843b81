//! Standard output. A failed write is an error at the end of the program, unless the
//! reader has gone: `myriad … | head` wants no more.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::queue::{LineQueue, Weight, write_patiently};

/// Standard output as a stream of bytes. The caller gets errors, and so does [`finish`].
#[derive(Debug, Default)]
pub struct Output(());

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard output, as a stream of bytes.
pub fn output() -> Output {
    Output(())
}

/// Whether the reader has gone before the end.
pub fn is_unread() -> bool {
    lock().failure.as_ref().map(io::Error::kind) == Some(ErrorKind::BrokenPipe)
}

/// From now on lines are written by a thread of their own: a world runs beside, whose end must not
/// wait for a reader.
pub fn write_in_background() -> io::Result<()> {
    let mut state = lock();
    if state.queue.is_none() {
        state.queue = Some(LineQueue::start("output", descriptor())?);
    }
    Ok(())
}

/// Writes a line. [`finish`] reports an error.
pub(super) fn say(text: fmt::Arguments<'_>) {
    // It is noted.
    let _ = write(format!("{text}\n").as_bytes());
}

/// Fails if a line is not written. A thread of its own gets a moment for it.
pub fn finish() -> Result<()> {
    let state = lock();
    if let Some(queue) = &state.queue {
        let is_written = queue.flush(PATIENCE);
        let failure = queue.failure();
        match failure {
            Some(ErrorKind::BrokenPipe) => return Ok(()),
            Some(failure) => return Err(failed(failure.into())),
            None if !is_written || queue.lost() > 0 => {
                return Err(failed(io::Error::other("it is not read")));
            }
            None => {}
        }
    }
    match &state.failure {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(failed(copy(error))),
        _ => Ok(()),
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}

fn failed(error: io::Error) -> anyhow::Error {
    anyhow!(error).context("cannot write to standard output")
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut state = lock();
    if let Some(queue) = &state.queue {
        queue.push(bytes, Weight::Important);
        return Ok(());
    }
    // Text with a gap in it would be worse than its beginning.
    if let Some(failure) = &state.failure {
        return Err(failure.kind().into());
    }
    let file = state.file.get_or_insert_with(descriptor);
    let written = write_patiently(file, bytes);
    if let Err(error) = &written {
        state.failure = Some(copy(error));
    }
    written
}

/// Without the buffer of the standard library's, whose end ignores errors.
fn descriptor() -> Descriptor {
    match super::duplicate(&io::stdout()) {
        Ok(file) => Box::new(file),
        Err(_) => Box::new(io::stdout()),
    }
}

type Descriptor = Box<dyn Write + Send>;

struct State {
    file: Option<Descriptor>,
    queue: Option<LineQueue>,
    /// The first one.
    failure: Option<io::Error>,
}

fn lock() -> MutexGuard<'static, State> {
    // Each change is whole, so a panic elsewhere does no harm.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

static STATE: Mutex<State> = Mutex::new(State {
    file: None,
    queue: None,
    failure: None,
});

/// For lines of a program that has ended otherwise.
const PATIENCE: Duration = Duration::from_secs(2);
