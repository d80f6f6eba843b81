//! An estimate of what a client's link carries, from its acknowledgements.
//!
//! The server sends all updates until the link cannot carry them. Then packets queue on the way,
//! the client's view gets old, and at last packets are lost. So the server estimates the **queue**:
//! by how much the round trip exceeds the shortest one of late. Jitter does not count, since the
//! shortest round trip of half a second is compared. While a queue stands, the server sends less
//! than has arrived lately, until the queue is gone, and then slowly more. The least urgent updates
//! are deferred.
//!
//! A round trip that is longer although as much arrives as is sent comes from another path, not
//! from a queue.
//!
//! ECN marks count as a queue at once.
//!
//! Loss alone does not slow anything down: radio loses packets, too. Only if nearly half are lost,
//! something on the way drops them because they are too many.
//!
//! All times are in ticks: the session has no clock.

use shared::Tick;

/// The estimate of one client's link.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The latest round trip, from a datagram of a tick to its acknowledgement.
    round_trip: u32,
    /// The shortest one in this span and the one before.
    shortest: [Option<u32>; 2],
    /// When the span ends.
    span_ends: Tick,
    step: Step,
    step_ends: Tick,
    /// The ticks with datagrams in the latest steps, the newest first.
    sent: [u16; STEPS_KEPT],
    /// The expected and the acknowledged ticks of the step before.
    before: (u32, u32),
    limit: Option<Limit>,
}

/// The counts of half a second.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    shortest: Option<u32>,
    bytes: u32,
    /// Ticks with datagrams to the client, and those that it has acknowledged.
    sent: u32,
    arrived: u32,
    /// There was more to send than was allowed.
    is_full: bool,
    /// Packets were marked on the way.
    is_marked: bool,
}

/// The limit of a link that carries less than there is to send.
#[derive(Clone, Copy, Debug)]
struct Limit {
    bytes_per_tick: u32,
    /// What has arrived in a tick while there was a queue: about the link's capacity.
    takes: u32,
    /// The bytes that may be sent now; below zero: an excess.
    tokens: i64,
    /// Steps since it was lowered, and since there was more to send than it allows.
    since_lowered: u32,
    since_full: u32,
    /// For how many steps a queue stands.
    standing: u32,
    /// For how many steps it takes more than before.
    wider: u32,
}

/// What the acknowledgements of a step show.
#[derive(Clone, Copy, Debug)]
struct Judgement {
    /// The shortest one of the step.
    round_trip: u32,
    queue_ms: u64,
    has_queue: bool,
    is_overloaded: bool,
    /// There was more to send than was allowed.
    is_full: bool,
    /// In a tick.
    arrived_bytes: u32,
    /// The lowest limit, in bytes a tick.
    least: u32,
}

/// What follows from a step, beside another limit.
enum Adjustment {
    None,
    /// The limit is not needed.
    Unused,
    /// The round trip is that of a longer path, without a queue.
    LongerPath,
}

impl Flow {
    /// The latest round trip, including the client's own waits.
    pub fn round_trip(&self) -> u32 {
        self.round_trip
    }

    /// Whether the acknowledgement of what was sent then is overdue.
    pub fn is_long_ago(&self, then: Tick, tick: Tick, tick_hz: u32) -> bool {
        let usual = self.usual_ticks(tick_hz);
        tick.since(then) > (tick_hz / 2).max(ANSWER_TICKS_MIN) + usual + usual / 4
    }

    /// The extra time for a client to read its stream: two round trips, since lost packets are
    /// sent again.
    pub fn reading_ticks(&self, tick_hz: u32) -> u32 {
        2 * self.usual_ticks(tick_hz)
    }

    /// After how many ticks without an acknowledgement something is sent again.
    pub fn resend_ticks(&self, tick_hz: u32) -> u32 {
        let usual = self.usual_ticks(tick_hz);
        RESEND_TICKS_MIN.max(usual + usual / 4 + 2)
    }

