//! When a lost client connects again.

use std::time::Duration;

use shared::world::mix::mix;

/// How a lost client tries to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// The wait before the first attempt of a client that was in the world.
    pub first: Duration,
    /// Each wait is twice as long as the one before, up to this.
    pub longest: Duration,
    /// So many attempts in a row fail before the client gives up: the first one, where there was
    /// no connection yet, is one of them.
    pub attempts: u32,
    /// Waits are up to a half shorter, by this number, so that clients that were lost
    /// together do not come back together.
    pub seed: u64,
}

impl Default for RetryOptions {
    fn default() -> RetryOptions {
        RetryOptions {
            first: Duration::from_millis(250),
            longest: Duration::from_secs(8),
            attempts: 10,
            seed: 0,
        }
    }
}

impl RetryOptions {
    /// Never tries again.
    pub const NEVER: RetryOptions = RetryOptions {
        first: Duration::ZERO,
        longest: Duration::ZERO,
        attempts: 0,
        seed: 0,
    };

    /// The wait after this many attempts in a row have failed, or `None` to give up.
    pub fn wait(&self, failed: u32) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << failed.min(30));
        let wait = doubled.min(self.longest);
        let shorter = mix(self.seed, u64::from(failed)) % 500;
        Some(wait.mul_f64(1.0 - shorter as f64 / 1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_end() {
        for seed in 0..100 {
            let options = RetryOptions {
                seed,
                ..RetryOptions::default()
            };
            for (failed, most_ms) in [250, 500, 1000, 2000, 4000, 8000, 8000]
                .into_iter()
                .enumerate()
            {
                let wait = options.wait(failed as u32).expect("another attempt");
                assert!(
                    wait <= Duration::from_millis(most_ms),
                    "seed {seed}: {wait:?}"
                );
                assert!(
                    wait >= Duration::from_millis(most_ms / 2),
                    "seed {seed}: {wait:?}"
                );
            }
            assert_eq!(options.wait(10), None);
        }
        assert_eq!(RetryOptions::NEVER.wait(0), None);
    }
}
