//! Admission after the hello: the client's identity, bans, and limits for each account and
//! network. All shards share one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use platform::rate_limit::RateLimit;
use platform::renewal::Shared;
use shared::wire::close::Close;
use thiserror::Error;

use super::authenticator::{Authenticator, Credentials, Rejection};
use super::bans::{Ban, Banned, Bans};
use super::guesses::Guesses;
use super::identity::{Account, Identity};
use super::moment::Moment;
use super::network::Network;
use super::revocations::{Fingerprint, Revocations, ShownToken};

/// The guard of a server.
pub struct Guard {
    authenticator: Arc<dyn Authenticator>,
    clients_per_network: u32,
    revocations: Option<Shared<Revocations>>,
    state: Mutex<State>,
    /// Keeps all bans, where they outlive the server.
    keep: Mutex<Option<KeepBans>>,
}

/// A client that is admitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    pub identity: Identity,
    /// By which it may be revoked; `None` without a list of revocations.
    pub shown: Option<ShownToken>,
}

type KeepBans = Box<dyn Fn(&[Ban]) -> anyhow::Result<()> + Send>;

#[derive(Default)]
struct State {
    bans: Bans,
    /// How many clients of a network are in, and of all.
    clients: HashMap<Network, u32>,
    clients_in_all: usize,
    /// The limits of accounts that have arrived lately.
    arrivals: HashMap<Account, RateLimit<Instant>>,
    guesses: Guesses,
}

/// Why a client is not admitted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAdmitted {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("banned for another {seconds} seconds{reason}")]
    Banned { seconds: u64, reason: String },
    #[error("this network has shown too many wrong tokens; try again in {0} seconds")]
    Guessing(u64),
    #[error("this account connects too often; try again in {0} seconds")]
    TooOften(u64),
    #[error("there are {0} clients of this network already")]
    Crowded(u32),
}

impl NotAdmitted {
    /// The code with which the client is closed.
    pub fn close(&self) -> Close {
        match self {
            NotAdmitted::Rejected(rejection) => rejection.close(),
            NotAdmitted::Banned { .. } => Close::Banned,
            NotAdmitted::TooOften(_) => Close::TooOften,
            NotAdmitted::Guessing(_) | NotAdmitted::Crowded(_) => Close::Refused,
        }
    }
}

/// Why a change of bans failed.
#[derive(Debug, Error)]
pub enum BanError {
    #[error("there are too many bans")]
    TooMany,
    #[error("there is no ban of {0}")]
    None(Banned),
    #[error("this holds until the server ends, but not after that: {0:#}")]
    NotKept(anyhow::Error),
}

impl Guard {
    /// `clients_per_network` clients may be in from one IPv4 address or IPv6 /64.
    pub fn new(authenticator: Arc<dyn Authenticator>, clients_per_network: u32) -> Guard {
        Guard {
            authenticator,
            clients_per_network,
            revocations: None,
            state: Mutex::default(),
            keep: Mutex::default(),
        }
    }

    /// Refuses tokens of this list, which may change.
    pub fn revoking(self, revocations: Option<Shared<Revocations>>) -> Guard {
        Guard {
            revocations,
            ..self
        }
    }

    /// The tokens that are revoked now, where there is a list.
    pub fn revocations(&self) -> Option<Arc<Revocations>> {
        self.revocations.as_ref().map(Shared::get)
    }

    /// Takes over the bans of an earlier server. From now on, `keep` gets all that hold after
    /// each change.
    pub fn keep_bans(
        &self,
        bans: Vec<Ban>,
        now: Moment,
        keep: impl Fn(&[Ban]) -> anyhow::Result<()> + Send + 'static,
    ) {
        *self.keeping() = Some(Box::new(keep));
        self.state().bans = Bans::new(bans, now);
    }

    /// Admits a client, or returns why not. Every admitted client must [`Guard::leave`].
    pub fn admit(
        &self,
        credentials: &Credentials<'_>,
        address: IpAddr,
        now: Moment,
    ) -> Result<Admission, NotAdmitted> {
        let identity = self.authenticate(credentials, address, now)?;
        let shown = self.check_revocations(credentials.token, &identity)?;
        self.enter(&identity, address, now)?;
        Ok(Admission { identity, shown })
    }

    fn check_revocations(
        &self,
        token: &str,
        identity: &Identity,
    ) -> Result<Option<ShownToken>, Rejection> {
        let Some(revocations) = self.revocations() else {
            return Ok(None);
        };
        let shown = ShownToken {
            fingerprint: Fingerprint::of(token),
            account: identity.account.clone(),
            issued: self.authenticator.issued(token),
        };
        match revocations.is_revoked(&shown) {
            true => Err(Rejection::Revoked),
            false => Ok(Some(shown)),
        }
    }

