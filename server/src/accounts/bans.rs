//! Accounts and networks that stay out for a time.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::authenticator::UnixTime;
use super::identity::{Account, Identity};
use super::network::Network;

/// The bans of a server.
#[derive(Debug, Default)]
pub struct Bans(Vec<Ban>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    pub whom: Banned,
    /// Seconds since 1970.
    pub until: u64,
    /// For the player; may be empty.
    pub reason: String,
}

/// Who stays out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Banned {
    Account(Account),
    Network(Network),
}

impl Banned {
    pub fn concerns(&self, identity: &Identity, address: IpAddr) -> bool {
        match self {
            Banned::Account(account) => identity.account.as_ref() == Some(account),
            Banned::Network(network) => network.holds(address),
        }
    }
}

impl std::fmt::Display for Banned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Banned::Account(account) => write!(f, "account {account}"),
            Banned::Network(network) => write!(f, "network {network}"),
        }
    }
}

impl Bans {
    /// Those that an earlier server had.
    pub fn new(bans: Vec<Ban>) -> Bans {
        Bans(bans)
    }

    /// Adds a ban, or gives an old one another end. False if there are too many.
    pub fn add(&mut self, ban: Ban, now: UnixTime) -> bool {
        self.lift(&ban.whom);
        self.forget(now);
        let has_room = self.0.len() < BANS_MAX;
        if has_room {
            self.0.push(ban);
        }
        has_room
    }

    /// Ends a ban early. False if there is none.
    pub fn lift(&mut self, whom: &Banned) -> bool {
        let before = self.0.len();
        self.0.retain(|ban| ban.whom != *whom);
        self.0.len() < before
    }

    /// Those that hold now, the oldest first.
    pub fn all(&mut self, now: UnixTime) -> &[Ban] {
        self.forget(now);
        &self.0
    }

    /// The longest ban that keeps a client out.
    pub fn of(&self, identity: &Identity, address: IpAddr, now: UnixTime) -> Option<&Ban> {
        let holding = self.0.iter().filter(|ban| ban.until > now.0);
        let concerning = holding.filter(|ban| ban.whom.concerns(identity, address));
        concerning.max_by_key(|ban| ban.until)
    }

    fn forget(&mut self, now: UnixTime) {
        self.0.retain(|ban| ban.until > now.0);
    }
}

/// Each is compared with each hello.
const BANS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ban_keeps_an_account_or_a_network_out_until_its_end() {
        let (now, mut bans) = (UnixTime(1000), Bans::default());
        let alice = || Account::new("alice").unwrap();
        let ban = |whom, until| Ban {
            whom,
            until,
            reason: "rude".to_owned(),
        };
        let office = || Banned::Network("10.1.0.0/16".parse().unwrap());
        assert!(bans.add(ban(Banned::Account(alice()), 1100), now));
        assert!(bans.add(ban(office(), 1300), now));
        let who = |account: Option<Account>| Identity {
            account,
            name: None,
        };
        let until = |bans: &Bans, who: &Identity, from: &str, now| {
            let ban = bans.of(who, from.parse().unwrap(), UnixTime(now));
            ban.map(|ban| ban.until)
        };
        let (named, guest) = (who(Some(alice())), who(None));
        assert_eq!(until(&bans, &named, "10.9.9.9", 1099), Some(1100));
        assert_eq!(until(&bans, &named, "10.9.9.9", 1100), None);
        assert_eq!(until(&bans, &named, "10.1.9.9", 1000), Some(1300));
        assert_eq!(until(&bans, &guest, "10.1.9.9", 1000), Some(1300));
        assert_eq!(until(&bans, &guest, "10.9.9.9", 1000), None);
        assert!(bans.lift(&office()) && !bans.lift(&office()));
        assert_eq!(until(&bans, &guest, "10.1.9.9", 1000), None);
        assert_eq!(bans.all(UnixTime(1050)).len(), 1);
        assert_eq!(bans.all(UnixTime(1100)).len(), 0);
    }
}
