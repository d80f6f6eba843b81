//! Where a client connects, and when: to the address that it was given, and to those that
//! servers named.

use std::time::Duration;

use shared::wire::close::Redirect;

use crate::retry::RetryOptions;

/// The servers of a world that a client knows, in turn: the others of which the last one that
/// welcomed it has sent the addresses, that one itself, and the one that it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// Of the last server that welcomed the client; `None`: the one that it was given.
    last: Option<String>,
    others: Vec<String>,
    /// Named by the server of the last attempt, which was full: tried before the next turn.
    redirect: Option<String>,
    /// Servers that were full in this turn.
    full: u32,
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
        match &self.redirect {
            Some(address) => Some(address),
            None => self.turns().nth(self.turn).flatten(),
        }
    }

    /// The server at [`Route::address`] has welcomed the client, and sent the addresses of others.
    pub fn welcome(&mut self, others: &[String]) {
        let last = self.address().map(str::to_owned);
        *self = Route {
            last,
            ..Route::default()
        };
        self.set_others(others);
    }

    /// The server has sent the addresses of others.
    pub fn set_others(&mut self, others: &[String]) {
        if self.others != others {
            self.others = others.to_vec();
        }
    }

    /// The connection to the server that welcomed the client is lost. Gives the wait before the
    /// next attempt; `None` to give up.
    pub fn lose(&self, retry: &RetryOptions) -> Option<Duration> {
        // No attempt has failed yet.
        retry.wait(self.failed)
    }

    /// An attempt has failed, perhaps since the server is a standby that has not taken over, or is
    /// full and names another one. Gives the wait before the next one; `None` to give up.
    pub fn fail(
        &mut self,
        is_standby: bool,
        redirect: Option<Redirect>,
        retry: &RetryOptions,
    ) -> Option<Duration> {
        self.has_answered |= is_standby;
        self.redirect = redirect.map(|Redirect(address)| address);
        // Servers may be full and name each other.
        if self.redirect.is_some() && self.full < REDIRECTS_MAX {
            self.full += 1;
            return Some(Duration::ZERO);
        }
        (self.redirect, self.full) = (None, 0);
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
        match self.others.is_empty() {
            false => SILENCE_MAX.min(longest),
            true => longest,
        }
    }

    fn turns(&self) -> impl Iterator<Item = Option<&str>> {
        let last = self.last.as_deref();
        let others = self.others.iter().map(|other| Some(&**other));
        let others = others.filter(move |&other| other != last);
        let given = last.is_some().then_some(None);
        others.chain([last]).chain(given)
    }
}

/// Rounds that failed, at most, for the wait of a client that a standby has answered.
const FAILED_BESIDE_STANDBY_MAX: u32 = 1;
/// Servers that are full, at most, which name another one in a turn.
const REDIRECTS_MAX: u32 = 4;
/// A handshake takes three, and a welcome waits for a tick.
const PATIENCE_ROUND_TRIPS: u32 = 10;
/// A server that all clients of another one come to at once answers some of them late.
const PATIENCE_MIN: Duration = Duration::from_secs(2);
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
            if route.fail(false, None, &RETRY).is_none() {
                break;
            }
        }
        tried
    }

    fn servers(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(|&address| address.into()).collect()
    }

    #[test]
    fn a_lost_client_tries_the_others_first_and_each_server_in_turn() {
        let (one, two) = (Some("one:1".to_owned()), Some("two:2".to_owned()));
        let three = Some("three:3".to_owned());
        let mut route = Route::default();
        assert_eq!(tries(&mut route.clone()), [None, None, None]);
        route.welcome(&servers(&["one:1"]));
        route.lose(&RETRY).unwrap();
        let expected = [&one, &None, &one, &None, &one, &None].map(Clone::clone);
        assert_eq!(tries(&mut route.clone()), expected);
        // The other has welcomed it, and knows more.
        route.welcome(&[]);
        route.set_others(&servers(&["two:2", "three:3"]));
        route.lose(&RETRY).unwrap();
        let round = [two, three, one.clone(), None];
        assert_eq!(
            tries(&mut route.clone()),
            round.iter().cloned().cycle().take(12).collect::<Vec<_>>()
        );
        // The last one is an other now.
        route.fail(false, None, &RETRY).unwrap();
        route.fail(false, None, &RETRY).unwrap();
        route.welcome(&servers(&["one:1"]));
        route.lose(&RETRY).unwrap();
        assert_eq!(tries(&mut route)[..3], [one.clone(), None, one]);
    }

    #[test]
    fn a_full_server_sends_its_clients_on_at_once_but_not_for_ever() {
        let redirect = |to: &str| Some(Redirect(to.to_owned()));
        let mut route = Route::default();
        for to in ["two:2", "three:3", "two:2", "three:3"] {
            let wait = route.fail(false, redirect(to), &RETRY);
            assert_eq!((wait, route.address()), (Some(Duration::ZERO), Some(to)));
        }
        // The round has failed.
        let wait = route.fail(false, redirect("two:2"), &RETRY).unwrap();
        assert!(wait > Duration::ZERO);
        assert_eq!(route.address(), None);
        // It names one that is not there.
        route.fail(false, redirect("two:2"), &RETRY).unwrap();
        assert!(route.fail(false, None, &RETRY).unwrap() > Duration::ZERO);
        assert_eq!(route.address(), None);
        // One that welcomes it is the last.
        route.fail(false, redirect("two:2"), &RETRY).unwrap();
        route.welcome(&[]);
        assert_eq!(route.address(), Some("two:2"));
    }

    #[test]
    fn only_a_round_that_failed_makes_waits_longer_and_a_standby_that_answers_keeps_them_short() {
        let mut route = Route::default();
        route.welcome(&servers(&["one:1"]));
        assert!(route.lose(&RETRY).unwrap() <= Duration::from_millis(100));
        for _ in 0..100 {
            assert_eq!(route.fail(true, None, &RETRY), Some(Duration::ZERO));
            let wait = route.fail(false, None, &RETRY).unwrap();
            assert!(wait <= Duration::from_millis(200), "{wait:?}");
        }
        assert_eq!(route.fail(false, None, &RETRY), Some(Duration::ZERO));
        assert!(route.fail(false, None, &RETRY).unwrap() >= Duration::from_millis(200));
        route.fail(false, None, &RETRY).unwrap();
        assert_eq!(route.fail(false, None, &RETRY), None);
        let never = Route::default();
        assert_eq!(never.lose(&RetryOptions::NEVER), None);
    }

    #[test]
    fn a_client_that_knows_others_waits_less_for_each_server() {
        let (long, short) = (Duration::from_secs(5), Duration::from_millis(3));
        let mut route = Route::default();
        assert_eq!(
            (route.patience(long, short), route.silence(long)),
            (long, long)
        );
        route.welcome(&servers(&["one:1"]));
        assert_eq!(route.patience(long, short), Duration::from_secs(2));
        assert_eq!(
            route.patience(long, Duration::from_millis(300)),
            Duration::from_secs(3)
        );
        assert_eq!(route.patience(long, long), long);
        assert_eq!(route.silence(long), Duration::from_secs(2));
        assert_eq!(route.silence(short), short);
        route.set_others(&[]);
        assert_eq!(
            (route.patience(long, short), route.silence(long)),
            (long, long)
        );
    }
}
