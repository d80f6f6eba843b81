//! How often a client speaks.
//!
//! A server that has more to do than it can tells each client of every third or fourth tick
//! only. What clients send costs it as much as what it tells them, so they, too, speak less
//! often then: once for each word of the server. A server that has time answers each input with
//! a word, which lets the client speak in every tick.

use std::time::Duration;

/// What a client has sent since it heard a word of a newer tick.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How often it may speak without a word. Those that are on their way are among them.
    window: u32,
    spoken: u32,
    /// When it spoke first since it heard a word, and when it spoke last.
    first: Duration,
    last: Duration,
    /// From what it says to the next word; a moving average.
    answer: Duration,
    /// A server that takes longer for that has no time.
    answer_max: Duration,
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
            first: Duration::ZERO,
            last: Duration::ZERO,
            answer: Duration::ZERO,
            answer_max: round_trip + period * 9 / 4,
        }
    }

    /// The server has told a newer tick.
    pub fn hear(&mut self, now: Duration) {
        if std::mem::take(&mut self.spoken) > 0 {
            let answer = now.saturating_sub(self.first).min(ANSWER_MAX);
            self.answer = (self.answer * 3 + answer) / 4;
        }
    }

    /// The client has sent something.
    pub fn speak(&mut self, now: Duration) {
        if self.spoken == 0 {
            self.first = now;
        }
        self.spoken = self.spoken.saturating_add(1);
        self.last = now;
    }

    /// When the client may speak again without a word of the server; `None`: at once.
    pub fn held_until(&self) -> Option<Duration> {
        let window = match self.answer > self.answer_max {
            true => 1,
            false => self.window,
        };
        let beyond = self.spoken.checked_sub(window)?;
        let least = if beyond == 0 { HOLD } else { HOLD_AGAIN };
        // A word that takes as long as others took is not missed.
        Some(self.last + least.max(self.answer * 3 / 2))
    }

    pub fn may_speak(&self, now: Duration) -> bool {
        self.held_until().is_none_or(|held| held <= now)
    }
}

/// No network is slower than this many ticks.
const WINDOW_MAX: u32 = 1000;
/// A word may be lost, or be late by more than the network was. Where words come soon, input
/// does not wait for longer than this, and than that once it has done so.
const HOLD: Duration = Duration::from_millis(250);
const HOLD_AGAIN: Duration = Duration::from_millis(500);
/// Nor does it wait for much longer than this where they do not.
const ANSWER_MAX: Duration = Duration::from_millis(600);

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
                pace.hear(now);
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
    fn who_is_told_seldom_speaks_once_for_each_word() {
        // Words that are late by a tick may as well be on their way.
        assert_eq!(spoken(Duration::ZERO, 0, 2), 60);
        // It takes some words to find out.
        for gap in [3, 4, 6] {
            let words = 60 / gap;
            let spoken = spoken(Duration::ZERO, 0, gap);
            assert!((words..=words + 8).contains(&spoken), "{gap}: {spoken}");
        }
    }

    #[test]
    fn who_was_silent_speaks_in_every_tick_though_words_were_rare() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        for second in 0..60 {
            pace.hear(Duration::from_secs(second));
        }
        let begun = Duration::from_secs(60);
        for tick in 0..30 {
            assert!(pace.may_speak(begun + PERIOD * tick), "{tick}");
            pace.speak(begun + PERIOD * tick);
            if tick > 0 {
                pace.hear(begun + PERIOD * tick + PERIOD / 2);
            }
        }
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
        assert!(pace.may_speak(PERIOD + HOLD_AGAIN));
        pace.hear(PERIOD);
        assert!(pace.may_speak(PERIOD));
    }
}
