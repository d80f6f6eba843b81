//! How often a client speaks.
//!
//! A server that has more to do than it can tells each client of every second or third tick
//! only. What clients send costs it as much as what it tells them, so they, too, speak less
//! often then: once for each word of the server. A server that has time answers each input with
//! a word, which lets the client speak in every tick.

use std::time::Duration;

use shared::Tick;

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
    /// Of how many ticks one word is told, where each answers something; a moving average. It
    /// says how busy the server is, however the network delays and bunches words.
    ticks: f64,
    /// The tick of the last word, and whether that was an answer.
    heard: Option<(Tick, bool)>,
}

impl Pace {
    /// In a world with such a tick, over such a network.
    pub fn new(period: Duration, round_trip: Duration) -> Pace {
        let unheard = round_trip.max(BUNCH) + period / 2;
        let on_the_way = unheard.as_micros() / period.as_micros().max(1);
        Pace {
            // An input may wait for nearly a tick, and is answered in the next one.
            window: 2 + u32::try_from(on_the_way)
                .unwrap_or(WINDOW_MAX)
                .min(WINDOW_MAX),
            spoken: 0,
            first: Duration::ZERO,
            last: Duration::ZERO,
            answer: Duration::ZERO,
            ticks: 1.0,
            heard: None,
        }
    }

    /// The server has told a newer tick.
    pub fn hear(&mut self, tick: Tick, now: Duration) {
        let is_answer = std::mem::take(&mut self.spoken) > 0;
        let before = self.heard.replace((tick, is_answer));
        if is_answer {
            let answer = now.saturating_sub(self.first).min(ANSWER_MAX);
            self.answer = (self.answer * 3 + answer) / 4;
        }
        // A server that had nothing to say until then may have time.
        if let Some((before, true)) = before.filter(|_| is_answer) {
            self.ticks = (self.ticks * 3.0 + f64::from(tick.since(before))) / 4.0;
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
        let (window, answer) = match self.ticks > TICKS_MAX {
            true => (1, self.answer),
            false => (self.window, Duration::ZERO),
        };
        let beyond = self.spoken.checked_sub(window)?;
        let least = if beyond == 0 { HOLD } else { HOLD_AGAIN };
        // A word that takes as long as others took is not missed.
        Some(self.last + least.max(answer * 3 / 2))
    }

    pub fn may_speak(&self, now: Duration) -> bool {
        self.held_until().is_none_or(|held| held <= now)
    }
}

/// A network may hold words back for this long and bring them together.
const BUNCH: Duration = Duration::from_millis(100);
/// No network is slower than this many ticks.
const WINDOW_MAX: u32 = 1000;
/// A server that tells one word of more ticks has no time. Some are lost.
const TICKS_MAX: f64 = 1.6;
/// A word may be lost, or be late by more than the network was. Where words come soon, input
/// does not wait for longer than this, and than that once it has done so.
const HOLD: Duration = Duration::from_millis(250);
const HOLD_AGAIN: Duration = Duration::from_millis(500);
/// Nor does it wait for much longer than this where they do not.
const ANSWER_MAX: Duration = Duration::from_millis(600);

#[cfg(test)]
mod tests {
    use proptest::bool::weighted;
    use proptest::collection::vec;
    use proptest::prelude::*;

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
                pace.hear(Tick(100 + u64::from(tick)), now);
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
        // It takes some words to find out.
        for gap in [2, 3, 4, 6] {
            let words = 60 / gap;
            let spoken = spoken(Duration::ZERO, 0, gap);
            assert!((words..=words + 10).contains(&spoken), "{gap}: {spoken}");
        }
    }

    proptest! {
        #[test]
        fn who_loses_a_word_in_five_speaks_in_nearly_every_tick(
            are_lost in vec(weighted(0.2), 1000),
        ) {
            let mut pace = Pace::new(PERIOD, Duration::ZERO);
            let mut spoken = 0;
            for (tick, is_lost) in (0..).zip(are_lost) {
                let now = PERIOD * tick;
                if !is_lost {
                    pace.hear(Tick(100 + u64::from(tick)), now);
                }
                if pace.may_speak(now) {
                    pace.speak(now);
                    spoken += 1;
                }
            }
            prop_assert!(spoken > 900, "{spoken} of 1000");
        }
    }

    #[test]
    fn who_was_silent_speaks_in_every_tick_though_words_were_rare() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        for second in 0..60 {
            pace.hear(Tick(10 * second), Duration::from_secs(second));
        }
        let begun = Duration::from_secs(60);
        for tick in 0..30 {
            assert!(pace.may_speak(begun + PERIOD * tick), "{tick}");
            pace.speak(begun + PERIOD * tick);
            if tick > 0 {
                let now = begun + PERIOD * tick + PERIOD / 2;
                pace.hear(Tick(600 + u64::from(tick)), now);
            }
        }
    }

    #[test]
    fn who_hears_words_in_bunches_speaks_in_every_tick() {
        let period = Duration::from_micros(16_667);
        for bunch in 2..=6 {
            let mut pace = Pace::new(period, Duration::ZERO);
            for tick in 0..90 {
                let now = period * tick;
                if tick % bunch == bunch - 1 {
                    // The network holds words back until the last of these ticks.
                    for told in tick + 1 - bunch..=tick {
                        pace.hear(Tick(100 + u64::from(told)), now);
                    }
                }
                assert!(pace.may_speak(now), "{bunch}: {tick}");
                pace.speak(now);
            }
        }
    }

    #[test]
    fn who_hears_nothing_goes_on_speaking() {
        let mut pace = Pace::new(PERIOD, Duration::ZERO);
        for _ in 0..3 {
            pace.speak(PERIOD);
        }
        assert!(!pace.may_speak(PERIOD + HOLD / 2));
        assert!(pace.may_speak(PERIOD + HOLD));
        pace.speak(PERIOD);
        assert!(!pace.may_speak(PERIOD + HOLD));
        assert!(pace.may_speak(PERIOD + HOLD_AGAIN));
        pace.hear(Tick(7), PERIOD);
        assert!(pace.may_speak(PERIOD));
    }
}
