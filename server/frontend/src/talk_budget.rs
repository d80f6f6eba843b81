//! A rate limit on the talk of others that a listener receives: a burst of bytes, then a rate, for
//! all speakers together. Counted in ticks.

use platform::rate_limit::RateLimit;
use shared::Tick;

/// The budget of one listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct TalkBudget(RateLimit<u64>);

impl TalkBudget {
    /// Takes this many bytes if they are within the budget; false if not.
    pub fn take(&mut self, bytes: usize, now: Tick, tick_hz: u32) -> bool {
        self.0
            .take(bytes as u64, moment(now, tick_hz), BYTES_AT_ONCE)
    }

    /// Whether the budget is full again.
    pub fn is_whole(&self, now: Tick, tick_hz: u32) -> bool {
        self.0.is_whole(moment(now, tick_hz))
    }
}

/// A tick in bytes of the even rate.
fn moment(tick: Tick, tick_hz: u32) -> u64 {
    tick.0.saturating_mul(BYTES_PER_SECOND) / u64::from(tick_hz.max(1))
}

/// A narrow link of today carries this beside the game: 32 kbit/s.
pub const BYTES_PER_SECOND: u64 = 4096;
/// Far below the unread bytes that a client may have.
pub const BYTES_AT_ONCE: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_receives_so_much_at_once_and_then_so_much_a_second() {
        for tick_hz in [1, 20, 1000] {
            let mut budget = TalkBudget::default();
            let mut received = 0;
            for tick in 0..u64::from(tick_hz) * 10 {
                for _ in 0..60 {
                    let is_within = budget.take(512, Tick(1000 + tick), tick_hz);
                    received += if is_within { 512 } else { 0 };
                }
            }
            let most = BYTES_AT_ONCE + 10 * BYTES_PER_SECOND;
            assert!((most - 2 * 4096..=most).contains(&received), "{received}");
            assert!(!budget.is_whole(Tick(1000 + u64::from(tick_hz) * 10), tick_hz));
            assert!(budget.is_whole(Tick(1000 + u64::from(tick_hz) * 20), tick_hz));
        }
    }
}
