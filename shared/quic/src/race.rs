//! Happy eyeballs: attempts to reach a server at several addresses, of which the first that
//! succeeds wins (RFC 8305, section 5). Time is always passed in, but to what runs them on tokio.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::addresses::Addresses;

/// Which attempts are due. The caller ends the race once one succeeds.
#[derive(Debug)]
pub struct Race {
    waiting: std::vec::IntoIter<SocketAddr>,
    /// When the first of those that wait may begin.
    next: Instant,
    running: usize,
}

impl Race {
    /// A race to these addresses, which begins now.
    pub fn new(addresses: &Addresses, now: Instant) -> Race {
        Race {
            waiting: addresses.iter().collect::<Vec<_>>().into_iter(),
            next: now,
            running: 0,
        }
    }

    /// The address to which an attempt begins now, if one is due.
    pub fn begin(&mut self, now: Instant) -> Option<SocketAddr> {
        if now < self.next {
            return None;
        }
        let address = self.waiting.next()?;
        self.running += 1;
        self.next = now + ATTEMPT_DELAY;
        Some(address)
    }

    /// An attempt does not look good: the next one does not wait for it.
    pub fn hurry(&mut self, now: Instant) {
        self.next = self.next.min(now);
    }

    /// An attempt has failed. False if it was the last one.
    pub fn fail(&mut self, now: Instant) -> bool {
        self.running = self.running.saturating_sub(1);
        self.hurry(now);
        self.running + self.waiting.len() > 0
    }

    /// When [`Race::begin`] gives the next address, unless an attempt fails before; `None` if
    /// there are no more.
    pub fn next_due(&self) -> Option<Instant> {
        (self.waiting.len() > 0).then_some(self.next)
    }
}

/// Connects to the address that answers first: `open` begins an attempt. Those that are not needed
/// are dropped.
#[cfg(feature = "tokio")]
pub async fn first<T, E, A>(
    addresses: &Addresses,
    mut open: impl FnMut(SocketAddr) -> Result<A, E>,
) -> Result<T, E>
where
    A: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    let mut race = Race::new(addresses, Instant::now());
    let mut attempts = tokio::task::JoinSet::new();
    loop {
        let error = if let Some(address) = race.begin(Instant::now()) {
            match open(address) {
                Ok(attempt) => {
                    attempts.spawn(attempt);
                    continue;
                }
                Err(error) => error,
            }
        } else {
            tokio::select! {
                () = sleep_until(race.next_due()) => continue,
                Some(ended) = attempts.join_next() => match ended {
                    Ok(Ok(reached)) => return Ok(reached),
                    Ok(Err(error)) => error,
                    // It is not cancelled.
                    Err(failed) => std::panic::resume_unwind(failed.into_panic()),
                }
            }
        };
        if !race.fail(Instant::now()) {
            return Err(error);
        }
    }
}

/// Waits until a time; for ever, if there is none.
#[cfg(feature = "tokio")]
pub async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

/// How long the next attempt waits for the one before: what RFC 8305, section 8, recommends.
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    fn race(now: Instant) -> (Race, [SocketAddr; 3]) {
        let all = ["[::1]:1", "127.0.0.1:1", "[::2]:1"].map(|text| text.parse().unwrap());
        (Race::new(&Addresses::new(all).unwrap(), now), all)
    }

    #[test]
    fn silent_attempts_are_joined_by_the_next_every_quarter_of_a_second() {
        let start = Instant::now();
        let (mut race, [a, b, c]) = race(start);
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(race.next_due(), Some(start));
        assert_eq!(race.begin(start), Some(a));
        assert_eq!(race.begin(at(249)), None);
        assert_eq!(race.next_due(), Some(at(250)));
        assert_eq!(race.begin(at(250)), Some(b));
        // Later than due: the one after it waits as long all the same.
        assert_eq!(race.begin(at(499)), None);
        assert_eq!(race.begin(at(900)), Some(c));
        assert_eq!(race.begin(at(5000)), None);
        assert_eq!(race.next_due(), None);
    }

    #[test]
    fn a_failure_lets_the_next_begin_at_once() {
        let start = Instant::now();
        let (mut race, [a, b, c]) = race(start);
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(race.begin(start), Some(a));
        assert!(race.fail(at(10)));
        assert_eq!(race.next_due(), Some(at(10)));
        assert_eq!(race.begin(at(10)), Some(b));
        assert_eq!(race.begin(at(10)), None);
        race.hurry(at(20));
        assert_eq!(race.begin(at(20)), Some(c));
        assert!(race.fail(at(30)), "one is still running");
        assert!(!race.fail(at(40)));
        assert_eq!(race.begin(at(40)), None);
    }
}
