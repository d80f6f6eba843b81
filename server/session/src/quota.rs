//! A token bucket for a client's commands.

use shared::{Limits, Tick};

/// Tokens for commands: some for each tick, and more after a pause.
pub struct Quota {
    tokens: u32,
    per_tick: u32,
    burst: u32,
    /// The tick up to which tokens were added.
    filled: Tick,
}

impl Quota {
    /// A full bucket.
    pub fn new(limits: &Limits) -> Quota {
        Quota {
            tokens: limits.client_commands_burst,
            per_tick: limits.client_commands_per_tick,
            burst: limits.client_commands_burst,
            filled: Tick(0),
        }
    }

    /// Adds tokens from this tick on.
    pub fn start(&mut self, tick: Tick) {
        self.filled = tick;
    }

    /// Adds the tokens of the ticks since the latest one so far.
    pub fn fill(&mut self, tick: Tick) {
        let ticks = tick.since(self.filled);
        self.filled = self.filled.max(tick);
        let new = ticks.saturating_mul(self.per_tick);
        self.tokens = self.tokens.saturating_add(new).min(self.burst);
    }

    /// Takes a token for a command; false if none is left.
    pub fn take(&mut self) -> bool {
        let has_token = self.tokens > 0;
        self.tokens -= u32::from(has_token);
        has_token
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
            quota.fill(Tick(tick));
            std::iter::repeat_with(|| quota.take())
                .take_while(|&has_token| has_token)
                .count()
        };
        assert_eq!(taken(0), 5);
        assert_eq!(taken(0), 0);
        assert_eq!(taken(1), 2);
        assert_eq!(taken(3), 4);
        assert_eq!(taken(1000), 5);
    }
}
