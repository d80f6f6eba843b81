//! A deadline for what has none of its own.

use std::io;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// Does something that may hang, such as to look up a name, on a thread of its own. After so long
/// it is given up: the thread ends with what it does, or with the process.
pub fn within<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    within_saying(patience, || (), work)
}

/// The same; a call that lasts is reported.
pub fn within_saying<T: Send + 'static>(
    patience: Duration,
    say: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (to, done) = channel();
    let work = move || {
        // The caller may have stopped waiting.
        let _ = to.send(work());
    };
    thread::Builder::new()
        .name("within".to_owned())
        .spawn(work)?;
    let usual = patience.min(USUAL);
    let done = done.recv_timeout(usual).or_else(|_| {
        say();
        done.recv_timeout(patience - usual)
    });
    done.map_err(|_| {
        let seconds = patience.as_secs_f64();
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer in {seconds} seconds"),
        )
    })
}

/// A wait that is no longer is usual.
const USUAL: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_given_up_and_what_does_not_is_done() {
        assert_eq!(within(Duration::from_secs(60), || 7).unwrap(), 7);
        let (_open, hangs) = channel::<()>();
        let mut is_said = false;
        let say = || is_said = true;
        let given_up = within_saying(Duration::from_millis(10), say, move || hangs.recv());
        assert_eq!(given_up.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(is_said);
    }
}