    /// The account of a good token, whether or not it is admitted.
    pub fn account(&self, credentials: &Credentials<'_>, now: Moment) -> Option<Account> {
        self.authenticator
            .authenticate(credentials, now.date)
            .ok()?
            .account
    }

    /// Admits a client whose token is not checked, as its network has shown too many wrong ones. It
    /// must then resume a session with a ticket, which can't be guessed. Every admitted client must
    /// [`Guard::leave`].
    pub fn admit_by_ticket(&self, address: IpAddr, now: Moment) -> Result<Admission, NotAdmitted> {
        let guest = Admission::default();
        self.enter(&guest.identity, address, now)?;
        Ok(guest)
    }

    /// Admits a client that another process has authenticated. Every admitted client must
    /// [`Guard::leave`].
    pub fn admit_authenticated(
        &self,
        identity: &Identity,
        address: IpAddr,
        now: Moment,
    ) -> Result<(), NotAdmitted> {
        self.enter(identity, address, now)
    }

    /// The identity of these credentials. The guesses of a network are counted here, for all shards
    /// together.
    fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        address: IpAddr,
        now: Moment,
    ) -> Result<Identity, NotAdmitted> {
        // Before the check: many connections show tokens at the same time.
        let taken = self.state().guesses.take(address, now.steady);
        let over = |wait: Duration| NotAdmitted::Guessing(wait.as_secs() + 1);
        if let Err(wait) = taken
            && self.authenticator.is_guessable()
        {
            return Err(over(wait));
        }
        // The signature takes a while, and needs no lock.
        let found = self.authenticator.authenticate(credentials, now.date);
        match (found, taken) {
            (Err(rejection), Ok(())) if rejection.is_guess() => Err(rejection.into()),
            (Err(rejection), Err(wait)) if rejection.is_guess() => Err(over(wait)),
            (found, taken) => {
                if taken.is_ok() {
                    self.state().guesses.give_back(address, now.steady);
                }
                Ok(found?)
            }
        }
    }

    fn enter(&self, identity: &Identity, address: IpAddr, now: Moment) -> Result<(), NotAdmitted> {
        let mut state = self.state();
        if let Some((seconds, reason)) = state.bans.of(identity, address, now.steady) {
            let reason = match reason {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            return Err(NotAdmitted::Banned { seconds, reason });
        }
        let network = Network::of(address);
        let inside = state.clients.get(&network).copied().unwrap_or(0);
        if inside >= self.clients_per_network {
            return Err(NotAdmitted::Crowded(inside));
        }
        if let Some(account) = &identity.account {
            state.note_arrival(account, now.steady)?;
        }
        *state.clients.entry(network).or_default() += 1;
        state.clients_in_all += 1;
        Ok(())
    }

    /// An admitted client is gone. `address` is the one that it came from.
    pub fn leave(&self, address: IpAddr) {
        let network = Network::of(address);
        let mut state = self.state();
        if let Some(inside) = state.clients.get_mut(&network) {
            *inside -= 1;
            if *inside == 0 {
                state.clients.remove(&network);
            }
            state.clients_in_all -= 1;
        }
    }

    /// The clients that are in.
    pub fn clients(&self) -> usize {
        self.state().clients_in_all
    }

    /// Bans an account or a network for some time. The reason is for the player, and may be
    /// empty.
    pub fn ban(
        &self,
        whom: Banned,
        time: Duration,
        reason: String,
        now: Moment,
    ) -> Result<(), BanError> {
        self.change_bans(now, |bans| match bans.add(whom, time, reason, now) {
            true => Ok(()),
            false => Err(BanError::TooMany),
        })
    }

    /// Ends a ban.
    pub fn unban(&self, whom: &Banned, now: Moment) -> Result<(), BanError> {
        self.change_bans(now, |bans| match bans.lift(whom) {
            true => Ok(()),
            false => Err(BanError::None(whom.clone())),
        })
    }

    fn change_bans(
        &self,
        now: Moment,
        change: impl FnOnce(&mut Bans) -> Result<(), BanError>,
    ) -> Result<(), BanError> {
        // A disk is slow, and clients that come must not wait for it.
        let keeping = self.keeping();
        let bans = {
            let mut state = self.state();
            change(&mut state.bans)?;
            state.bans.all(now)
        };
        match &*keeping {
            Some(keep) => keep(&bans).map_err(BanError::NotKept),
            None => Ok(()),
        }
    }

    pub fn bans(&self, now: Moment) -> Vec<Ban> {
        self.state().bans.all(now)
    }

    fn keeping(&self) -> MutexGuard<'_, Option<KeepBans>> {
        self.keep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Limits how often an account is admitted: each time it replaces its earlier connection, which
    /// costs the world some work.
    fn note_arrival(&mut self, account: &Account, now: Instant) -> Result<(), NotAdmitted> {
        if self.arrivals.len() >= ACCOUNTS_MAX {
            self.arrivals.retain(|_, limit| !limit.is_whole(now));
        }
        let limit = self.arrivals.entry(account.clone());
        let limit = limit.or_insert_with(|| RateLimit::new(now));
        let at_once = ARRIVAL_INTERVAL * ARRIVALS_AT_ONCE;
        let taken = limit.take_or_wait(ARRIVAL_INTERVAL, now, at_once);
        taken.map_err(|wait| NotAdmitted::TooOften(wait.as_secs_f64().ceil() as u64))
    }
}

