//! The time budget of a shard's fan-out: the number of clients that are sent a tick.
//!
//! A shard that sends every tick to every client, however long it takes, falls behind without
//! end: packets wait in the system's buffers, and every client's view gets old. So a fan-out has
//! a share of the tick's period. Clients for which no time is left are deferred: they get only
//! what the stream must carry, and the next tick begins with them. So all are sent updates
//! evenly, every second tick or every third.
//!
//! Packets that have arrived take priority over sending: while they wait, commands get old, and
//! when the socket's buffer is full, they are lost.

use std::time::{Duration, Instant};

/// The measured times of one shard.
#[derive(Debug)]
pub struct Pace {
    period: Duration,
    /// Time for received packets in a tick, without those during a fan-out; a moving average.
    receiving: Duration,
    /// The same in this tick.
    received: Duration,
    /// Time for a deferred client; a moving average.
    deferral_cost: Duration,
    /// Ticks between sends to the same client, in sixteenths; a moving average.
    ticks: u32,
    is_busy: bool,
}

/// The time budget of one fan-out.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    end: Instant,
    deferral_cost: Duration,
    reserve_max: Duration,
    /// Time left for packets that arrive meanwhile.
    receiving_left: Duration,
}

impl Pace {
    pub fn new(tick_hz: u32) -> Pace {
        Pace {
            period: Duration::from_secs(1) / tick_hz,
            receiving: Duration::ZERO,
            received: Duration::ZERO,
            deferral_cost: Duration::from_micros(1),
            ticks: SIXTEENTHS,
            is_busy: false,
        }
    }

    /// A tick was sent to this many of all clients.
    pub fn note_sent(&mut self, sent: usize, all: usize) {
        let ticks = all * SIXTEENTHS as usize / sent.max(1);
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        self.ticks = (self.ticks * 3 + ticks.clamp(SIXTEENTHS, TICKS_MAX)) / 4;
        let border = if self.is_busy { CALM_TICKS } else { BUSY_TICKS };
        self.is_busy = self.ticks > border;
    }

    /// Ticks between sends to the same client, as reported to clients: 1 if there is time for all
    /// or nearly all. Clients then send as rarely, which leaves the shard more time to send.
    pub fn send_every(&self) -> u32 {
        match self.is_busy {
            true => ((self.ticks + SIXTEENTHS / 2) / SIXTEENTHS).max(2),
            false => 1,
        }
    }

    /// How long a QUIC acknowledgement waits for application data to piggyback on, which may be
    /// a little late.
    pub fn ack_wait(&self) -> Duration {
        self.period * 5 / 4
    }

    /// Packets have taken this long.
    pub fn note_receiving(&mut self, time: Duration) {
        self.received += time;
    }

    /// Deferring this many clients took this long.
    pub fn note_deferral(&mut self, clients: usize, time: Duration) {
        if let Some(each) = time.checked_div(u32::try_from(clients).unwrap_or(u32::MAX)) {
            self.deferral_cost = average(self.deferral_cost, each);
        }
    }

    /// Begins the fan-out of a tick that was due some time ago. The next one is due a period
    /// after that: a late one has less time, so that lateness does not add up.
    pub fn begin(&mut self, due: Instant, now: Instant) -> Budget {
        self.receiving = average(self.receiving, std::mem::take(&mut self.received));
        let share = self.period.mul_f64(PERIOD_SHARE);
        let least = self.period.mul_f64(FAN_OUT_SHARE_MIN);
        let end = due + share.saturating_sub(self.receiving);
        let time = end.saturating_duration_since(now).max(least);
        Budget {
            end: now + time,
            deferral_cost: self.deferral_cost,
            // However long deferral takes, some clients are sent the tick.
            reserve_max: time / 2,
            receiving_left: time.mul_f64(RECEIVING_SHARE_MAX),
        }
    }
}

impl Budget {
    /// When receiving must stop, so that there is time to send, and the next tick is not late.
    pub fn receives_until(&self, now: Instant) -> Instant {
        self.end.min(now + self.receiving_left)
    }

