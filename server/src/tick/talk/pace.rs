//! How often a client may speak: some times at once, and then at an even pace. Counted in
//! ticks.

use std::collections::HashMap;

use shared::{ClientRow, Tick};

/// The paces of all clients that spoke of late.
pub struct Paces {
    interval_ticks: u64,
    /// When what a client has said would have been said at an even pace, in ticks.
    paid: HashMap<ClientRow, u64>,
}

impl Paces {
    pub fn new(tick_hz: u32) -> Paces {
        Paces {
            interval_ticks: (u64::from(tick_hz) / TALKS_PER_SECOND).max(1),
            paid: HashMap::new(),
        }
    }

    /// Whether a client may speak now; it does then.
    pub fn take(&mut self, client: ClientRow, now: Tick) -> bool {
        let now = now.0;
        let paid = self.paid.entry(client).or_insert(now);
        let next = (*paid).max(now) + self.interval_ticks;
        let may_speak = next <= now + self.interval_ticks * TALKS_AT_ONCE;
        if may_speak {
            *paid = next;
        }
        may_speak
    }

    pub fn forget(&mut self, client: ClientRow) {
        self.paid.remove(&client);
    }
}

const TALKS_PER_SECOND: u64 = 2;
const TALKS_AT_ONCE: u64 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_speaks_some_times_at_once_and_then_now_and_then() {
        let mut paces = Paces::new(20);
        let mut said = |client, from: u64, ticks| {
            let ticks = from..from + ticks;
            let said = ticks.filter(|&tick| paces.take(ClientRow(client), Tick(tick)));
            said.count() as u64
        };
        assert_eq!(said(1, 100, 5), TALKS_AT_ONCE.min(5));
        assert_eq!(said(1, 105, 1000), TALKS_AT_ONCE - 5 + 100);
        assert_eq!(said(2, 105, 4), 4, "each client has its own pace");
    }
}
