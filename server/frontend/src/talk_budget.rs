//! How much talk of others a listener receives: so many bytes at once, and then so many a second,
//! whoever and however many speak. Counted in ticks.

use shared::Tick;

/// A budget of one listener.
#[derive(Clone, Copy, Debug, Default)]
pub struct TalkBudget {
    /// When all that was heard would have arrived at the even rate, in bytes of that rate.
    paid: u64,
}

impl TalkBudget {
    /// Whether this many more bytes are within the budget; they are taken then.
    pub fn take(&mut self, bytes: usize, now: Tick, tick_hz: u32) -> bool {
        let now = now.0.saturating_mul(BYTES_PER_SECOND) / u64::from(tick_hz.max(1));
        let next = self.paid.max(now).saturating_add(bytes as u64);
        let is_within = next <= now + BYTES_AT_ONCE;
        if is_within {
            self.paid = next;
        }
        is_within
    }

    /// Whether all of it is there again.
    pub fn is_whole(&self, now: Tick, tick_hz: u32) -> bool {
        self.paid <= now.0.saturating_mul(BYTES_PER_SECOND) / u64::from(tick_hz.max(1))
    }
}

/// A narrow link of today carries this beside the game: 32 kbit/s.
pub const BYTES_PER_SECOND: u64 = 4096;
/// Far below what a client may leave unread.
pub const BYTES_AT_ONCE: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_receives_so_much_at_once_and_then_so_much_a_second() {
        for tick_hz in [1, 20, 1000] {
            let mut budget = TalkBudget::default();
            let mut heard = 0;
            for tick in 0..u64::from(tick_hz) * 10 {
                for _ in 0..60 {
                    let is_heard = budget.take(512, Tick(1000 + tick), tick_hz);
                    heard += if is_heard { 512 } else { 0 };
                }
            }
            let most = BYTES_AT_ONCE + 10 * BYTES_PER_SECOND;
            assert!((most - 2 * 4096..=most).contains(&heard), "{heard}");
            assert!(!budget.is_whole(Tick(1000 + u64::from(tick_hz) * 10), tick_hz));
            assert!(budget.is_whole(Tick(1000 + u64::from(tick_hz) * 20), tick_hz));
        }
    }
}
