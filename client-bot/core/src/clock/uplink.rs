//! How much the way to the server takes.
//!
//! A client sends in each tick of play. Where the way takes less than that, packets queue on it:
//! input needs longer and longer, and at last most of it is lost. Headers are most of what a client
//! sends, so there it sends the input of several ticks together. Nothing is lost by that but time:
//! input is due so much earlier.
//!
//! The server reports by how many ticks each input came too early, so the client knows how long each
//! was on its way. A **queue** stands where even the fastest input of half a second took longer than
//! the fastest one lately. A way that only became longer looks the same, until a queue would be
//! gone.

/// How many ticks' input is sent together. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Uplink {
    period: i64,
    every: u32,
    every_max: u32,
    /// The shortest delay in this span and the one before.
    shortest: [Option<i64>; 2],
    span_ends: i64,
    /// The shortest delay in this step, and how many there were.
    step: Option<i64>,
    judged: u32,
    step_ends: i64,
    /// Steps since `every` changed, and for how many steps a queue stands where it cannot grow.
    since_changed: u32,
    standing: u32,
    /// Its value before it was lowered last.
    before: u32,
    /// Steps without a queue until less is tried.
    patience: u32,
}

impl Uplink {
    pub fn new(period: i64) -> Uplink {
        let every_max = (TOGETHER_MAX / period.max(1)).clamp(1, EVERY_MAX);
        Uplink {
            period,
            every: 1,
            every_max: u32::try_from(every_max).unwrap_or(1),
            shortest: [None; 2],
            span_ends: 0,
            step: None,
            judged: 0,
            step_ends: 0,
            since_changed: 0,
            standing: 0,
            before: 1,
            patience: PATIENCE_MIN,
        }
    }

    /// Input is sent every so many ticks.
    pub fn every(&self) -> u32 {
        self.every
    }

    /// How much earlier input is due, so that the first of those sent together comes in
    /// time.
    pub fn wait(&self) -> i64 {
        i64::from(self.every - 1) * self.period
    }

    /// An input was so long on its way, counted from any moment.
    pub fn note(&mut self, delay: i64, now: i64) {
        if now >= self.step_ends {
            self.end_step();
            (self.step, self.judged) = (None, 0);
            self.step_ends = now + STEP;
        }
        if now >= self.span_ends {
            self.shortest = [None, self.shortest[0]];
            self.span_ends = now + SPAN;
        }
        let shorter = |known: Option<i64>| known.map_or(delay, |known| known.min(delay));
        self.shortest[0] = Some(shorter(self.shortest[0]));
        self.step = Some(shorter(self.step));
        self.judged += 1;
    }

    fn end_step(&mut self) {
        let (Some(now), Some(shortest)) = (self.step, self.shortest.into_iter().flatten().min())
        else {
            return;
        };
        if self.judged < JUDGED_MIN {
            return;
        }
        self.since_changed += 1;
        let stands = now - shortest >= QUEUE_MIN.max(2 * self.period);
        if !stands {
            self.standing = 0;
            self.try_less();
        } else if self.every < self.every_max {
            // A change needs a step to show.
            if self.since_changed >= 2 || self.every == 1 {
                self.send_together();
            }
        } else {
            self.standing += 1;
            if self.standing >= STEPS_OF_QUEUE {
                // A queue would be gone by now: the way is a longer one.
                self.shortest = [Some(now), None];
                self.set(1);
            }
        }
    }

    fn send_together(&mut self) {
        let was_enough = self.before > self.every && self.since_changed <= STEPS_TO_SHOW;
        if was_enough {
            // It was lowered just now.
            self.patience = (self.patience * 2).min(PATIENCE_MAX);
            return self.set(self.before);
        }
        self.set((self.every * 3).min(self.every_max));
    }

    fn try_less(&mut self) {
        if self.every > 1 && self.since_changed >= self.patience {
            self.before = self.every;
            self.set(self.every - self.every.div_ceil(4));
        } else if self.every == 1 && self.since_changed >= PATIENCE_MAX {
            self.patience = PATIENCE_MIN;
        }
    }

    fn set(&mut self, every: u32) {
        self.every = every;
        (self.since_changed, self.standing) = (0, 0);
    }
}

