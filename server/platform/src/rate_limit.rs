//! A rate limit: so much at once, and then an even rate. Without a clock.

use std::ops::{Add, Sub, SubAssign};

/// What one party has used of its limit. Moments are of any kind, and costs spans between them:
/// something that costs a second may be done once a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateLimit<M> {
    /// When all use so far would have come at the even rate.
    paid: M,
}

impl<M: Copy + Ord> RateLimit<M> {
    /// Unused, from now on.
    pub fn new(now: M) -> RateLimit<M> {
        RateLimit { paid: now }
    }

    /// Whether there is room for this now. `at_once` is the cost of all that may be done at once.
    pub fn has_room<D>(&self, cost: D, now: M, at_once: D) -> bool
    where
        M: Add<D, Output = M>,
    {
        self.paid.max(now) + cost <= now + at_once
    }

    /// Uses this much, if there is room for it; false if not.
    pub fn take<D: Copy>(&mut self, cost: D, now: M, at_once: D) -> bool
    where
        M: Add<D, Output = M>,
    {
        let has_room = self.has_room(cost, now, at_once);
        if has_room {
            self.paid = self.paid.max(now) + cost;
        }
        has_room
    }

    /// As [`RateLimit::take`]; without room the time until there is some, if nothing else is used
    /// meanwhile.
    pub fn take_or_wait<D: Copy>(&mut self, cost: D, now: M, at_once: D) -> Result<(), D>
    where
        M: Add<D, Output = M> + Sub<M, Output = D>,
    {
        match self.take(cost, now, at_once) {
            true => Ok(()),
            false => Err(self.paid.max(now) + cost - (now + at_once)),
        }
    }

    /// Gives back what was taken.
    pub fn give_back<D>(&mut self, cost: D)
    where
        M: SubAssign<D>,
    {
        self.paid -= cost;
    }

    /// Whether all of it may be used again.
    pub fn is_whole(&self, now: M) -> bool {
        self.paid <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_much_is_done_at_once_and_then_at_an_even_rate() {
        let mut limit = RateLimit::new(100_u64);
        let mut done = |from: u64, ticks: u64| {
            let tries = (from..from + ticks).flat_map(|now| [now; 3]);
            tries.filter(|&now| limit.take(10, now, 50)).count()
        };
        assert_eq!(done(100, 1), 3);
        assert_eq!(done(101, 1), 2);
        assert_eq!(done(102, 1000), 100);
        assert!(!limit.is_whole(1102));
        assert!(limit.is_whole(1200));
        assert!(limit.has_room(50, 1200, 50) && !limit.has_room(51, 1200, 50));
        assert!(limit.take(50, 1200, 50));
        assert_eq!(limit.take_or_wait(10, 1200, 50), Err(10));
        assert_eq!(limit.take_or_wait(10, 1207, 50), Err(3));
        limit.give_back(10);
        assert_eq!(limit.take_or_wait(10, 1200, 50), Ok(()));
    }
}