    /// The round trip, bounded by a plausible maximum.
    fn usual_ticks(&self, tick_hz: u32) -> u32 {
        self.round_trip.min(tick_hz * ROUND_TRIP_SECONDS_MAX)
    }

    /// The client has acknowledged this tick as the newest, and `ticks` for the first time,
    /// before `next` has begun.
    pub fn acknowledge(&mut self, newest: Tick, ticks: u32, next: Tick) {
        let round_trip = next.before(1).since(newest);
        self.round_trip = round_trip;
        let shorter = |shortest: &mut Option<u32>| {
            *shortest = Some(shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
        };
        shorter(&mut self.shortest[0]);
        shorter(&mut self.step.shortest);
        self.step.arrived += ticks;
    }

    /// Whether the link is judged when this tick begins.
    pub fn is_judged(&self, tick: Tick) -> bool {
        tick >= self.step_ends
    }

    /// Packets were marked on the way, as a queue gets long.
    pub fn mark(&mut self) {
        self.step.is_marked = true;
    }

    /// A tick begins. Returns its budget of bytes, without headers; `None`: no limit.
    pub fn begin(&mut self, tick: Tick, tick_hz: u32) -> Option<usize> {
        if self.is_judged(tick) {
            if self.step_ends > Tick(0) {
                self.end_step(tick_hz);
            }
            self.step = Step::default();
            self.step_ends = tick.after((tick_hz / 2).max(STEP_TICKS_MIN));
        }
        if tick >= self.span_ends {
            self.shortest = [None, self.shortest[0]];
            self.span_ends = tick.after(tick_hz.saturating_mul(SPAN_SECONDS));
        }
        let limit = self.limit.as_mut()?;
        // One packet at least, and two ticks at most, can be saved up.
        let most = i64::from(limit.bytes_per_tick * 2).max(PACKET_BYTES);
        limit.tokens = (limit.tokens + i64::from(limit.bytes_per_tick)).min(most);
        let allowed = usize::try_from(limit.tokens).unwrap_or(0);
        Some(allowed.saturating_sub(HEADER_BYTES))
    }

    /// Counts bytes and packets that were sent; `is_full`: there was more to send.
    pub fn send(&mut self, bytes: usize, packets: usize, is_full: bool) {
        let all = u32::try_from(bytes + packets * HEADER_BYTES).unwrap_or(u32::MAX);
        self.step.bytes = self.step.bytes.saturating_add(all);
        self.step.sent += u32::from(packets > 0);
        self.step.is_full |= is_full;
        if let Some(limit) = &mut self.limit {
            // A burst on the stream may not hold up the rest for long.
            let least = -i64::from(limit.bytes_per_tick) * i64::from(DEBT_TICKS);
            limit.tokens = (limit.tokens - i64::from(all)).max(least);
        }
    }

    fn end_step(&mut self, tick_hz: u32) {
        self.sent.rotate_right(1);
        self.sent[0] = u16::try_from(self.step.sent).unwrap_or(u16::MAX);
        let Some(judgement) = self.judge(tick_hz) else {
            return;
        };
        let Some(limit) = &mut self.limit else {
            let is_overloaded = judgement.is_overloaded;
            self.limit = is_overloaded.then(|| Limit::new(&judgement));
            return;
        };
        match limit.adjust(&judgement) {
            Adjustment::None => {}
            Adjustment::Unused => self.limit = None,
            Adjustment::LongerPath => self.shortest = [Some(judgement.round_trip), None],
        }
    }

    /// Judges the step that ends; `None` if nothing is known of it.
    fn judge(&mut self, tick_hz: u32) -> Option<Judgement> {
        let step = self.step;
        let now = step.shortest.filter(|_| step.sent > 0)?;
        let shortest = self.shortest.into_iter().flatten().min().unwrap_or(now);
        let queue = now.saturating_sub(shortest);
        let ticks = (tick_hz / 2).max(STEP_TICKS_MIN);
        let arrived = step.arrived.min(step.sent);
        let share = u64::from(step.bytes) * u64::from(arrived) / u64::from(step.sent);
        let arrived_bytes = u32::try_from(share).unwrap_or(u32::MAX) / ticks;
        let queue_ms = u64::from(queue) * 1000 / u64::from(tick_hz);
        let has_queue = queue >= QUEUE_TICKS_MIN && queue_ms >= QUEUE_MS;
        // A queue grows, or overflows, while less arrives than was sent a round trip before.
        // Where the path has just become longer, less arrives in one step only.
        let current = (self.expected(now, ticks), step.arrived);
        let before = std::mem::replace(&mut self.before, current);
        let falls_short =
            |(sent, arrived): (u32, u32)| sent >= JUDGED_MIN && arrived * 10 < sent * 9;
        let queue_grows = falls_short(current) && falls_short(before);
        // Of few, a third may arrive by chance where a tenth is lost, and a client that has just
        // joined acknowledges late.
        let (expected, arrived_of_it) = (current.0 + before.0, current.1 + before.1);
        let is_sure = expected >= LOSS_JUDGED_MIN || self.limit.is_some();
        let share = if is_sure { 2 } else { 4 };
        let loses = current.0.min(before.0) >= JUDGED_MIN && arrived_of_it * share < expected;
        // A link that carries a small part of what it did before: stream data that is lost until
        // that is noticed has to be sent again over a narrow link.
        let late = u64::from(self.round_trip.saturating_sub(shortest)) * 1000;
        let is_late = late / u64::from(tick_hz) >= COLLAPSE_QUEUE_MS;
        let collapses = current.0 >= COLLAPSE_JUDGED_MIN && current.1 * 4 < current.0 && is_late;
        Some(Judgement {
            round_trip: now,
            queue_ms,
            has_queue,
            is_overloaded: has_queue && queue_grows || loses || collapses || step.is_marked,
            is_full: step.is_full,
            // Of a collapse, some of it has arrived before.
            arrived_bytes: arrived_bytes / if collapses { 2 } else { 1 },
            least: BYTES_PER_SECOND_MIN / tick_hz + 1,
        })
    }

    /// How many ticks should have been acknowledged in the last step: those that were sent a
    /// round trip before.
    fn expected(&self, round_trip: u32, step_ticks: u32) -> u32 {
        let (whole, rest) = (round_trip / step_ticks, round_trip % step_ticks);
        let sent = |steps: u32| u32::from(self.sent.get(steps as usize).copied().unwrap_or(0));
        (sent(whole) * (step_ticks - rest) + sent(whole + 1) * rest) / step_ticks
    }
}

impl Judgement {
    /// A lower limit.
    fn lower(&self, bytes: u32) -> u32 {
        (bytes / 4 * 3).max(self.least)
    }
}

impl Limit {
    /// The first limit of a link that is overloaded.
    fn new(judgement: &Judgement) -> Limit {
        Limit {
            bytes_per_tick: judgement.lower(judgement.arrived_bytes),
            takes: judgement.arrived_bytes.max(judgement.least),
            tokens: 0,
            since_lowered: 0,
            since_full: 0,
            standing: 0,
            wider: 0,
        }
    }