/// Input is sent together for no longer than this, and for no more ticks.
const TOGETHER_MAX: i64 = 133_333_333;
const EVERY_MAX: i64 = 32;
/// From one check of the way to the next.
const STEP: i64 = 500_000_000;
/// The shortest delay is looked for in the last one to two spans.
const SPAN: i64 = 10_000_000_000;
/// A queue this long stands because of what is sent.
const QUEUE_MIN: i64 = 120_000_000;
/// Fewer inputs in a step say nothing: one of them may have had luck.
const JUDGED_MIN: u32 = 2;
/// After so many steps without too much, a queue is gone, if it was one.
const STEPS_OF_QUEUE: u32 = 6;
/// Within so many steps a queue shows that less was not enough.
const STEPS_TO_SHOW: u32 = 6;
const PATIENCE_MIN: u32 = 20;
const PATIENCE_MAX: u32 = 120;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const HZ: i64 = 60;

    /// A way that takes `rate` bytes a second, with a buffer of 300 ms, for packets of so many
    /// bytes, and so many more for each tick in them.
    struct Way {
        uplink: Uplink,
        rate: i64,
        delay: i64,
        tick: i64,
        free: i64,
        sent: i64,
        /// How long each packet waited, and how many were lost.
        waits: Vec<i64>,
        lost: usize,
    }

    impl Way {
        fn new(rate: i64) -> Way {
            Way {
                uplink: Uplink::new(1_000_000_000 / HZ),
                rate,
                delay: 40 * MS,
                tick: 0,
                free: 0,
                sent: 0,
                waits: vec![],
                lost: 0,
            }
        }

        fn run(&mut self, seconds: i64) {
            for _ in 0..seconds * HZ {
                self.tick += 1;
                let every = i64::from(self.uplink.every());
                if self.tick < self.sent + every {
                    continue;
                }
                let bytes = 100 + 6 * (self.tick - self.sent);
                self.sent = self.tick;
                let now = self.tick * 1_000_000_000 / HZ;
                let wait = (self.free - now).max(0);
                if wait > 300 * MS {
                    self.lost += 1;
                    continue;
                }
                self.free = now + wait + bytes * 1_000_000_000 / self.rate;
                self.waits.push(wait);
                // It is reported at once here.
                self.uplink.note(self.delay + wait, now);
            }
        }
    }

    #[test]
    fn a_wide_way_is_sent_each_tick() {
        let mut way = Way::new(100_000);
        way.run(60);
        assert_eq!((way.uplink.every(), way.uplink.wait()), (1, 0));
        assert_eq!(way.waits.len(), 60 * HZ as usize);
    }

    #[test]
    fn a_narrow_way_is_sent_several_ticks_together_and_its_queue_goes() {
        for rate in [2000, 4000] {
            let mut way = Way::new(rate);
            way.run(4);
            let (waits, lost) = (way.waits.len(), way.lost);
            way.run(30);
            // Now and then it is tried whether less is enough.
            let late = way.waits[waits..].iter().filter(|&&wait| wait > 150 * MS);
            let all = way.waits.len() - waits;
            assert!(late.count() * 5 < all, "{rate}: {:?}", &way.waits[waits..]);
            assert!(
                (way.lost - lost) * 20 < all,
                "{rate}: {} lost",
                way.lost - lost
            );
        }
    }

    #[test]
    fn a_way_that_gets_wider_is_sent_each_tick_again() {
        let mut way = Way::new(2000);
        way.run(20);
        assert!(way.uplink.every() > 2);
        way.rate = 100_000;
        way.run(120);
        assert_eq!(way.uplink.every(), 1);
    }

    #[test]
    fn a_longer_way_is_no_queue_for_long() {
        let mut way = Way::new(100_000);
        way.run(10);
        way.delay = 300 * MS;
        way.run(8);
        assert_eq!(way.uplink.every(), 1);
        way.run(60);
        assert_eq!(way.uplink.every(), 1);
    }

    #[test]
    fn slow_worlds_send_each_tick_however_narrow_the_way_is() {
        let mut uplink = Uplink::new(100 * MS);
        for tick in 0..100 {
            uplink.note(tick * 10 * MS, tick * 100 * MS);
        }
        assert_eq!(uplink.every(), 1);
    }
}
