//! Waits for something outside of the process: a disk, a database, etcd, a standby. Each has a
//! deadline of its own; they are listed here, so that the log names long waits, and so that a stop
//! ends in time.

use std::borrow::Cow;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use program::console::flush_errors;
use thiserror::Error;
use tracing::{error, info, warn};

/// A stop has ended a wait.
#[derive(Debug, Error)]
#[error("the server was stopped while it waited for {0}")]
pub struct Stopped(pub String);

/// A wait in progress. Dropping it ends it.
pub struct Wait(u64);

impl Wait {
    /// Waits for something, which has so long once the server stops.
    pub fn new(what: impl Into<Cow<'static, str>>, patience: Duration) -> Wait {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(|| {
            // Without it, waits are not logged.
            let _ = thread::Builder::new().name(THREAD.to_owned()).spawn(watch);
        });
        let mut waits = lock();
        waits.last += 1;
        let number = waits.last;
        waits.all.push(Waiting {
            number,
            what: what.into(),
            begun: Instant::now(),
            patience,
            next: SAID_AFTER,
            is_logged: false,
        });
        drop(waits);
        CHANGED.notify_one();
        Wait(number)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let over = {
            let mut waits = lock();
            let place = waits.all.iter().position(|wait| wait.number == self.0);
            place.map(|place| waits.all.swap_remove(place))
        };
        if let Some(wait) = over.filter(|wait| wait.is_logged) {
            let seconds = wait.begun.elapsed().as_secs();
            info!(seconds, "the wait is over: {}", wait.what);
        }
    }
}

/// The current waits, the longest first.
pub fn current() -> Vec<String> {
    let mut waits: Vec<(Instant, String)> = {
        let all = &lock().all;
        let text = |wait: &Waiting| (wait.begun, wait.what.to_string());
        all.iter().map(text).collect()
    };
    waits.sort();
    waits.into_iter().map(|(_, what)| what).collect()
}

/// Ends the process if a stop takes too long. Dropping it cancels that: the stop is done.
pub struct StopDeadline {
    /// Its end is the message.
    _done: Sender<()>,
}

impl StopDeadline {
    /// The stop begins. Synced data survives any end of the process.
    pub fn start() -> StopDeadline {
        let (done, is_done) = channel::<()>();
        let watch = move || {
            let begun = Instant::now();
            let hangs = loop {
                match is_done.recv_timeout(LOOK_PERIOD) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return,
                }
                if let Some(hangs) = overdue(begun, Instant::now()) {
                    break hangs;
                }
            };
            error!("the server ends before its stop is complete: it still waits for {hangs}");
            flush_errors();
            program::signals::exit(1);
        };
        // Without it, a stop may take longer.
        let _ = thread::Builder::new().name(THREAD.to_owned()).spawn(watch);
        StopDeadline { _done: done }
    }
}

/// The wait that has delayed a stop for too long.
fn overdue(begun: Instant, now: Instant) -> Option<String> {
    let waits = lock();
    let is_over = |wait: &&Waiting| {
        let since = wait.begun.max(begun);
        now.saturating_duration_since(since) >= wait.patience
    };
    let hangs = waits.all.iter().find(is_over);
    let hangs = hangs.map(|wait| wait.what.to_string());
    let is_long = now.saturating_duration_since(begun) >= STOP_MAX;
    hangs.or_else(|| is_long.then(|| "its threads".to_owned()))
}

#[derive(Default)]
struct Waits {
    last: u64,
    all: Vec<Waiting>,
}

struct Waiting {
    number: u64,
    what: Cow<'static, str>,
    begun: Instant,
    patience: Duration,
    /// The time until it is logged, again.
    next: Duration,
    is_logged: bool,
}

/// Logs long waits.
fn watch() {
    let mut waits = lock();
    loop {
        let mut due = vec![];
        for wait in &mut waits.all {
            let waited = wait.begun.elapsed();
            if waited >= wait.next {
                wait.next = waited * 2;
                wait.is_logged = true;
                due.push((wait.what.clone(), waited.as_secs()));
            }
        }
        if !due.is_empty() {
            drop(waits);
            for (what, seconds) in due {
                warn!(seconds, "waiting for {what}");
            }
            waits = lock();
        }
        waits = match waits.all.is_empty() {
            true => CHANGED.wait(waits).unwrap_or_else(PoisonError::into_inner),
            false => {
                let waited = CHANGED.wait_timeout(waits, LOOK_PERIOD);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

fn lock() -> MutexGuard<'static, Waits> {
    // Each change is whole, so a panic elsewhere does no harm.
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

static WAITS: Mutex<Waits> = Mutex::new(Waits {
    last: 0,
    all: vec![],
});
static CHANGED: Condvar = Condvar::new();

/// The threads of this file.
pub const THREAD: &str = "waits";
/// A wait that is no longer is usual.
const SAID_AFTER: Duration = Duration::from_secs(3);
const LOOK_PERIOD: Duration = Duration::from_millis(250);
/// For a stop in which nothing outside is waited for: the engine's last tick and checkpoint.
const STOP_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_overdue_once_one_wait_has_had_its_time() {
        let wait = Wait::new("a test's disk", Duration::from_secs(5));
        assert!(current().contains(&"a test's disk".to_owned()));
        let begun = Instant::now();
        let after = |seconds| overdue(begun, begun + Duration::from_secs(seconds));
        assert_eq!(after(4), None);
        assert_eq!(after(6).as_deref(), Some("a test's disk"));
        drop(wait);
        assert_eq!(after(6), None);
        assert_eq!(after(61).as_deref(), Some("its threads"));
        assert!(!current().contains(&"a test's disk".to_owned()));
    }
}