    /// Lowers or raises the limit after a step.
    fn adjust(&mut self, judgement: &Judgement) -> Adjustment {
        let has_queue = judgement.has_queue;
        self.since_lowered += 1;
        self.since_full = match judgement.is_full {
            true => 0,
            false => self.since_full + 1,
        };
        self.standing = if has_queue { self.standing + 1 } else { 0 };
        if judgement.is_overloaded {
            // A change takes a step to show.
            if self.since_lowered >= 2 {
                let takes = self.bytes_per_tick.min(judgement.arrived_bytes);
                self.takes = takes.max(judgement.least);
                self.bytes_per_tick = judgement.lower(self.takes);
                (self.since_lowered, self.wider) = (0, 0);
            }
        } else if self.standing == STEPS_TO_DRAIN {
            // The queue neither grows nor drains.
            self.bytes_per_tick = judgement.lower(self.bytes_per_tick);
            self.since_lowered = 0;
        } else if self.standing >= STEPS_OF_QUEUE {
            // A queue would be gone by now. The path is a longer one, and its capacity is
            // estimated anew.
            (self.standing, self.takes) = (0, self.bytes_per_tick);
            return Adjustment::LongerPath;
        } else if self.since_full >= STEPS_UNUSED {
            return Adjustment::Unused;
        } else if judgement.is_full && !has_queue && self.since_lowered >= 2 {
            // Slowly up to its capacity and beyond, and ever faster if no queue follows.
            let is_above = self.bytes_per_tick > self.takes;
            let is_wider = is_above && judgement.queue_ms <= NO_QUEUE_MS;
            self.wider = if is_wider { self.wider + 1 } else { 0 };
            let part = match self.wider {
                0..STEPS_WIDER => 16,
                STEPS_WIDER..STEPS_MUCH_WIDER => 4,
                _ => 1,
            };
            self.bytes_per_tick += (self.bytes_per_tick / part).max(1);
        }
        Adjustment::None
    }
}

/// The bytes that QUIC, UDP and IP add to a packet, with an acknowledgement.
pub const HEADER_BYTES: usize = 64;
const PACKET_BYTES: i64 = 1200;
/// A step lasts half a second, and at least this many ticks.
const STEP_TICKS_MIN: u32 = 6;
/// The shortest round trip is that of the last one to two spans.
const SPAN_SECONDS: u32 = 10;
/// A queue this long is caused by what is sent.
const QUEUE_MS: u64 = 120;
const QUEUE_TICKS_MIN: u32 = 2;
/// A round trip that is longer by this may have met no queue: client and server wait for ticks.
const NO_QUEUE_MS: u64 = 50;
/// A step in which hardly anything arrives, and that so late, is enough.
const COLLAPSE_QUEUE_MS: u64 = 200;
const COLLAPSE_JUDGED_MIN: u32 = 8;
/// After this many steps without overload, a queue would be gone.
const STEPS_OF_QUEUE: u32 = 6;
/// After this many steps with a standing queue and no overload, the limit is lowered to drain it.
const STEPS_TO_DRAIN: u32 = 2;
/// A limit that was not reached in this many steps is dropped.
const STEPS_UNUSED: u32 = 20;
/// After this many steps above its capacity without a queue, a link has become wider, or much wider.
const STEPS_WIDER: u32 = 3;
const STEPS_MUCH_WIDER: u32 = 7;
/// Steps whose sent ticks are kept: some more than the longest round trip.
const STEPS_KEPT: usize = 8;
/// Arrivals are judged only if at least this many were sent.
const JUDGED_MIN: u32 = 3;
/// The same for a loss of nearly half, over two steps.
const LOSS_JUDGED_MIN: u32 = 24;
/// Some packets a second always go out.
const BYTES_PER_SECOND_MIN: u32 = 1000;
/// An excess is made up for within this many ticks.
const DEBT_TICKS: u32 = 10;
/// Fewer ticks say nothing: a round trip around the world can take as long.
const ANSWER_TICKS_MIN: u32 = 4;
const RESEND_TICKS_MIN: u32 = 8;
const ROUND_TRIP_SECONDS_MAX: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_HZ: u32 = 10;

