//! How often a network may show a wrong token. Without a clock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::network::Network;

/// The networks that have shown wrong tokens lately.
#[derive(Debug, Default)]
pub struct Guesses {
    /// When the wrong tokens of a network would have come at an even pace.
    paid: HashMap<Network, Instant>,
}

impl Guesses {
    /// Whether an address has shown too many wrong tokens to be heard now.
    pub fn are_over(&self, address: IpAddr, now: Instant) -> bool {
        let latest = now + GUESS_INTERVAL * (GUESSES_AT_ONCE - 1);
        let paid = self.paid.get(&Network::of(address));
        paid.is_some_and(|paid| *paid > latest)
    }

    /// Somebody at this address, which is proven, has shown a wrong token.
    pub fn note(&mut self, address: IpAddr, now: Instant) {
        if self.paid.len() >= GUESSING_NETWORKS_MAX {
            self.paid.retain(|_, paid| *paid > now);
        }
        if self.paid.len() >= GUESSING_NETWORKS_MAX {
            // An attacker with this many networks can guess as well from others.
            return;
        }
        let paid = self.paid.entry(Network::of(address)).or_insert(now);
        *paid = (*paid).max(now) + GUESS_INTERVAL;
    }
}

/// After some wrong tokens a network is not heard until an interval is over for each more.
pub const GUESSES_AT_ONCE: u32 = 10;
pub const GUESS_INTERVAL: Duration = Duration::from_secs(5);
const GUESSING_NETWORKS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_from_many_networks_take_bounded_memory() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        for i in 0..100_000u32 {
            let [_, b, c, d] = i.to_be_bytes();
            guesses.note(IpAddr::from([10, b, c, d]), now);
        }
        assert_eq!(guesses.paid.len(), GUESSING_NETWORKS_MAX);
        let later = now + 2 * GUESS_INTERVAL;
        guesses.note(IpAddr::from([11, 0, 0, 1]), later);
        assert_eq!(guesses.paid.len(), 1);
    }
}
