//! How often a client sends.
//!
//! A client sends in each tick that it has something for. Receiving costs a server as much
//! as sending, so an overloaded server reports that it is busy, and then a
//! client sends once for each datagram of it.
//!
//! Only the server's report counts for that, not gaps between its datagrams: a network
//! loses them, delays them and brings them in bunches.

use std::time::Duration;

/// Whether and when a client sends, by the newest tick that it received.
#[derive(Clone, Debug)]
pub struct Pace {
    period: Duration,
    /// 1, or the server is busy and sends about every so many ticks.
    every: u32,
    /// Whether something was sent since the server's last datagram.
    has_sent: bool,
    /// When something was sent last.
    sent: Duration,
    /// When the server's last datagram came.
    last_received: Duration,
}

impl Pace {
    /// In a world with such a tick, from now on.
    pub fn new(period: Duration, now: Duration) -> Pace {
        Pace {
            period,
            every: 1,
            has_sent: false,
            sent: Duration::ZERO,
            last_received: now,
        }
    }

    /// The server has sent something of a newer tick, and how often it sends.
    pub fn receive(&mut self, every: u32, now: Duration) {
        self.has_sent = false;
        self.every = every;
        self.last_received = now;
    }

    /// The client has sent something.
    pub fn send(&mut self, now: Duration) {
        self.has_sent = true;
        self.sent = now;
    }

    /// When the client may send, if it receives nothing until then; `None`: at once.
    pub fn held_until(&self, now: Duration) -> Option<Duration> {
        if !self.has_sent {
            return None;
        }
        let busy = (self.every > 1).then(|| {
            // One that is late is not missed.
            HOLD.max(self.period * self.every * 3 / 2)
        });
        // Nothing gets through, or the server is gone. Packets sent all the same find out.
        let silence = SILENCE.max(self.period * SILENT_TICKS);
        let silent = (now >= self.last_received + silence).then_some(PROBE);
        let hold = busy.max(silent)?;
        Some(self.sent + hold)
    }

    /// The server sends every so many ticks; 1: it is not busy.
    pub fn every(&self) -> u32 {
        self.every
    }

    /// Whether the server has reported it.
    pub fn is_busy(&self) -> bool {
        self.every > 1
    }

    /// Whether a datagram may be sent now, or a busy server is to be waited for.
    pub fn may_send(&self, now: Duration) -> bool {
        self.held_until(now).is_none_or(|held| held <= now)
    }
}

/// Clients of a busy server wait at least this long for it.
const HOLD: Duration = Duration::from_millis(250);
/// A server that is silent for this long, and for so many ticks, is sent little.
const SILENCE: Duration = Duration::from_millis(2000);
const SILENT_TICKS: u32 = 3;
/// From one attempt to reach it to the next.
const PROBE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(100);

    /// How often a client sends in 60 ticks that has something for each, and receives every
    /// `gap`th one, the first time after `delay`.
    fn sent(delay: u32, gap: u32, every: u32) -> u32 {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        let mut sent = 0;
        for tick in 0..60 {
            let now = PERIOD * tick;
            if tick >= delay && (tick - delay).is_multiple_of(gap) {
                pace.receive(every, now);
            }
            if pace.may_send(now) {
                pace.send(now);
                sent += 1;
            }
        }
        sent
    }

    #[test]
    fn a_client_sends_in_every_tick_however_seldom_and_late_it_hears() {
        for (delay, gap) in [(0, 1), (4, 1), (0, 3), (8, 5), (15, 10)] {
            assert_eq!(sent(delay, gap, 1), 60, "{delay}, {gap}");
        }
    }

    #[test]
    fn a_client_of_a_busy_server_sends_once_for_each_datagram() {
        for gap in [2, 3, 4, 6] {
            assert_eq!(sent(0, gap, gap), 60 / gap, "{gap}");
        }
    }

    #[test]
    fn a_client_of_a_busy_server_waits_no_longer_than_for_a_datagram_that_is_lost() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        pace.receive(4, PERIOD);
        pace.send(PERIOD);
        assert!(!pace.may_send(PERIOD * 6));
        assert!(pace.may_send(PERIOD * 7));
        // It is not busy any more.
        pace.receive(1, PERIOD);
        pace.send(PERIOD);
        assert!(pace.may_send(PERIOD));
    }

    #[test]
    fn a_server_that_is_silent_for_long_is_sent_little() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        let mut sent = 0;
        for tick in 0..60 {
            if pace.may_send(PERIOD * tick) {
                pace.send(PERIOD * tick);
                sent += 1;
            }
        }
        // Twenty in two seconds, then every third tick.
        assert!((33..=35).contains(&sent), "{sent}");
    }
}