    /// A link with a round trip of two ticks, a rate and a buffer of three ticks, and what a
    /// server wants to send over it in each tick.
    struct Link {
        flow: Flow,
        /// Bytes that the link carries in a tick.
        rate: usize,
        round_trip: u64,
        waiting: usize,
        lost: bool,
        /// Datagrams on their way: when each is acknowledged, and its tick.
        travelling: Vec<(u64, u64)>,
        sent: Vec<usize>,
        queues: Vec<usize>,
    }

    impl Link {
        fn new(rate: usize) -> Link {
            Link {
                flow: Flow::default(),
                rate,
                round_trip: 2,
                waiting: 0,
                lost: false,
                travelling: vec![],
                sent: vec![],
                queues: vec![],
            }
        }

        /// Runs ticks in each of which the server would send `wanted` bytes.
        fn run(&mut self, ticks: u64, wanted: usize) {
            let first = self.sent.len() as u64 + 100;
            for tick in first..first + ticks {
                let arrived = |word: &mut (u64, u64)| word.0 <= tick;
                for (_, newest) in self.travelling.extract_if(.., arrived) {
                    self.flow.acknowledge(Tick(newest), 1, Tick(tick));
                }
                let allowed = self.flow.begin(Tick(tick), TICK_HZ).unwrap_or(usize::MAX);
                let bytes = wanted.min(allowed);
                let all = bytes + HEADER_BYTES;
                self.waiting = self.waiting.saturating_sub(self.rate);
                self.queues.push(self.waiting / self.rate);
                if bytes < LEAST {
                    self.flow.send(0, 0, true);
                    self.sent.push(0);
                    continue;
                }
                self.flow.send(bytes, 1, bytes < wanted);
                self.sent.push(all);
                if self.waiting <= 3 * self.rate && !self.lost {
                    self.waiting += all;
                    let wait = (self.waiting / self.rate) as u64;
                    self.travelling
                        .push((tick + 1 + self.round_trip + wait, tick));
                }
            }
        }

