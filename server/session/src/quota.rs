//! The rate limit of a client's commands: so many in each tick, and more after a pause.

use platform::rate_limit::RateLimit;
use shared::{Limits, Tick};

/// A client's quota of commands. Moments are ticks, in commands of the even rate.
pub struct Quota {
    limit: RateLimit<u64>,
    per_tick: u64,
    burst: u64,
    /// The newest tick of a command. Those of earlier ticks count as of this one.
    newest: Tick,
}

impl Quota {
    pub fn new(limits: &Limits) -> Quota {
        Quota {
            limit: RateLimit::default(),
            per_tick: u64::from(limits.client_commands_per_tick),
            burst: u64::from(limits.client_commands_burst),
            newest: Tick(0),
        }
    }

    /// Takes a command of a tick; false if it is beyond the quota.
    pub fn take(&mut self, tick: Tick) -> bool {
        self.newest = self.newest.max(tick);
        let now = self.newest.0.saturating_mul(self.per_tick);
        self.limit.take(1, now, self.burst)
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_burst_is_allowed_after_a_pause_and_then_some_commands_a_tick() {
        let limits = Limits {
            client_commands_per_tick: 2,
            client_commands_burst: 5,
            ..world_file::default().limits
        };
        let mut quota = Quota::new(&limits);
        let mut taken = |tick| {
            std::iter::repeat_with(|| quota.take(Tick(tick)))
                .take_while(|&is_within| is_within)
                .count()
        };
        assert_eq!(taken(0), 5);
        assert_eq!(taken(0), 0);
        assert_eq!(taken(1), 2);
        assert_eq!(taken(3), 4);
        assert_eq!(taken(2), 0);
        assert_eq!(taken(1000), 5);
    }
}
