//! Whether the server is heard, while a game plays.

use std::time::Duration;

/// How a game's link to its server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub state: LinkState,
    /// From when on: of an unstable link, when the server was heard last; of a good one, when it
    /// was heard again, or when it welcomed the client.
    pub since: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The server is heard as often as it should be.
    Good,
    /// Nothing was heard of the server for longer than it is ever silent: packets are lost, or
    /// it stands still. The connection is lost if that goes on.
    Unstable,
}

/// Watches over the silence of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkWatch {
    link: Link,
    heard: Duration,
    /// The longest silence of late, which fades within seconds.
    usual: Duration,
    /// As long as the server may be silent where nothing is lost.
    regular: Duration,
    /// The latest look, and the first one after a time without any.
    looked: Duration,
    returned: Duration,
}

impl LinkWatch {
    /// From the welcome on. The server sends a datagram at least once a second, or three times
    /// within a shorter idle time-out, but not more often than it runs ticks.
    pub fn new(now: Duration, tick_hz: u32, idle_seconds: u32) -> LinkWatch {
        let tick_hz = tick_hz.max(1);
        let ticks = tick_hz.min(idle_seconds.saturating_mul(tick_hz) / 3).max(1);
        let regular = Duration::from_secs_f64(f64::from(ticks) / f64::from(tick_hz));
        LinkWatch {
            link: Link {
                state: LinkState::Good,
                since: now,
            },
            heard: now,
            usual: regular,
            regular,
            looked: now,
            returned: now,
        }
    }

    pub fn link(&self) -> Link {
        self.link
    }

    /// When the server was heard last.
    pub fn heard(&self) -> Duration {
        self.heard
    }

    /// Something of the server has arrived.
    pub fn hear(&mut self, now: Duration) {
        let silence = now.saturating_sub(self.heard);
        let faded = silence.as_secs_f64() / FADES_WITHIN.as_secs_f64();
        let usual = self.usual.mul_f64((1.0 - faded).max(0.0));
        // A longer one was no regular silence.
        self.usual = usual.max(silence.min(self.regular));
        self.heard = self.heard.max(now);
    }

    /// Looks at the link, and gives what has changed since the last look. `lost_after` is the
    /// silence after which the connection is given up.
    pub fn look(&mut self, now: Duration, lost_after: Duration) -> Option<Link> {
        if now > self.looked + LOOKS_WITHIN {
            // The program stood still: what has arrived meanwhile may not be handed in yet.
            self.returned = now;
        }
        self.looked = self.looked.max(now);
        let is_silent = now >= self.unstable_at(lost_after);
        let link = match self.link.state {
            LinkState::Good if is_silent => Link {
                state: LinkState::Unstable,
                since: self.heard,
            },
            LinkState::Unstable if self.heard > self.link.since && !is_silent => Link {
                state: LinkState::Good,
                since: self.heard,
            },
            _ => return None,
        };
        self.link = link;
        Some(link)
    }

    /// When the link becomes unstable if nothing is heard; `None`: it is so.
    pub fn next_due(&self, lost_after: Duration) -> Option<Duration> {
        let is_good = self.link.state == LinkState::Good;
        is_good.then(|| self.unstable_at(lost_after))
    }

    /// The silence that a player is told of. In a world at rest the server sends one datagram a
    /// second: if that one is lost, the next follows within 1.6 seconds at 10 ticks a second, and
    /// within two at the slowest rates. So it is two and a half times the longest silence of
    /// late, which does not flap there, but no more than of the longest that the server keeps
    /// where nothing is lost. Where the server has spoken in each tick, as it does to a player
    /// who acts, it is `SILENCE_MIN`: that is longer than the first silence when a world comes to
    /// rest. And the player is told before the connection is lost.
    fn unstable_at(&self, lost_after: Duration) -> Duration {
        let silence = self.usual.mul_f64(SILENCES).max(SILENCE_MIN);
        let silence = silence.min(lost_after.mul_f64(SHARE_BEFORE_LOSS));
        (self.heard + silence).max(self.returned + RETURN_WAIT)
    }
}

