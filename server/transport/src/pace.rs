//! How many clients a shard has time to tell of a tick.
//!
//! A shard that tells every client of every tick, however long it takes, falls behind
//! without end: packets wait in the system's buffers, and all that anybody hears is old. So
//! a fan-out has a share of the tick's period. Clients for whom no time is left are told
//! nothing of this tick but what the stream must carry; the next tick begins with them, so
//! all are told evenly, every second tick or every third.
//!
//! Packets that have arrived come before clients that are to be told: where they wait, all
//! that clients do gets old, and where the system has no more room, it is lost.

use std::time::{Duration, Instant};

/// The time of one shard.
#[derive(Debug)]
pub struct Pace {
    period: Duration,
    /// Time for packets that arrive, a tick; a moving average. What is taken in during a
    /// fan-out uses the time of that.
    receiving: Duration,
    /// The same in this tick.
    received: Duration,
    /// Time for a client that is told nothing; a moving average.
    putting_off: Duration,
    /// In how many ticks each client is told of one, in sixteenths; a moving average.
    ticks: u32,
    is_busy: bool,
}

/// The time of one fan-out.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    end: Instant,
    putting_off: Duration,
    reserve_max: Duration,
    /// Time for packets that arrive meanwhile.
    receiving_left: Duration,
}

impl Pace {
    pub fn new(tick_hz: u32) -> Pace {
        Pace {
            period: Duration::from_secs(1) / tick_hz,
            receiving: Duration::ZERO,
            received: Duration::ZERO,
            putting_off: Duration::from_micros(1),
            ticks: SIXTEENTHS,
            is_busy: false,
        }
    }

    /// So many of all clients were told of a tick.
    pub fn note_told(&mut self, told: usize, all: usize) {
        let ticks = all * SIXTEENTHS as usize / told.max(1);
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        self.ticks = (self.ticks * 3 + ticks.clamp(SIXTEENTHS, TICKS_MAX)) / 4;
        let border = if self.is_busy { CALM_TICKS } else { BUSY_TICKS };
        self.is_busy = self.ticks > border;
    }

    /// How often each client is told of a tick, for clients: every so many ticks, or 1 where
    /// there is time for all or nearly all. Clients then send as often, which is what lets the
    /// shard tell them more.
    pub fn send_every(&self) -> u32 {
        match self.is_busy {
            true => ((self.ticks + SIXTEENTHS / 2) / SIXTEENTHS).max(2),
            false => 1,
        }
    }

    /// How long an acknowledgement waits for a word to every client, which may be a little
    /// late.
    pub fn ack_wait(&self) -> Duration {
        self.period * 5 / 4
    }

    /// Packets have taken this long.
    pub fn note_receiving(&mut self, time: Duration) {
        self.received += time;
    }

    /// So many clients that were told nothing took this long.
    pub fn note_putting_off(&mut self, clients: usize, time: Duration) {
        if let Some(each) = time.checked_div(u32::try_from(clients).unwrap_or(u32::MAX)) {
            self.putting_off = average(self.putting_off, each);
        }
    }

    /// Begins the fan-out of a tick that was due some time ago. The next one is due a period
    /// after that: who begins late has less time, so that lateness does not add up.
    pub fn begin(&mut self, due: Instant, now: Instant) -> Budget {
        self.receiving = average(self.receiving, std::mem::take(&mut self.received));
        let share = self.period.mul_f64(PERIOD_SHARE);
        let least = self.period.mul_f64(FAN_OUT_SHARE_MIN);
        let end = due + share.saturating_sub(self.receiving);
        let time = end.saturating_duration_since(now).max(least);
        Budget {
            end: now + time,
            putting_off: self.putting_off,
            // However long that takes, some clients are told.
            reserve_max: time / 2,
            receiving_left: time.mul_f64(RECEIVING_SHARE_MAX),
        }
    }
}

impl Budget {
    /// When packets must wait, so that others are told, and the next tick is not late.
    pub fn receives_until(&self, now: Instant) -> Instant {
        self.end.min(now + self.receiving_left)
    }

    /// Packets have taken this long.
    pub fn note_receiving(&mut self, time: Duration) {
        self.receiving_left = self.receiving_left.saturating_sub(time);
    }

    /// Whether there is time to tell another client, when so many are left.
    pub fn allows(&self, now: Instant, left: usize) -> bool {
        let reserve = self
            .putting_off
            .saturating_mul(u32::try_from(left).unwrap_or(u32::MAX));
        now + reserve.min(self.reserve_max) < self.end
    }
}

fn average(old: Duration, new: Duration) -> Duration {
    (old * 3 + new) / 4
}

/// A shard that tells each client of fewer than one of so many sixteenths of ticks says that it is
/// busy, and that it is not from one of fewer on.
const BUSY_TICKS: u32 = 26;
const CALM_TICKS: u32 = 21;
/// One in more ticks is one client at a time.
const TICKS_MAX: u32 = 16 * SIXTEENTHS;
const SIXTEENTHS: u32 = 16;
/// The share of a period in which a shard works; the rest is for what comes unforeseen.
const PERIOD_SHARE: f64 = 0.9;
/// However many packets arrive, so much is for telling.
const FAN_OUT_SHARE_MIN: f64 = 0.3;
/// The share of a fan-out that packets may take which arrive meanwhile.
const RECEIVING_SHARE_MAX: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_packets_take_is_not_there_for_telling() {
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
    fn a_shard_says_that_it_is_busy_once_it_tells_much_less_for_some_ticks() {
        let mut pace = Pace::new(10);
        pace.note_told(50, 100);
        assert_eq!(pace.send_every(), 1);
        for _ in 0..10 {
            pace.note_told(34, 100);
        }
        assert_eq!(pace.send_every(), 3);
        // Nearly enough is not enough until it lasts.
        pace.note_told(100, 100);
        assert!(pace.send_every() > 1);
        for _ in 0..10 {
            pace.note_told(90, 100);
        }
        assert_eq!(pace.send_every(), 1);
        pace.note_told(0, 0);
        assert_eq!(pace.send_every(), 1);
    }

    #[test]
    fn who_begins_late_does_not_end_later() {
        let mut pace = Pace::new(10);
        let due = Instant::now();
        let budget = pace.begin(due, due + 40 * MS);
        assert!(budget.allows(due + 80 * MS, 0));
        assert!(!budget.allows(due + 100 * MS, 0));
    }

    #[test]
    fn packets_leave_a_part_of_a_fan_out_to_telling() {
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
    fn time_is_kept_for_those_who_are_put_off() {
        let mut pace = Pace::new(10);
        let now = Instant::now();
        for _ in 0..50 {
            pace.note_putting_off(1000, 10 * MS);
        }
        let budget = pace.begin(now, now);
        assert!(budget.allows(now + 50 * MS, 1000));
        assert!(!budget.allows(now + 50 * MS, 6000));
        assert!(budget.allows(now + 40 * MS, 1_000_000));
    }
}
