//! Accounts and networks that are banned for a time.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::identity::{Account, Identity};
use super::moment::Moment;
use super::network::Network;

/// The bans of a server. They end by the steady clock: setting the date of the machine neither
/// ends nor prolongs them.
#[derive(Debug, Default)]
pub struct Bans(Vec<Holding>);

/// A ban of this server.
#[derive(Clone, Debug)]
struct Holding {
    whom: Banned,
    ends: Instant,
    reason: String,
}

/// A ban, as it is shown and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    pub whom: Banned,
    /// Seconds since 1970.
    pub until: u64,
    /// For the player; may be empty.
    pub reason: String,
}

/// The account or network that is banned.
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
    /// The bans of an earlier server.
    pub fn new(bans: Vec<Ban>, now: Moment) -> Bans {
        let holding = bans.into_iter().map(|ban| {
            let left = ban.until.saturating_sub(now.date.0).min(BAN_SECONDS_MAX);
            Holding {
                whom: ban.whom,
                ends: now.steady + Duration::from_secs(left),
                reason: ban.reason,
            }
        });
        Bans(holding.collect())
    }

    /// Adds a ban, or changes the end of an old one. False if there are too many.
    pub fn add(&mut self, whom: Banned, time: Duration, reason: String, now: Moment) -> bool {
        self.lift(&whom);
        self.forget(now.steady);
        let has_room = self.0.len() < BANS_MAX;
        if has_room {
            let time = time.min(Duration::from_secs(BAN_SECONDS_MAX));
            let ends = now.steady + time;
            self.0.push(Holding { whom, ends, reason });
        }
        has_room
    }

    /// Ends a ban early. False if there is none.
    pub fn lift(&mut self, whom: &Banned) -> bool {
        let before = self.0.len();
        self.0.retain(|ban| ban.whom != *whom);
        self.0.len() < before
    }

    /// Those that hold now, the oldest first, with their ends by the date of now.
    pub fn all(&mut self, now: Moment) -> Vec<Ban> {
        self.forget(now.steady);
        let shown = self.0.iter().map(|ban| Ban {
            whom: ban.whom.clone(),
            until: now.date.0 + ban.seconds_left(now.steady),
            reason: ban.reason.clone(),
        });
        shown.collect()
    }

    /// The longest ban that keeps a client out: for how many seconds, and why.
    pub fn of(&self, identity: &Identity, address: IpAddr, now: Instant) -> Option<(u64, &str)> {
        let holding = self.0.iter().filter(|ban| ban.ends > now);
        let concerning = holding.filter(|ban| ban.whom.concerns(identity, address));
        let longest = concerning.max_by_key(|ban| ban.ends)?;
        Some((longest.seconds_left(now), &longest.reason))
    }

    fn forget(&mut self, now: Instant) {
        self.0.retain(|ban| ban.ends > now);
    }
}

impl Holding {
    /// The last one that has begun counts.
    fn seconds_left(&self, now: Instant) -> u64 {
        let left = self.ends.saturating_duration_since(now);
        left.as_secs() + u64::from(left.subsec_nanos() > 0)
    }
}

/// A hundred years.
pub const BAN_SECONDS_MAX: u64 = 36_500 * 86_400;
/// Each is compared with each hello.
const BANS_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Moment {
        Moment::now().dated(1000)
    }

    #[test]
    fn a_ban_keeps_an_account_or_a_network_out_until_its_end() {
        let (now, mut bans) = (start(), Bans::default());
        let alice = || Account::new("alice").unwrap();
        let mut ban = |whom, seconds| {
            let time = Duration::from_secs(seconds);
            assert!(bans.add(whom, time, "rude".to_owned(), now));
        };
        let office = || Banned::Network("10.1.0.0/16".parse().unwrap());
        ban(Banned::Account(alice()), 100);
        ban(office(), 300);
        let who = |account: Option<Account>| Identity {
            account,
            name: None,
        };
        let left = |bans: &Bans, who: &Identity, from: &str, passed| {
            let ban = bans.of(who, from.parse().unwrap(), now.after(passed).steady);
            ban.map(|(seconds, _)| seconds)
        };
        let (named, guest) = (who(Some(alice())), who(None));
        assert_eq!(left(&bans, &named, "10.9.9.9", 99), Some(1));
        assert_eq!(left(&bans, &named, "10.9.9.9", 100), None);
        assert_eq!(left(&bans, &named, "10.1.9.9", 0), Some(300));
        assert_eq!(left(&bans, &guest, "10.1.9.9", 0), Some(300));
        assert_eq!(left(&bans, &guest, "10.9.9.9", 0), None);
        assert!(bans.lift(&office()) && !bans.lift(&office()));
        assert_eq!(left(&bans, &guest, "10.1.9.9", 0), None);
        assert_eq!(bans.all(now.after(50)).len(), 1);
        assert_eq!(bans.all(now.after(100)).len(), 0);
    }

    #[test]
    fn a_ban_holds_as_long_whatever_is_done_to_the_date() {
        let (now, mut bans) = (start(), Bans::default());
        let whom = || Banned::Network("10.1.0.0/16".parse().unwrap());
        bans.add(whom(), Duration::from_secs(100), String::new(), now);
        for date in [0, 1, 1_000_000_000] {
            let later = now.after(99).dated(date);
            assert_eq!(bans.all(later)[0].until, date + 1);
        }
        // The next server has the rest of the time.
        let kept = bans.all(now.after(40).dated(7000));
        let next = Bans::new(kept, now.dated(7010));
        let from = IpAddr::from([10, 1, 0, 1]);
        let left = next.of(&Identity::default(), from, now.steady);
        assert_eq!(left, Some((50, "")));
        assert!(bans.all(now.after(100).dated(0)).is_empty());
    }

    #[test]
    fn a_file_of_bans_without_an_end_is_read() {
        let forever = Ban {
            whom: Banned::Network("10.1.0.0/16".parse().unwrap()),
            until: u64::MAX,
            reason: String::new(),
        };
        let mut bans = Bans::new(vec![forever], start());
        assert_eq!(bans.all(start()).len(), 1);
    }
}