/// The admissions of an account at once, and then the seconds from one to the next.
const ARRIVALS_AT_ONCE: u32 = 10;
const ARRIVAL_INTERVAL: Duration = Duration::from_secs(5);
/// Recent arrivals are forgotten beyond this number of accounts.
const ACCOUNTS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_word::SharedWord;
    use crate::signed::{Claims, SignedTokens};

    fn start() -> Moment {
        Moment::now().dated(1000)
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn shown(token: &str) -> Credentials<'_> {
        Credentials {
            token,
            wished_name: "",
        }
    }

    fn alice(key: &SignedTokens) -> String {
        key.issue(&Claims {
            account: Account::new("alice").unwrap(),
            name: shared::Name::new("Alice").unwrap(),
            from: 0,
            until: 10_000,
        })
    }

    #[test]
    fn a_network_has_so_many_clients_and_another_one_its_own() {
        let guard = Guard::new(Arc::new(SharedWord::new("")), 2);
        let now = start();
        let come = |from| guard.admit(&shown(""), address(from), now).map(|_| ());
        assert_eq!([come("10.0.0.1"), come("10.0.0.1")], [Ok(()), Ok(())]);
        assert_eq!(come("10.0.0.1"), Err(NotAdmitted::Crowded(2)));
        assert_eq!([come("10.0.0.2"), come("2001:db8::1")], [Ok(()), Ok(())]);
        assert_eq!(come("2001:db8::2"), Ok(()));
        assert_eq!(come("2001:db8::3"), Err(NotAdmitted::Crowded(2)));
        guard.leave(address("10.0.0.1"));
        assert_eq!(come("10.0.0.1"), Ok(()));
    }

    #[test]
    fn an_account_comes_some_times_at_once_and_then_now_and_then() {
        let key = SignedTokens::new(&[7; 32]).unwrap();
        let token = alice(&key);
        let guard = Guard::new(Arc::new(key), u32::MAX);
        let now = start();
        let come = |now| guard.admit(&shown(&token), address("10.0.0.1"), now);
        for _ in 0..ARRIVALS_AT_ONCE {
            assert!(come(now).is_ok());
        }
        let interval = ARRIVAL_INTERVAL.as_secs();
        assert_eq!(come(now), Err(NotAdmitted::TooOften(interval)));
        // Setting the date makes it neither sooner nor later.
        assert_eq!(come(now.dated(5000)), Err(NotAdmitted::TooOften(interval)));
        assert_eq!(come(now.dated(1)), Err(NotAdmitted::TooOften(interval)));
        assert!(come(now.after(interval)).is_ok());
        assert!(come(now.after(interval)).is_err());
        assert!(come(now.after(2 * interval).dated(0)).is_ok());
        assert_eq!(
            come(now.after(9000)).unwrap_err().to_string(),
            "the token expired 0 seconds ago"
        );
    }

    #[test]
    fn a_banned_client_gets_duration_and_reason() {
        let guard = Guard::new(Arc::new(SharedWord::new("")), u32::MAX);
        let (from, now) = (address("10.0.0.1"), start());
        let whom = Banned::Network(Network::of(from));
        let minute = Duration::from_secs(60);
        guard
            .ban(whom.clone(), minute, "flooding".to_owned(), now)
            .unwrap();
        for refusal in [
            guard.admit(&Credentials::default(), from, now).unwrap_err(),
            guard.admit_by_ticket(from, now).unwrap_err(),
        ] {
            assert_eq!(
                refusal.to_string(),
                "banned for another 60 seconds: flooding"
            );
            assert_eq!(refusal.close(), Close::Banned);
        }
        assert_eq!(guard.bans(now).len(), 1);
        guard.unban(&whom, now).unwrap();
        assert!(matches!(
            guard.unban(&whom, now),
            Err(BanError::None(none)) if none == whom
        ));
        assert!(guard.admit(&Credentials::default(), from, now).is_ok());
    }

    #[test]
    fn a_revoked_token_is_refused_from_then_on_and_a_later_one_is_not() {
        let key = SignedTokens::new(&[7; 32]).unwrap();
        let token = |from| {
            key.issue(&Claims {
                account: Account::new("alice").unwrap(),
                name: shared::Name::new("Alice").unwrap(),
                from,
                until: 10_000,
            })
        };
        let (early, late) = (token(900), token(1000));
        let list = Shared::new(Arc::new(Revocations::default()));
        let checked = SignedTokens::new(&[7; 32]).unwrap();
        let guard = Guard::new(Arc::new(checked), 4).revoking(Some(list.clone()));
        let come = |token: &str| guard.admit(&shown(token), address("10.0.0.1"), start());
        let admitted = come(&early).unwrap().shown.expect("what it has shown");
        let revoked = Revocations::parse("before 1000 alice").unwrap();
        assert!(revoked.is_revoked(&admitted));
        list.set(Arc::new(revoked));
        // It is no guess, and takes no place.
        for _ in 0..20 {
            let refusal = come(&early).unwrap_err();
            assert_eq!(refusal, NotAdmitted::Rejected(Rejection::Revoked));
            assert_eq!(refusal.close(), Close::Unauthorized);
        }
        assert!(come(&late).is_ok());
    }

    /// How many of many tokens, shown by several threads at the same time, are checked.
    fn checked(guard: &Guard, from: &str, now: Moment) -> usize {
        let (from, checked) = (address(from), std::sync::atomic::AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (guard, checked) = (&guard, &checked);
                scope.spawn(move || {
                    for guess in 0..100 {
                        let guess = format!("guess-{thread}-{guess}");
                        let refused = guard.admit(&shown(&guess), from, now).unwrap_err();
                        if let NotAdmitted::Rejected(_) = refused {
                            checked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        checked.into_inner()
    }

    #[test]
    fn a_network_has_ten_guesses_at_all_shards_together() {
        let guard = Guard::new(Arc::new(SharedWord::new("open sesame")), u32::MAX);
        let now = start();
        assert_eq!(checked(&guard, "10.0.0.1", now), 10);
        let come = |from, now| guard.admit(&shown("open sesame"), address(from), now);
        // A short word can be guessed, so a right one is not accepted, either.
        let refusal = come("10.0.0.1", now).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "this network has shown too many wrong tokens; try again in 6 seconds"
        );
        assert_eq!(refusal.close(), Close::Refused);
        // A ticket is, and other networks are not affected.
        assert!(guard.admit_by_ticket(address("10.0.0.1"), now).is_ok());
        assert!(come("10.0.0.2", now).is_ok());
        assert_eq!(checked(&guard, "10.0.0.1", now.after(5)), 1);
        assert!(come("10.0.0.1", now.after(10).dated(0)).is_ok());
    }

    #[test]
    fn right_tokens_that_cannot_be_guessed_are_accepted_from_a_network_that_guesses() {
        let key = SignedTokens::new(&[7; 32]).unwrap();
        let token = alice(&key);
        let same = SignedTokens::new(&[7; 32]).unwrap();
        // As one from a file is.
        let renewed = Shared::<dyn Authenticator>::new(Arc::new(same));
        let (long, now) = ("0123456789abcdef", start());
        for (guard, right) in [
            (Guard::new(Arc::new(key), u32::MAX), token.as_str()),
            (Guard::new(Arc::new(renewed), u32::MAX), token.as_str()),
            (Guard::new(Arc::new(SharedWord::new(long)), u32::MAX), long),
            (Guard::new(Arc::new(SharedWord::new("")), u32::MAX), ""),
        ] {
            assert_eq!(checked(&guard, "10.0.0.1", now), 10);
            let right = guard.admit(&shown(right), address("10.0.0.1"), now);
            assert!(right.is_ok(), "{right:?}");
            assert_eq!(checked(&guard, "10.0.0.1", now), 0);
        }
    }
}
