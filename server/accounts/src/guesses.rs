//! How often a network may show a wrong token. Without a clock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use platform::rate_limit::RateLimit;

use super::network::Network;

/// The networks that have shown wrong tokens lately.
#[derive(Debug, Default)]
pub struct Guesses {
    limits: HashMap<Network, RateLimit<Instant>>,
}

impl Guesses {
    /// Lets a validated address show one more token, or returns the time until it may.
    pub fn take(&mut self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let network = Network::of(address);
        if !self.limits.contains_key(&network) && self.limits.len() >= GUESSING_NETWORKS_MAX {
            self.limits.retain(|_, limit| !limit.is_whole(now));
            if self.limits.len() >= GUESSING_NETWORKS_MAX {
                // An attacker with this many networks can guess as well from others.
                return Ok(());
            }
        }
        let limit = self.limits.entry(network);
        let limit = limit.or_insert_with(|| RateLimit::new(now));
        let at_once = GUESS_INTERVAL * GUESSES_AT_ONCE;
        limit.take_or_wait(GUESS_INTERVAL, now, at_once)
    }

    /// The token that an address showed was right.
    pub fn give_back(&mut self, address: IpAddr, now: Instant) {
        let network = Network::of(address);
        if let Some(limit) = self.limits.get_mut(&network) {
            limit.give_back(GUESS_INTERVAL);
            if limit.is_whole(now) {
                self.limits.remove(&network);
            }
        }
    }
}

/// After some wrong tokens, a network waits for an interval for each more.
pub const GUESSES_AT_ONCE: u32 = 10;
pub const GUESS_INTERVAL: Duration = Duration::from_secs(5);
/// A random word of this many bytes can't be guessed.
pub const WORD_BYTES_SAFE: usize = 16;
const GUESSING_NETWORKS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_from_many_networks_take_bounded_memory() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        for i in 0..100_000u32 {
            let [_, b, c, d] = i.to_be_bytes();
            guesses.take(IpAddr::from([10, b, c, d]), now).unwrap();
        }
        assert_eq!(guesses.limits.len(), GUESSING_NETWORKS_MAX);
        let later = now + 2 * GUESS_INTERVAL;
        guesses.take(IpAddr::from([11, 0, 0, 1]), later).unwrap();
        assert_eq!(guesses.limits.len(), 1);
    }

    #[test]
    fn a_network_may_guess_a_few_times_and_then_now_and_then() {
        let (mut guesses, mut now) = (Guesses::default(), Instant::now());
        let home = IpAddr::from([10, 0, 0, 1]);
        let mut guess = |times: u32, now| {
            (0..times)
                .filter(|_| guesses.take(home, now).is_ok())
                .count()
        };
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE as usize);
        now += GUESS_INTERVAL;
        assert_eq!(guess(1000, now), 1);
        now += GUESS_INTERVAL * 3;
        assert_eq!(guess(1000, now), 3);
        now += GUESS_INTERVAL * 1000;
        assert_eq!(guess(1000, now), GUESSES_AT_ONCE as usize);
    }

    #[test]
    fn right_tokens_use_up_no_guesses() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        let home = IpAddr::from([10, 0, 0, 1]);
        for _ in 1..GUESSES_AT_ONCE {
            guesses.take(home, now).unwrap();
        }
        for _ in 0..1000 {
            guesses.take(home, now).unwrap();
            guesses.give_back(home, now);
        }
        guesses.take(home, now).unwrap();
        assert_eq!(guesses.take(home, now), Err(GUESS_INTERVAL));
    }
}
