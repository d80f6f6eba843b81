//! All that stands between a hello and the world: who it is, whether they are banned, and
//! how many of an account or a network may come. All shards share one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::wire::close::Close;
use thiserror::Error;

use super::authenticator::{Authenticator, Credentials, Rejection, UnixTime};
use super::bans::{Ban, Banned, Bans};
use super::identity::{Account, Identity};
use super::network::Network;

/// The guard of a server.
pub struct Guard {
    authenticator: Arc<dyn Authenticator>,
    clients_per_network: u32,
    state: Mutex<State>,
    /// Keeps all bans, where they outlive the server.
    keep: Mutex<Option<KeepBans>>,
}

type KeepBans = Box<dyn Fn(&[Ban]) -> anyhow::Result<()> + Send>;

#[derive(Default)]
struct State {
    bans: Bans,
    /// How many clients of a network are in.
    clients: HashMap<Network, u32>,
    /// When the arrivals of an account would have come at an even pace; those of late.
    arrivals: HashMap<Account, u64>,
}

/// Why a client may not come in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAdmitted {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error("banned for another {seconds} seconds{reason}")]
    Banned { seconds: u64, reason: String },
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
            NotAdmitted::TooOften(_) | NotAdmitted::Crowded(_) => Close::Refused,
        }
    }
}

/// Why bans are not as they should be.
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
            state: Mutex::default(),
            keep: Mutex::default(),
        }
    }

    /// Takes over the bans of an earlier server. From now on, `keep` gets all that hold after
    /// each change.
    pub fn keep_bans(
        &self,
        bans: Vec<Ban>,
        keep: impl Fn(&[Ban]) -> anyhow::Result<()> + Send + 'static,
    ) {
        *self.keeping() = Some(Box::new(keep));
        self.state().bans = Bans::new(bans);
    }

    /// Lets a client in, or says why not. Who is let in must [`Guard::leave`].
    pub fn admit(
        &self,
        credentials: &Credentials<'_>,
        address: IpAddr,
        now: UnixTime,
    ) -> Result<Identity, NotAdmitted> {
        // The signature takes a while, and needs no lock.
        let identity = self.authenticator.authenticate(credentials, now)?;
        let mut state = self.state();
        if let Some(ban) = state.bans.of(&identity, address, now) {
            let reason = match ban.reason.as_str() {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            let seconds = ban.until - now.0;
            return Err(NotAdmitted::Banned { seconds, reason });
        }
        let network = Network::of(address);
        let inside = state.clients.get(&network).copied().unwrap_or(0);
        if inside >= self.clients_per_network {
            return Err(NotAdmitted::Crowded(inside));
        }
        if let Some(account) = &identity.account {
            state.note_arrival(account, now)?;
        }
        *state.clients.entry(network).or_default() += 1;
        Ok(identity)
    }

    /// A client that was let in is gone. `address` is the one that it came from.
    pub fn leave(&self, address: IpAddr) {
        let network = Network::of(address);
        let mut state = self.state();
        if let Some(inside) = state.clients.get_mut(&network) {
            *inside -= 1;
            if *inside == 0 {
                state.clients.remove(&network);
            }
        }
    }

    /// Keeps an account or a network out.
    pub fn ban(&self, ban: Ban, now: UnixTime) -> Result<(), BanError> {
        self.change_bans(now, |bans| match bans.add(ban, now) {
            true => Ok(()),
            false => Err(BanError::TooMany),
        })
    }

    /// Ends a ban.
    pub fn unban(&self, whom: &Banned, now: UnixTime) -> Result<(), BanError> {
        self.change_bans(now, |bans| match bans.lift(whom) {
            true => Ok(()),
            false => Err(BanError::None(whom.clone())),
        })
    }

    fn change_bans(
        &self,
        now: UnixTime,
        change: impl FnOnce(&mut Bans) -> Result<(), BanError>,
    ) -> Result<(), BanError> {
        // A disk is slow, and clients that come must not wait for it.
        let keeping = self.keeping();
        let bans = {
            let mut state = self.state();
            change(&mut state.bans)?;
            state.bans.all(now).to_vec()
        };
        match &*keeping {
            Some(keep) => keep(&bans).map_err(BanError::NotKept),
            None => Ok(()),
        }
    }

    pub fn bans(&self, now: UnixTime) -> Vec<Ban> {
        self.state().bans.all(now).to_vec()
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
    /// An account comes in: each time it takes the place of its earlier connection, which
    /// costs the world some work.
    fn note_arrival(&mut self, account: &Account, now: UnixTime) -> Result<(), NotAdmitted> {
        if self.arrivals.len() >= ACCOUNTS_MAX {
            self.arrivals.retain(|_, paid| *paid > now.0);
        }
        let before = self.arrivals.get(account).copied().unwrap_or(0);
        let paid = before.max(now.0) + ARRIVAL_SECONDS;
        let latest = now.0 + ARRIVAL_SECONDS * ARRIVALS_AT_ONCE;
        if paid > latest {
            return Err(NotAdmitted::TooOften(paid - latest));
        }
        self.arrivals.insert(account.clone(), paid);
        Ok(())
    }
}

/// An account comes so many times at once, and then one time in so many seconds.
const ARRIVALS_AT_ONCE: u64 = 10;
const ARRIVAL_SECONDS: u64 = 5;
/// Accounts that have come of late are forgotten beyond this number.
const ACCOUNTS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::shared_word::SharedWord;
    use crate::accounts::signed::{Claims, SignedTokens};

    const NOW: UnixTime = UnixTime(1000);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_network_has_so_many_clients_and_another_one_its_own() {
        let guard = Guard::new(Arc::new(SharedWord::new("")), 2);
        let open = Credentials::default();
        let come = |from| guard.admit(&open, address(from), NOW).map(|_| ());
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
        let token = key.issue(&Claims {
            account: Account::new("alice").unwrap(),
            name: shared::Name::new("Alice").unwrap(),
            from: 0,
            until: 10_000,
        });
        let guard = Guard::new(Arc::new(key), u32::MAX);
        let credentials = Credentials {
            token: &token,
            wished_name: "",
        };
        let come = |now| guard.admit(&credentials, address("10.0.0.1"), UnixTime(now));
        for _ in 0..ARRIVALS_AT_ONCE {
            assert!(come(1000).is_ok());
        }
        assert_eq!(come(1000), Err(NotAdmitted::TooOften(ARRIVAL_SECONDS)));
        assert!(come(1000 + ARRIVAL_SECONDS).is_ok());
        assert!(come(1000 + ARRIVAL_SECONDS).is_err());
        assert_eq!(
            come(10_000).unwrap_err().to_string(),
            "the token expired 0 seconds ago"
        );
    }

    #[test]
    fn who_is_banned_is_told_for_how_long_and_why() {
        let guard = Guard::new(Arc::new(SharedWord::new("")), u32::MAX);
        let from = address("10.0.0.1");
        let whom = Banned::Network(Network::of(from));
        let ban = Ban {
            whom: whom.clone(),
            until: 1060,
            reason: "flooding".to_owned(),
        };
        guard.ban(ban, NOW).unwrap();
        let refusal = guard.admit(&Credentials::default(), from, NOW).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "banned for another 60 seconds: flooding"
        );
        assert_eq!(refusal.close(), Close::Banned);
        assert_eq!(guard.bans(NOW).len(), 1);
        guard.unban(&whom, NOW).unwrap();
        assert!(matches!(
            guard.unban(&whom, NOW),
            Err(BanError::None(none)) if none == whom
        ));
        assert!(guard.admit(&Credentials::default(), from, NOW).is_ok());
    }
}
