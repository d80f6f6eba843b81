//! Where a client connects, and when: to the address that it was given, and to those that
//! servers named.

use std::time::Duration;

use crate::retry::RetryOptions;

/// The servers of a world that a client knows, in turn: the standby of the last one that
/// welcomed it, that one itself, and the one that it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Of the last server that welcomed the client; `None`: the one that it was given.
    last: Option<String>,
    standby: Option<String>,
    /// The address whose turn it is.
    turn: usize,
    /// Rounds of turns that failed since the last welcome.
    failed: u32,
    /// A standby has answered in this round.
    has_answered: bool,
}

impl Route {
    /// Where to connect now; `None`: the address that the client was given.
    pub fn address(&self) -> Option<&str> {
        self.turns().nth(self.turn).flatten()
    }

    /// The server at [`Route::address`] has welcomed the client, and named its standby; empty:
    /// none.
    pub fn welcome(&mut self, standby: &str) {
        let last = self.address().map(str::to_owned);
        *self = Route {
            last,
            ..Route::default()
        };
        self.set_standby(standby);
    }

    /// The server has another standby; empty: none.
    pub fn set_standby(&mut self, standby: &str) {
        if self.standby.as_deref().unwrap_or_default() != standby {
            self.standby = Some(standby.to_owned()).filter(|s| !s.is_empty());
        }
    }

    /// Whether another server may take over.
    pub fn has_standby(&self) -> bool {
        self.standby.is_some()
    }

    /// The connection to the server that welcomed the client is lost. Gives the wait before the
    /// next attempt; `None` to give up.
    pub fn lose(&self, retry: &RetryOptions) -> Option<Duration> {
        // No attempt has failed yet.
        retry.wait(self.failed)
    }

    /// An attempt has failed, perhaps since the server is a standby that has not taken over.
    /// Gives the wait before the next one; `None` to give up.
    pub fn fail(&mut self, is_standby: bool, retry: &RetryOptions) -> Option<Duration> {
        self.has_answered |= is_standby;
        self.turn += 1;
        if self.turn < self.turns().count() {
            return Some(Duration::ZERO);
        }
        self.turn = 0;
        self.failed = self.failed.saturating_add(1);
        if std::mem::take(&mut self.has_answered) {
            // It may take over at any time.
            self.failed = self.failed.min(FAILED_BESIDE_STANDBY_MAX);
        }
        retry.wait(self.failed)
    }

    /// How long an attempt may take, if it could take `longest` and an answer takes `round_trip`:
    /// less where there is another server to try.
    pub fn patience(&self, longest: Duration, round_trip: Duration) -> Duration {
        match self.turns().count() {
            1 => longest,
            _ => (round_trip * PATIENCE_ROUND_TRIPS).clamp(PATIENCE_MIN.min(longest), longest),
        }
    }

    /// For how long a server may be silent, if it could be so for `longest`: less where another
    /// one may have taken over. Servers say something each half second.
    pub fn silence(&self, longest: Duration) -> Duration {
        match self.has_standby() {
            true => SILENCE_MAX.min(longest),
            false => longest,
        }
    }

    fn turns(&self) -> impl Iterator<Item = Option<&str>> {
        let last = self.last.as_deref();
        let standby = self.standby.as_deref().filter(|&s| Some(s) != last);
        let given = last.is_some().then_some(None);
        standby.map(Some).into_iter().chain([last]).chain(given)
    }
}

/// Rounds that failed, at most, for the wait of a client that a standby has answered.
const FAILED_BESIDE_STANDBY_MAX: u32 = 1;
/// A handshake takes three, and a welcome waits for a tick.
const PATIENCE_ROUND_TRIPS: u32 = 10;
const PATIENCE_MIN: Duration = Duration::from_secs(1);
const SILENCE_MAX: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: RetryOptions = RetryOptions {
        first: Duration::from_millis(100),
        longest: Duration::from_secs(8),
        attempts: 3,
        seed: 0,
    };

    /// Fails until the client gives up, and gives where it tried.
    fn tries(route: &mut Route) -> Vec<Option<String>> {
        let mut tried = vec![];
        while tried.len() < 100 {
            tried.push(route.address().map(str::to_owned));
            if route.fail(false, &RETRY).is_none() {
                break;
            }
        }
        tried
    }

    #[test]
    fn a_lost_client_tries_the_standby_first_and_each_server_in_turn() {
        let (one, two) = (Some("one:1".to_owned()), Some("two:2".to_owned()));
        let mut route = Route::default();
        assert_eq!(tries(&mut route.clone()), [None, None, None]);
        route.welcome("one:1");
        route.lose(&RETRY).unwrap();
        let expected = [&one, &None, &one, &None, &one, &None].map(Clone::clone);
        assert_eq!(tries(&mut route.clone()), expected);
        // The standby has taken over, and has one of its own.
        route.welcome("");
        route.set_standby("two:2");
        route.lose(&RETRY).unwrap();
        let round = [two, one.clone(), None];
        assert_eq!(
            tries(&mut route.clone()),
            round.iter().cloned().cycle().take(9).collect::<Vec<_>>()
        );
        // The one before is its standby now.
        route.fail(false, &RETRY).unwrap();
        route.welcome("one:1");
        route.lose(&RETRY).unwrap();
        assert_eq!(tries(&mut route)[..3], [one.clone(), None, one]);
    }

    #[test]
    fn only_a_round_that_failed_makes_waits_longer_and_a_standby_that_answers_keeps_them_short() {
        let mut route = Route::default();
        route.welcome("one:1");
        assert!(route.lose(&RETRY).unwrap() <= Duration::from_millis(100));
        for _ in 0..100 {
            assert_eq!(route.fail(true, &RETRY), Some(Duration::ZERO));
            let wait = route.fail(false, &RETRY).unwrap();
            assert!(wait <= Duration::from_millis(200), "{wait:?}");
        }
        assert_eq!(route.fail(false, &RETRY), Some(Duration::ZERO));
        assert!(route.fail(false, &RETRY).unwrap() >= Duration::from_millis(200));
        route.fail(false, &RETRY).unwrap();
        assert_eq!(route.fail(false, &RETRY), None);
        let never = Route::default();
        assert_eq!(never.lose(&RetryOptions::NEVER), None);
    }

    #[test]
    fn a_client_that_knows_a_standby_waits_less_for_either_server() {
        let (long, short) = (Duration::from_secs(5), Duration::from_millis(3));
        let mut route = Route::default();
        assert_eq!(
            (route.patience(long, short), route.silence(long)),
            (long, long)
        );
        route.welcome("one:1");
        assert_eq!(route.patience(long, short), Duration::from_secs(1));
        assert_eq!(
            route.patience(long, Duration::from_millis(300)),
            Duration::from_secs(3)
        );
        assert_eq!(route.patience(long, long), long);
        assert_eq!(route.silence(long), Duration::from_secs(2));
        assert_eq!(route.silence(short), short);
        route.set_standby("");
        assert_eq!(
            (route.patience(long, short), route.silence(long)),
            (long, long)
        );
    }
}
