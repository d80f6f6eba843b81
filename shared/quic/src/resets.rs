//! How many connections of an endpoint before it an endpoint resets: all at once after a crash,
//! since their packets come in one burst. Each reset is shorter than the packet that it answers,
//! so it amplifies nothing; still, packets with invented senders are answered at an even rate only.

use std::time::{Duration, Instant};

/// What is left of the burst.
#[derive(Debug, Default)]
pub struct Resets {
    /// When all resets so far would have been sent at the even rate.
    paid: Option<Instant>,
}

impl Resets {
    /// Whether one more may be sent now.
    pub fn allow(&mut self, now: Instant) -> bool {
        let paid = self.paid.map_or(now, |paid| paid.max(now)) + COST;
        let is_allowed = paid <= now + COST * AT_ONCE;
        if is_allowed {
            self.paid = Some(paid);
        }
        is_allowed
    }
}

/// As many as a world has clients at most; more than one packet of each may come before its reset.
const AT_ONCE: u32 = 1 << 17;
/// Of one reset, at the even rate: some 16,000 a second.
const COST: Duration = Duration::from_micros(61);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_at_once_and_then_an_even_rate() {
        let (mut resets, now) = (Resets::default(), Instant::now());
        let mut allowed = |after: Duration| {
            let tries = 0..2 * AT_ONCE;
            tries.filter(|_| resets.allow(now + after)).count()
        };
        assert_eq!(allowed(Duration::ZERO), AT_ONCE as usize);
        let second = Duration::from_secs(1);
        let even = (second.as_nanos() / COST.as_nanos()) as usize;
        assert_eq!(allowed(second), even);
        assert_eq!(allowed(Duration::from_secs(3600)), AT_ONCE as usize);
    }
}
