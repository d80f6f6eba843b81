//! How often a player may speak: some times at once, and then at an even pace. Counted in
//! ticks.
//!
//! A pace is that of an account, or of a guest. It outlives the session: an account has it when
//! it comes again, and of the guests of a network each that comes takes over what one that has
//! left it had still to wait.

use std::collections::HashMap;

use accounts::identity::Account;
use accounts::network::Network;
use shared::wire::control::Ticket;
use shared::{ClientRow, Tick};

/// The paces of all that spoke of late.
pub struct Paces {
    interval_ticks: u64,
    /// When what an account has said would have been said at an even pace, in ticks.
    accounts: HashMap<Account, u64>,
    /// The same of guests, by network. `None`: of those whose network is not known.
    guests: HashMap<Option<Network>, HashMap<Ticket, Guest>>,
    next_look: u64,
}

/// Who speaks.
#[derive(Clone, Debug)]
pub enum Speaker<'a> {
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
    paid: u64,
}

impl Paces {
    pub fn new(tick_hz: u32) -> Paces {
        Paces {
            interval_ticks: (u64::from(tick_hz) / TALKS_PER_SECOND).max(1),
            accounts: HashMap::new(),
            guests: HashMap::new(),
            next_look: 0,
        }
    }

    /// Whether somebody may speak now; it does then. `ticket_of` gives the first ticket of the
    /// client that a row stands for.
    pub fn take(
        &mut self,
        speaker: &Speaker<'_>,
        now: Tick,
        ticket_of: impl Fn(ClientRow) -> Option<Ticket>,
    ) -> bool {
        let now = now.0;
        self.forget_paid(now);
        let paid = match speaker {
            Speaker::Account(account) => match self.accounts.get_mut(*account) {
                Some(paid) => paid,
                None => self.accounts.entry((*account).clone()).or_insert(now),
            },
            &Speaker::Guest {
                client,
                ticket,
                network,
            } => {
                let guests = self.guests.entry(network).or_default();
                if !guests.contains_key(&ticket) {
                    let paid = take_over(guests, ticket_of).unwrap_or(now);
                    guests.insert(ticket, Guest { client, paid });
                }
                match guests.get_mut(&ticket) {
                    Some(guest) => &mut guest.paid,
                    None => return false,
                }
            }
        };
        let next = (*paid).max(now) + self.interval_ticks;
        let may_speak = next <= now + self.interval_ticks * TALKS_AT_ONCE;
        if may_speak {
            *paid = next;
        }
        may_speak
    }

    /// Forgets those that need not wait, now and then.
    fn forget_paid(&mut self, now: u64) {
        if now < self.next_look {
            return;
        }
        self.next_look = now + self.interval_ticks;
        self.accounts.retain(|_, paid| *paid > now);
        self.guests.retain(|_, guests| {
            guests.retain(|_, guest| guest.paid > now);
            !guests.is_empty()
        });
    }
}

/// The longest wait of the guests that have left.
fn take_over(
    guests: &mut HashMap<Ticket, Guest>,
    ticket_of: impl Fn(ClientRow) -> Option<Ticket>,
) -> Option<u64> {
    let all = guests.iter();
    let gone = all.filter(|(ticket, guest)| ticket_of(guest.client) != Some(**ticket));
    let (&ticket, _) = gone.max_by_key(|(ticket, guest)| (guest.paid, **ticket))?;
    guests.remove(&ticket).map(|guest| guest.paid)
}

const TALKS_PER_SECOND: u64 = 2;
const TALKS_AT_ONCE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest in a row, the one after so many others in it.
    fn guest(row: u32, others: u8, network: &str) -> Speaker<'static> {
        Speaker::Guest {
            client: ClientRow(row),
            ticket: [others; 16],
            network: Some(Network::of(network.parse().unwrap())),
        }
    }

    /// How often somebody speaks that tries in each of some ticks. All rows have the client that
    /// came after so many others.
    fn said(paces: &mut Paces, who: &Speaker<'_>, others: u8, from: u64, ticks: u64) -> u64 {
        let ticket_of = |_| Some([others; 16]);
        let ticks = from..from + ticks;
        let said = ticks.filter(|&tick| paces.take(who, Tick(tick), ticket_of));
        said.count() as u64
    }

    #[test]
    fn a_client_speaks_some_times_at_once_and_then_now_and_then() {
        let mut paces = Paces::new(20);
        let one = guest(1, 1, "10.0.0.1");
        assert_eq!(said(&mut paces, &one, 1, 100, 5), TALKS_AT_ONCE.min(5));
        assert_eq!(
            said(&mut paces, &one, 1, 105, 1000),
            TALKS_AT_ONCE - 5 + 100
        );
        let other = guest(2, 2, "10.0.0.2");
        assert_eq!(
            said(&mut paces, &other, 2, 105, 4),
            4,
            "each has its own pace"
        );
    }

    #[test]
    fn who_leaves_and_comes_back_has_the_same_pace() {
        let mut paces = Paces::new(20);
        let mut told = 0;
        for others in 0..100 {
            let again = guest(u32::from(others % 3), others, "10.0.0.1");
            told += said(&mut paces, &again, others, 100, 20);
        }
        assert_eq!(told, TALKS_AT_ONCE + 1, "as one that had stayed");
        // Another network has nothing to do with it.
        let other = guest(1, 100, "10.0.0.2");
        assert_eq!(said(&mut paces, &other, 100, 119, 1), 1);
        let account = Account::new("alice").unwrap();
        let alice = Speaker::Account(&account);
        assert_eq!(said(&mut paces, &alice, 0, 100, 20), TALKS_AT_ONCE + 1);
        assert_eq!(
            said(&mut paces, &alice, 1, 119, 1),
            0,
            "whichever session it is"
        );
    }

    #[test]
    fn guests_of_one_network_that_are_all_in_have_paces_of_their_own() {
        let mut paces = Paces::new(20);
        for row in 0..30 {
            let ticket_of = |row: ClientRow| Some([row.0 as u8; 16]);
            let one = guest(row, row as u8, "10.0.0.1");
            let spoken = (0..20).filter(|_| paces.take(&one, Tick(100), ticket_of));
            assert_eq!(spoken.count() as u64, TALKS_AT_ONCE);
        }
    }

    #[test]
    fn those_that_have_waited_long_enough_are_forgotten() {
        let mut paces = Paces::new(20);
        for others in 0..200 {
            let one = guest(1, others, &format!("10.0.0.{others}"));
            said(&mut paces, &one, others, 100, 1);
        }
        let account = Account::new("alice").unwrap();
        said(&mut paces, &Speaker::Account(&account), 0, 1000, 1);
        assert!(paces.guests.is_empty());
        assert_eq!(paces.accounts.len(), 1);
    }
}