const SILENCES: f64 = 2.5;
const SILENCE_MIN: Duration = Duration::from_millis(1500);
/// A server with a standby is given up after 2 seconds, and one lost word is none of it.
const SHARE_BEFORE_LOSS: f64 = 0.9;
/// A silence fades from memory within some seconds, by its share of this. A player who stops
/// now and then is told as late as one who rests.
const FADES_WITHIN: Duration = Duration::from_secs(10);
/// A program that does not look for longer has stood still, or waits for the next thing due.
const LOOKS_WITHIN: Duration = Duration::from_millis(250);
/// One that returns takes in what has arrived within this time.
const RETURN_WAIT: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    const LOST_AFTER: Duration = Duration::from_secs(10);
    const FRAME: Duration = Duration::from_millis(16);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Looks in each frame from one time to another, while words come at some times, and gives
    /// what has changed.
    fn look(watch: &mut LinkWatch, from: u64, to: u64, words: &[u64]) -> Vec<Link> {
        let mut words = words.iter().map(|&at| ms(at)).peekable();
        let (mut now, mut changes) = (ms(from), vec![]);
        while now < ms(to) {
            while let Some(at) = words.next_if(|&at| at <= now) {
                watch.hear(at);
            }
            changes.extend(watch.look(now, LOST_AFTER));
            now += FRAME;
        }
        changes
    }

    #[test]
    fn a_server_that_spoke_in_each_tick_is_missed_after_a_second_and_a_half() {
        let mut watch = LinkWatch::new(ms(0), 10, 10);
        let words: Vec<u64> = (1..=100).map(|tick| 100 * tick).collect();
        assert_eq!(look(&mut watch, 0, 11_480, &words), []);
        let since = ms(10_000);
        let state = LinkState::Unstable;
        assert_eq!(
            look(&mut watch, 11_480, 11_520, &[]),
            [Link { state, since }]
        );
        assert_eq!(look(&mut watch, 11_520, 15_000, &[]), []);
        // It is heard again.
        let (state, since) = (LinkState::Good, ms(15_010));
        let good = Link { state, since };
        assert_eq!(look(&mut watch, 15_000, 15_100, &[15_010]), [good]);
        assert_eq!(watch.link(), good);
    }

    #[test]
    fn worlds_at_rest_and_slow_worlds_do_not_flap_although_words_are_lost() {
        // (ticks a second, idle seconds, silence, silence where one word is lost)
        for (tick_hz, idle, regular, gap) in [
            (10, 10, 1000, 1600),
            (1, 10, 1000, 2000),
            (4, 10, 1000, 2250),
        ] {
            let mut watch = LinkWatch::new(ms(0), tick_hz, idle);
            let (mut at, mut words) = (0, vec![]);
            while at < 100_000 {
                at += if words.len() % 5 == 4 { gap } else { regular };
                words.push(at);
            }
            assert_eq!(look(&mut watch, 0, at, &words), [], "{tick_hz} Hz");
            // Its silence is noticed all the same.
            let silent = look(&mut watch, at, at + 3000, &[at]);
            assert_eq!(silent.len(), 1, "{tick_hz} Hz");
        }
    }

    #[test]
    fn a_world_that_comes_to_rest_does_not_flap() {
        let mut watch = LinkWatch::new(ms(0), 10, 10);
        let mut words: Vec<u64> = (1..=300).map(|tick| 100 * tick).collect();
        words.extend((31..=60).map(|second| 1000 * second + 40));
        assert_eq!(look(&mut watch, 0, 60_000, &words), []);
    }

    #[test]
    fn a_program_that_stood_still_first_takes_in_what_has_arrived() {
        let mut watch = LinkWatch::new(ms(0), 10, 10);
        let words: Vec<u64> = (1..=100).map(|tick| 100 * tick).collect();
        assert_eq!(look(&mut watch, 0, 10_000, &words), []);
        // Nobody looks for five seconds. What has arrived is handed in after the first look.
        assert_eq!(look(&mut watch, 15_000, 15_200, &[15_100]), []);
        // And if nothing has, that is noticed.
        let silent = look(&mut watch, 21_000, 22_000, &[]);
        assert_eq!(silent.len(), 1);
        assert_eq!(silent[0].since, ms(15_100));
    }

    #[test]
    fn one_that_sleeps_until_the_next_thing_is_due_is_told_too() {
        let mut watch = LinkWatch::new(ms(0), 1, 10);
        let mut now = ms(0);
        for _ in 0..10 {
            let Some(due) = watch.next_due(LOST_AFTER) else {
                break;
            };
            assert!(due > now, "it would not sleep");
            now = due;
            watch.look(now, LOST_AFTER);
        }
        assert_eq!(watch.link().state, LinkState::Unstable);
        assert!(now <= ms(2750), "{now:?}");
    }

    #[test]
    fn the_player_is_told_before_the_connection_is_lost() {
        for lost_after in [ms(400), ms(2000)] {
            let watch = LinkWatch::new(ms(0), 10, 10);
            let due = watch.next_due(lost_after).expect("it is good");
            assert!(due < lost_after, "{due:?}");
        }
    }
}
