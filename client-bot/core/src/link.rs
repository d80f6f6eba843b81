//! Whether the server has fallen silent, while a game plays.

use std::time::Duration;

/// How a game's link to its server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Whether the server sends.
    pub state: LinkState,
    /// From when on: of an unstable link, when the server's last datagram came; of a good one,
    /// when the first one came again, or the welcome.
    pub since: Duration,
}

/// Whether the server sends as often as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The server sends as often as it should.
    Good,
    /// Nothing was received for longer than the server is ever silent: packets are lost, or
    /// it stands still. The connection is lost if that continues.
    Unstable,
}

/// Watches over the silence of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkWatch {
    link: Link,
    last_received: Duration,
    /// From one datagram of the server to the next, where it has nothing to send.
    regular: Duration,
    /// The same, as it has reported that it is busy.
    busy: Duration,
    period: Duration,
    /// The latest look, and the first one after a time without any.
    looked: Duration,
    returned: Duration,
}

impl LinkWatch {
    /// From the welcome on. The server sends a datagram at least twice a second, or three times
    /// within a shorter idle time-out, but not more often than it runs ticks.
    pub fn new(now: Duration, tick_hz: u32, idle_seconds: u32) -> LinkWatch {
        let tick_hz = tick_hz.max(1);
        let ticks = (tick_hz / 2).min(idle_seconds.saturating_mul(tick_hz) / 3);
        let period = Duration::from_secs(1) / tick_hz;
        LinkWatch {
            link: Link {
                state: LinkState::Good,
                since: now,
            },
            last_received: now,
            regular: period * ticks.max(1),
            busy: period,
            period,
            looked: now,
            returned: now,
        }
    }

    pub fn link(&self) -> Link {
        self.link
    }

    /// When the server's last datagram came.
    pub fn last_received(&self) -> Duration {
        self.last_received
    }

    /// Something of the server has arrived.
    pub fn receive(&mut self, now: Duration) {
        self.last_received = self.last_received.max(now);
    }

    /// The server sends every so many ticks, as it is busy.
    pub fn expect_every(&mut self, ticks: u32) {
        self.busy = self.period * ticks;
    }

    /// Checks the link, and gives its change since the last check. `lost_after` is the
    /// silence after which the connection is given up.
    pub fn look(&mut self, now: Duration, lost_after: Duration) -> Option<Link> {
        if now > self.looked + LOOKS_WITHIN {
            // The program stood still: data that arrived meanwhile may not be handed in yet.
            self.returned = now;
        }
        self.looked = self.looked.max(now);
        let is_silent = now >= self.unstable_at(lost_after);
        let link = match self.link.state {
            LinkState::Good if is_silent => Link {
                state: LinkState::Unstable,
                since: self.last_received,
            },
            LinkState::Unstable if self.last_received > self.link.since && !is_silent => Link {
                state: LinkState::Good,
                since: self.last_received,
            },
            _ => return None,
        };
        self.link = link;
        Some(link)
    }

    /// When the link becomes unstable if nothing is received; `None`: it is so.
    pub fn next_due(&self, lost_after: Duration) -> Option<Duration> {
        let is_good = self.link.state == LinkState::Good;
        is_good.then(|| self.unstable_at(lost_after))
    }

    /// The silence that is reported to a player. A server with nothing to send sends two
    /// datagrams a second: where two of them are lost, the next comes before `SILENCE_MIN`. One
    /// that ticks or sends less often may be silent for two and a half times as long as it ever is
    /// where nothing is lost. And the report comes before the connection is lost.
    fn unstable_at(&self, lost_after: Duration) -> Duration {
        let regular = self.regular.max(self.busy);
        let silence = regular.mul_f64(SILENCES).max(SILENCE_MIN);
        let silence = silence.min(lost_after.mul_f64(SHARE_BEFORE_LOSS));
        (self.last_received + silence).max(self.returned + RETURN_WAIT)
    }
}

const SILENCES: f64 = 2.5;
const SILENCE_MIN: Duration = Duration::from_millis(1500);
/// A server with a standby is given up after 2 seconds, and one lost word is none of it.
const SHARE_BEFORE_LOSS: f64 = 0.9;
/// A program that does not look for longer has stood still, or waits for the next thing due.
const LOOKS_WITHIN: Duration = Duration::from_millis(250);
/// One that returns reads all that has arrived within this time.
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
                watch.receive(at);
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
        // It sends again.
        let (state, since) = (LinkState::Good, ms(15_010));
        let good = Link { state, since };
        assert_eq!(look(&mut watch, 15_000, 15_100, &[15_010]), [good]);
        assert_eq!(watch.link(), good);
    }

    #[test]
    fn worlds_at_rest_and_slow_worlds_do_not_flap_although_words_are_lost() {
        // (ticks a second, idle seconds, silence, silence where one word is lost)
        for (tick_hz, idle, regular, gap) in [
            (10, 10, 500, 1300),
            (1, 10, 1000, 2000),
            (2, 10, 500, 1100),
            (60, 10, 500, 1300),
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
        words.extend((61..=120).map(|half| 500 * half + 40));
        assert_eq!(look(&mut watch, 0, 60_000, &words), []);
    }

    #[test]
    fn a_busy_server_may_be_silent_for_longer() {
        let mut watch = LinkWatch::new(ms(0), 10, 10);
        watch.expect_every(9);
        assert_eq!(
            look(&mut watch, 0, 20_000, &[900, 1800, 3600, 4500]).len(),
            1
        );
        watch.receive(ms(20_000));
        watch.expect_every(1);
        assert_eq!(watch.next_due(LOST_AFTER), None);
        assert_eq!(look(&mut watch, 20_000, 21_400, &[]).len(), 1);
        assert_eq!(watch.next_due(LOST_AFTER), Some(ms(21_500)));
    }

    #[test]
    fn a_program_that_stood_still_first_takes_in_what_has_arrived() {
        let mut watch = LinkWatch::new(ms(0), 10, 10);
        let words: Vec<u64> = (1..=100).map(|tick| 100 * tick).collect();
        assert_eq!(look(&mut watch, 0, 10_000, &words), []);
        // No check for five seconds. Datagrams that have arrived are handed in after the first.
        assert_eq!(look(&mut watch, 15_000, 15_200, &[15_100]), []);
        // And if nothing has, that is noticed.
        let silent = look(&mut watch, 21_000, 22_000, &[]);
        assert_eq!(silent.len(), 1);
        assert_eq!(silent[0].since, ms(15_100));
    }

    #[test]
    fn one_that_sleeps_until_the_next_thing_is_due_gets_it_too() {
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
    fn the_player_is_warned_before_the_connection_is_lost() {
        for lost_after in [ms(400), ms(2000)] {
            let watch = LinkWatch::new(ms(0), 10, 10);
            let due = watch.next_due(lost_after).expect("it is good");
            assert!(due < lost_after, "{due:?}");
        }
    }
}
