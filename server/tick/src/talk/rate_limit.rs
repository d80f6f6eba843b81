//! The rate limit of speakers: a burst, and then an even rate. Counted in ticks.
//!
//! Each account and each guest has a limit. It outlives the session: an account has the same one
//! when it joins again, and a new guest inherits the limit of a guest of its network that has left.

use std::collections::HashMap;

use accounts::identity::Account;
use accounts::network::Network;
use platform::rate_limit::RateLimit;
use shared::wire::control::Ticket;
use shared::{ClientRow, Tick};

/// The limits of recent speakers.
pub struct RateLimits {
    interval_ticks: u64,
    accounts: HashMap<Account, RateLimit<u64>>,
    /// The same of guests, by network; `None`: unknown.
    guests: HashMap<Option<Network>, HashMap<Ticket, Guest>>,
    next_cleanup: u64,
}

/// Identifies a speaker.
#[derive(Clone, Debug)]
pub enum RateKey<'a> {
    Account(&'a Account),
    Guest {
        client: ClientRow,
        /// The first ticket of its client.
        ticket: Ticket,
        network: Option<Network>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Guest {
    client: ClientRow,
    limit: RateLimit<u64>,
}

impl RateLimits {
    pub fn new(tick_hz: u32) -> RateLimits {
        RateLimits {
            interval_ticks: (u64::from(tick_hz) / TALKS_PER_SECOND).max(1),
            accounts: HashMap::new(),
            guests: HashMap::new(),
            next_cleanup: 0,
        }
    }

    /// Takes one message from a speaker's limit; false if it must wait. `ticket_of` gives the
    /// first ticket of a row's client.
    pub fn take(
        &mut self,
        speaker: &RateKey<'_>,
        now: Tick,
        ticket_of: impl Fn(ClientRow) -> Option<Ticket>,
    ) -> bool {
        let now = now.0;
        self.forget_whole(now);
        let new = RateLimit::new(now);
        let limit = match speaker {
            RateKey::Account(account) => match self.accounts.get_mut(*account) {
                Some(limit) => limit,
                None => self.accounts.entry((*account).clone()).or_insert(new),
            },
            &RateKey::Guest {
                client,
                ticket,
                network,
            } => {
                let guests = self.guests.entry(network).or_default();
                if !guests.contains_key(&ticket) {
                    let limit = take_over(guests, ticket_of).unwrap_or(new);
                    guests.insert(ticket, Guest { client, limit });
                }
                match guests.get_mut(&ticket) {
                    Some(guest) => &mut guest.limit,
                    None => return false,
                }
            }
        };
        let at_once = self.interval_ticks * TALKS_AT_ONCE;
        limit.take(self.interval_ticks, now, at_once)
    }

    /// Drops limits that are full again, now and then.
    fn forget_whole(&mut self, now: u64) {
        if now < self.next_cleanup {
            return;
        }
        self.next_cleanup = now + self.interval_ticks;
        self.accounts.retain(|_, limit| !limit.is_whole(now));
        self.guests.retain(|_, guests| {
            guests.retain(|_, guest| !guest.limit.is_whole(now));
            !guests.is_empty()
        });
    }
}

/// Removes the longest wait among the guests that have left, and returns it.
fn take_over(
    guests: &mut HashMap<Ticket, Guest>,
    ticket_of: impl Fn(ClientRow) -> Option<Ticket>,
) -> Option<RateLimit<u64>> {
    let all = guests.iter();
    let gone = all.filter(|(ticket, guest)| ticket_of(guest.client) != Some(**ticket));
    let (&ticket, _) = gone.max_by_key(|(ticket, guest)| (guest.limit, **ticket))?;
    guests.remove(&ticket).map(|guest| guest.limit)
}

const TALKS_PER_SECOND: u64 = 2;
const TALKS_AT_ONCE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest in a row, after `others` in the same row.
    fn guest(row: u32, others: u8, network: &str) -> RateKey<'static> {
        RateKey::Guest {
            client: ClientRow(row),
            ticket: [others; 16],
            network: Some(Network::of(network.parse().unwrap())),
        }
    }

    /// How often a speaker that tries in each tick may speak. All rows have the client that
    /// came after `others`.
    fn said(limits: &mut RateLimits, who: &RateKey<'_>, others: u8, from: u64, ticks: u64) -> u64 {
        let ticket_of = |_| Some([others; 16]);
        let ticks = from..from + ticks;
        let said = ticks.filter(|&tick| limits.take(who, Tick(tick), ticket_of));
        said.count() as u64
    }

    #[test]
    fn a_client_speaks_some_times_at_once_and_then_now_and_then() {
        let mut limits = RateLimits::new(20);
        let one = guest(1, 1, "10.0.0.1");
        assert_eq!(said(&mut limits, &one, 1, 100, 5), TALKS_AT_ONCE.min(5));
        assert_eq!(
            said(&mut limits, &one, 1, 105, 1000),
            TALKS_AT_ONCE - 5 + 100
        );
        let other = guest(2, 2, "10.0.0.2");
        assert_eq!(
            said(&mut limits, &other, 2, 105, 4),
            4,
            "each has its own limit"
        );
    }

    #[test]
    fn a_speaker_that_leaves_and_joins_again_has_the_same_limit() {
        let mut limits = RateLimits::new(20);
        let mut sent = 0;
        for others in 0..100 {
            let again = guest(u32::from(others % 3), others, "10.0.0.1");
            sent += said(&mut limits, &again, others, 100, 20);
        }
        assert_eq!(sent, TALKS_AT_ONCE + 1, "as one that had stayed");
        // Another network has its own limit.
        let other = guest(1, 100, "10.0.0.2");
        assert_eq!(said(&mut limits, &other, 100, 119, 1), 1);
        let account = Account::new("alice").unwrap();
        let alice = RateKey::Account(&account);
        assert_eq!(said(&mut limits, &alice, 0, 100, 20), TALKS_AT_ONCE + 1);
        assert_eq!(
            said(&mut limits, &alice, 1, 119, 1),
            0,
            "whichever session it is"
        );
    }

    #[test]
    fn guests_of_one_network_at_the_same_time_have_their_own_limits() {
        let mut limits = RateLimits::new(20);
        for row in 0..30 {
            let ticket_of = |row: ClientRow| Some([row.0 as u8; 16]);
            let one = guest(row, row as u8, "10.0.0.1");
            let spoken = (0..20).filter(|_| limits.take(&one, Tick(100), ticket_of));
            assert_eq!(spoken.count() as u64, TALKS_AT_ONCE);
        }
    }

    #[test]
    fn limits_that_are_full_again_are_dropped() {
        let mut limits = RateLimits::new(20);
        for others in 0..200 {
            let one = guest(1, others, &format!("10.0.0.{others}"));
            said(&mut limits, &one, others, 100, 1);
        }
        let account = Account::new("alice").unwrap();
        said(&mut limits, &RateKey::Account(&account), 0, 1000, 1);
        assert!(limits.guests.is_empty());
        assert_eq!(limits.accounts.len(), 1);
    }
}