        /// Bytes in a tick, over the last ones.
        fn rate_of_last(&self, ticks: usize) -> usize {
            self.sent.iter().rev().take(ticks).sum::<usize>() / ticks
        }
    }

    const LEAST: usize = 24;

    #[test]
    fn a_link_that_takes_all_is_not_limited() {
        let mut link = Link::new(100_000);
        link.run(300, 5000);
        assert_eq!(link.rate_of_last(300), 5000 + HEADER_BYTES);
        assert_eq!(link.flow.round_trip(), 2);
    }

    #[test]
    fn a_narrow_link_is_sent_nearly_what_it_takes_and_its_queue_goes() {
        for rate in [200, 800, 3200] {
            let mut link = Link::new(rate);
            link.run(300, 2 * rate);
            let last = link.rate_of_last(200);
            assert!(last * 10 < rate * 11 && last * 2 > rate, "{rate}: {last}");
            let queues = &link.queues[40..];
            // The buffer is full in few ticks, and on average there is room for half of it.
            let full = queues.iter().filter(|&&queue| queue >= 3).count();
            assert!(full * 10 < queues.len(), "{rate}: {queues:?}");
            let sum: usize = queues.iter().sum();
            assert!(sum * 2 < queues.len() * 3, "{rate}: {queues:?}");
        }
    }

    #[test]
    fn a_link_that_marks_packets_is_sent_less_although_it_loses_none() {
        let mut link = Link::new(100_000);
        link.run(100, 5000);
        for _ in 0..10 {
            link.flow.mark();
            link.run(6, 5000);
        }
        let marked = link.rate_of_last(5);
        assert!(marked < 3000, "{marked}");
        link.run(300, 5000);
        assert_eq!(link.rate_of_last(50), 5000 + HEADER_BYTES);
    }

    #[test]
    fn a_link_that_gets_wider_is_sent_all_again() {
        let mut link = Link::new(800);
        link.run(100, 5000);
        link.rate = 100_000;
        link.run(600, 5000);
        assert_eq!(link.rate_of_last(50), 5000 + HEADER_BYTES);
    }

    #[test]
    fn a_longer_path_is_no_queue_for_long() {
        let mut link = Link::new(100_000);
        link.run(100, 500);
        link.round_trip = 8;
        link.run(60, 500);
        assert_eq!(link.rate_of_last(10), 500 + HEADER_BYTES);
        assert!(!link.flow.is_long_ago(Tick(90), Tick(104), TICK_HZ));
        assert!(link.flow.is_long_ago(Tick(90), Tick(108), TICK_HZ));
    }
}