    /// Packets have taken this long.
    pub fn note_receiving(&mut self, time: Duration) {
        self.receiving_left = self.receiving_left.saturating_sub(time);
    }

    /// Whether there is time to send to another client, when `left` clients remain.
    pub fn allows(&self, now: Instant, left: usize) -> bool {
        let reserve = self
            .deferral_cost
            .saturating_mul(u32::try_from(left).unwrap_or(u32::MAX));
        now + reserve.min(self.reserve_max) < self.end
    }
}

fn average(old: Duration, new: Duration) -> Duration {
    (old * 3 + new) / 4
}

/// A shard reports that it is busy above this many sixteenths of ticks between sends, and that it is
/// not from the lower number on.
const BUSY_TICKS: u32 = 26;
const CALM_TICKS: u32 = 21;
/// More ticks than this are one client at a time.
const TICKS_MAX: u32 = 16 * SIXTEENTHS;
const SIXTEENTHS: u32 = 16;
/// The share of a period in which a shard works; the rest is a reserve.
const PERIOD_SHARE: f64 = 0.9;
/// The share of a period for sending, however many packets arrive.
const FAN_OUT_SHARE_MIN: f64 = 0.3;
/// The share of a fan-out for packets that arrive meanwhile.
const RECEIVING_SHARE_MAX: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn time_for_received_packets_is_taken_from_sending() {
        let mut pace = Pace::new(10);
        let now = Instant::now();
        assert!(pace.begin(now, now).allows(now + 80 * MS, 0));
        for _ in 0..20 {
            pace.note_receiving(40 * MS);
            pace.begin(now, now);
        }
        let budget = pace.begin(now, now);
        assert!(budget.allows(now + 40 * MS, 0));
        assert!(!budget.allows(now + 70 * MS, 0));
    }

    #[test]
    fn a_shard_reports_that_it_is_busy_once_it_sends_much_less_for_some_ticks() {
        let mut pace = Pace::new(10);
        pace.note_sent(50, 100);
        assert_eq!(pace.send_every(), 1);
        for _ in 0..10 {
            pace.note_sent(34, 100);
        }
        assert_eq!(pace.send_every(), 3);
        // Nearly enough is not enough until it lasts.
        pace.note_sent(100, 100);
        assert!(pace.send_every() > 1);
        for _ in 0..10 {
            pace.note_sent(90, 100);
        }
        assert_eq!(pace.send_every(), 1);
        pace.note_sent(0, 0);
        assert_eq!(pace.send_every(), 1);
    }

    #[test]
    fn a_late_fan_out_does_not_end_later() {
        let mut pace = Pace::new(10);
        let due = Instant::now();
        let budget = pace.begin(due, due + 40 * MS);
        assert!(budget.allows(due + 80 * MS, 0));
        assert!(!budget.allows(due + 100 * MS, 0));
    }

    #[test]
    fn received_packets_leave_a_part_of_a_fan_out_to_sending() {
        let now = Instant::now();
        let mut budget = Pace::new(10).begin(now, now);
        assert!(budget.receives_until(now) > now + 50 * MS);
        let late = now + 90 * MS;
        assert!(budget.receives_until(late) < late + 10 * MS);
        budget.note_receiving(40 * MS);
        assert!(budget.receives_until(now) > now + 10 * MS);
        budget.note_receiving(40 * MS);
        assert_eq!(budget.receives_until(now), now);
    }

    #[test]
    fn a_flood_leaves_time_for_some_clients() {
        let mut pace = Pace::new(10);
        let now = Instant::now();
        for _ in 0..20 {
            pace.note_receiving(500 * MS);
            pace.begin(now, now);
        }
        assert!(pace.begin(now, now).allows(now + 20 * MS, 0));
    }

    #[test]
    fn time_is_reserved_for_deferral() {
        let mut pace = Pace::new(10);
        let now = Instant::now();
        for _ in 0..50 {
            pace.note_deferral(1000, 10 * MS);
        }
        let budget = pace.begin(now, now);
        assert!(budget.allows(now + 50 * MS, 1000));
        assert!(!budget.allows(now + 50 * MS, 6000));
        assert!(budget.allows(now + 40 * MS, 1_000_000));
    }
}
