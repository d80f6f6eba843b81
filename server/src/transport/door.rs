//! How many may stand before the hello, for how long, and how often a network may guess the
//! token. A handshake costs the server some hundred microseconds and 30 KB, and a stranger
//! next to nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Counts the connections of a shard that have not said hello.
#[derive(Debug, Default)]
pub struct Door {
    waiting: usize,
    by_network: HashMap<Network, usize>,
    /// When the wrong tokens of a network would have come at an even pace; those that were
    /// heard of lately.
    guesses: HashMap<Network, Instant>,
}

/// What to do with somebody who wants to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Enter,
    /// Come again with a proof of the address, so that nobody can use another's.
    Prove,
    /// There is no room.
    Away,
}

/// Addresses that probably belong to one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Network(IpAddr);

impl Door {
    /// Whether somebody may enter, whose address may be proven already.
    pub fn ask(&self, address: SocketAddr, is_proven: bool, now: Instant) -> Answer {
        let network = Network::of(address);
        let has_guessed = |paid: &Instant| *paid > now + GUESS_INTERVAL * (GUESSES_AT_ONCE - 1);
        if self.guesses.get(&network).is_some_and(has_guessed) {
            return Answer::Away;
        }
        let own = self.by_network.get(&network).copied().unwrap_or(0);
        match (self.waiting, is_proven) {
            (WAITING_MAX.., _) => Answer::Away,
            _ if own >= WAITING_OF_NETWORK_MAX => Answer::Away,
            (WAITING_UNPROVEN_MAX.., false) => Answer::Prove,
            _ => Answer::Enter,
        }
    }

    pub fn enter(&mut self, address: SocketAddr) {
        self.waiting += 1;
        *self.by_network.entry(Network::of(address)).or_default() += 1;
    }

    /// Somebody has said hello, or is gone. `address` is the one of [`Door::enter`].
    pub fn leave(&mut self, address: SocketAddr) {
        self.waiting -= 1;
        let network = Network::of(address);
        if let Some(own) = self.by_network.get_mut(&network) {
            *own -= 1;
            if *own == 0 {
                self.by_network.remove(&network);
            }
        }
    }

    /// Somebody at this address, which is proven, has shown a wrong token.
    pub fn note_guess(&mut self, address: SocketAddr, now: Instant) {
        if self.guesses.len() >= GUESSING_NETWORKS_MAX {
            self.guesses.retain(|_, paid| *paid > now);
        }
        if self.guesses.len() >= GUESSING_NETWORKS_MAX {
            // Whoever has this many networks can guess as well from others.
            return;
        }
        let paid = self.guesses.entry(Network::of(address)).or_insert(now);
        *paid = (*paid).max(now) + GUESS_INTERVAL;
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }
}

impl Network {
    fn of(address: SocketAddr) -> Network {
        match address.ip().to_canonical() {
            IpAddr::V4(address) => Network(address.into()),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                Network(IpAddr::from([a, b, c, d, 0, 0, 0, 0]))
            }
        }
    }
}

/// From the first packet to the hello.
pub const HELLO_WAIT: Duration = Duration::from_secs(5);
/// 30 MB a shard.
const WAITING_MAX: usize = 1024;
const WAITING_UNPROVEN_MAX: usize = WAITING_MAX / 4;
/// An address alone cannot shut the door.
const WAITING_OF_NETWORK_MAX: usize = WAITING_MAX / 2;
/// After some wrong tokens a network is not let in until an interval is over for each more.
const GUESSES_AT_ONCE: u32 = 10;
const GUESS_INTERVAL: Duration = Duration::from_secs(5);
const GUESSING_NETWORKS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_more_wait_the_less_a_stranger_is_believed() {
        let (mut door, now) = (Door::default(), Instant::now());
        for i in 0..WAITING_UNPROVEN_MAX {
            let stranger = address(&format!("10.0.{}.{}:1", i / 256, i % 256));
            assert_eq!(door.ask(stranger, false, now), Answer::Enter);
            door.enter(stranger);
        }
        assert_eq!(door.ask(address("10.9.9.9:1"), false, now), Answer::Prove);
        assert_eq!(door.ask(address("10.9.9.9:1"), true, now), Answer::Enter);
        door.leave(address("10.0.0.0:1"));
        assert_eq!(door.ask(address("10.9.9.9:1"), false, now), Answer::Enter);
    }

    #[test]
    fn no_network_can_take_all_places() {
        let (mut door, now) = (Door::default(), Instant::now());
        let own = |i: usize| address(&format!("[2001:db8::{i:x}]:{i}"));
        for i in 1..=WAITING_OF_NETWORK_MAX {
            door.enter(own(i));
        }
        assert_eq!(door.ask(own(5000), true, now), Answer::Away);
        assert_eq!(
            door.ask(address("[2001:db8:0:1::1]:1"), true, now),
            Answer::Enter
        );
        for i in 1..=WAITING_OF_NETWORK_MAX {
            door.leave(own(i));
        }
        assert_eq!(door.waiting(), 0);
        assert!(door.by_network.is_empty());
    }

    #[test]
    fn a_network_may_guess_the_token_a_few_times_and_then_now_and_then() {
        let (mut door, mut now) = (Door::default(), Instant::now());
        let (guesser, other) = (address("10.0.0.1:1"), address("10.0.0.2:1"));
        let mut guess = |times: u32, now| {
            let mut heard = 0;
            for _ in 0..times {
                if door.ask(guesser, true, now) == Answer::Enter {
                    door.note_guess(guesser, now);
                    heard += 1;
                }
                assert_eq!(door.ask(other, true, now), Answer::Enter);
            }
            heard
        };
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE);
        now += GUESS_INTERVAL;
        assert_eq!(guess(1000, now), 1);
        now += GUESS_INTERVAL * 3;
        assert_eq!(guess(1000, now), 3);
        now += GUESS_INTERVAL * 1000;
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE);
    }

    #[test]
    fn guesses_from_many_networks_take_bounded_memory() {
        let (mut door, now) = (Door::default(), Instant::now());
        for i in 0..100_000u32 {
            let [_, b, c, d] = i.to_be_bytes();
            door.note_guess(SocketAddr::from(([10, b, c, d], 1)), now);
        }
        assert_eq!(door.guesses.len(), GUESSING_NETWORKS_MAX);
        let later = now + 2 * GUESS_INTERVAL;
        door.note_guess(address("11.0.0.1:1"), later);
        assert_eq!(door.guesses.len(), 1);
    }
}
