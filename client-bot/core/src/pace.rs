//! How often a client speaks.
//!
//! A server that has more to do than it can tells each client of every third or fourth tick
//! only. What clients send costs it as much as what it tells them, so they, too, speak less
//! often then: a few times from one word of the server to the next. A server that has time
//! answers each input with a word, which lets the client speak in every tick.

use std::time::Duration;

/// What a client has sent since it heard a word of a newer tick.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How often it may speak without a word. Those that are on their way are among them.
    window: u32,
    spoken: u32,
    /// When it spoke last.
    last: Duration,
}

impl Pace {
    /// In a world with such a tick, over such a network.
    pub fn new(period: Duration, round_trip: Duration) -> Pace {
        let on_the_way = (round_trip + period / 2).as_micros() / period.as_micros().max(1);
        Pace {
            // An input may wait for nearly a tick, and is answered in the next one.
            window: 2 + u32::try_from(on_the_way)
                .unwrap_or(WINDOW_MAX)
                .min(WINDOW_MAX),
            spoken: 0,
            last: Duration::ZERO,
        }
    }

    /// The server has told a newer tick.
    pub fn hear(&mut self) {
        self.spoken = 0;
    }

    /// The client has sent something.
    pub fn speak(&mut self, now: Duration) {
        self.spoken = self.spoken.saturating_add(1);
        self.last = now;
    }

    /// When the client may speak again without a word of the server; `None`: at once.
    pub fn held_until(&self) -> Option<Duration> {
        let beyond = self.spoken.checked_sub(self.window)?;
        Some(self.last + if beyond == 0 { HOLD } else { HOLD_MAX })
    }

    pub fn may_speak(&self, now: Duration) -> bool {
        self.held_until().is_none_or(|held| held <= now)
    }
}

/// No network is slower than this many ticks.
const WINDOW_MAX: u32 = 1000;
/// A word may be lost, or be late by more than the network was. Input does not wait for longer
/// than this, and than that once it has done so.
const HOLD: Duration = Duration::from_millis(250);
const HOLD_MAX: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_millis(100);

    /// How often a client speaks in 60 ticks that has input in each, and hears a word every
    /// `gap` ticks, the first one after `delay`.
    fn spoken(round_trip: Duration, delay: u32, gap: u32) -> u32 {
        let mut pace = Pace::new(PERIOD, round_trip);
        let mut spoken = 0;
        for tick in 0..60 {
            let now = PERIOD * tick;
            if tick >= delay && (tick - delay).is_multiple_of(gap) {
                pace.hear();
            }
            if pace.may_speak(now) {
                pace.speak(now);
                spoken += 1;
            }
        }
        spoken
    }

    #[test]
    fn who_is_told_every_tick_speaks_in_every_tick() {
        assert_eq!(spoken(Duration::ZERO, 0, 1), 60);
        // Also where the first answer takes the way there, a tick, and the way back.
        assert_eq!(spoken(PERIOD * 3, 4, 1), 60);
    }

    #[test]
    fn who_is_told_seldom_speaks_twice_for_each_word() {
        assert_eq!(spoken(Duration::ZERO, 0, 2), 60);
        assert_eq!(spoken(Duration::ZERO, 0, 3), 40);
        assert_eq!(spoken(Duration::ZERO, 0, 4), 30);
    }

    #[test]
    fn who_hears_nothing_goes_on_speaking() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        for _ in 0..2 {
            pace.speak(PERIOD);
        }
        assert!(!pace.may_speak(PERIOD + HOLD / 2));
        assert!(pace.may_speak(PERIOD + HOLD));
        pace.speak(PERIOD);
        assert!(!pace.may_speak(PERIOD + HOLD));
        assert!(pace.may_speak(PERIOD + HOLD_MAX));
        pace.hear();
        assert!(pace.may_speak(PERIOD));
    }
}
