//! The server's clock, as far as a client can know it.
//!
//! A server says numbers of ticks and no times, so a client knows when it heard of which
//! tick, and how many ticks before its own each of its commands arrived. From these follow
//!
//! - the *line*: when it would hear of each tick if nothing were ever delayed. Words that come
//!   later than their place on the line are [jitter](Clock::jitter);
//! - the *round trip*: a command that arrived before a tick came in time for it, and too
//!   late for the one before, which gives a bound on each side;
//! - the *lead*: how long before a tick's place on the line its input is sent, to arrive just
//!   in time for it. It is the round trip, the jitter and a margin. It grows if input comes
//!   too late, by up to a tick and a half where datagrams are lost, since each command is in
//!   the next datagram, too. It shrinks slowly while all comes in time, and faster if input
//!   comes more than a tick too early.
//!
//! Times are spans since some moment that the caller chooses, once for all calls.

use std::collections::VecDeque;
use std::time::Duration;

use shared::Tick;
use shared::wire::movement::MARGIN_MAX;

/// When ticks are heard of, and when input has to be sent for them.
#[derive(Clone, Debug)]
pub struct Clock {
    /// All times are in nanoseconds, since differences may be negative.
    period: i64,
    /// When words arrived, oldest first.
    arrivals: VecDeque<Arrival>,
    /// The first tick that was heard of, from which the others are counted.
    base: Tick,
    /// When that tick would have been heard of without delay; `None` before the first word.
    line: Option<i64>,
    jitter: i64,
    newest: Tick,
    inputs: VecDeque<Input>,
    /// The bounds on the round trip that the latest inputs gave, oldest first.
    bounds: VecDeque<(i64, i64)>,
    /// What the transport knew at first.
    first_round_trip: Option<i64>,
    /// What the lead is, without jitter and margin.
    way: i64,
    /// The latest inputs since the way was changed last, the newest in the lowest bit: whether
    /// each was late, and whether it was much too early.
    late: u64,
    early: u64,
    /// All of them came at least a tick too early.
    has_spare: bool,
    judged: u32,
    /// Whether each of the latest 64 inputs was late.
    all_late: u64,
    all_judged: u32,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: i64,
    /// When the base would have been heard of with the same delay.
    origin: i64,
}

/// Commands that were sent together for the first time.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// The sequence number of the last of them.
    sequence: u32,
    at: i64,
    tick: Tick,
}

impl Clock {
    /// A clock that has heard nothing yet. `round_trip` is a first guess, if there is one.
    pub(crate) fn new(tick_hz: u32, round_trip: Option<Duration>) -> Clock {
        let first = round_trip.map(nanoseconds);
        let period = 1_000_000_000 / i64::from(tick_hz.max(1));
        Clock {
            period,
            arrivals: VecDeque::new(),
            base: Tick(0),
            line: None,
            jitter: 0,
            newest: Tick(0),
            inputs: VecDeque::new(),
            bounds: VecDeque::new(),
            first_round_trip: first,
            way: first.unwrap_or(period),
            late: 0,
            early: 0,
            has_spare: true,
            judged: 0,
            all_late: 0,
            all_judged: 0,
        }
    }

    /// The time from one tick to the next.
    pub fn period(&self) -> Duration {
        duration(self.period)
    }

    /// The tick of which a word may arrive now, and the share of the way to the next one.
    /// `None` before the first word.
    pub fn heard_tick(&self, now: Duration) -> Option<f64> {
        let since = nanoseconds(now) - self.line?;
        Some(moment_of(self.base) + since as f64 / self.period as f64)
    }

    /// The tick in which the server is now: half a round trip later than
    /// [`Clock::heard_tick`].
    pub fn server_tick(&self, now: Duration) -> Option<f64> {
        let half = self.round_trip().unwrap_or_default() / 2;
        self.heard_tick(now + half)
    }

    /// The tick that input sent now is meant for: the next whole number from this on.
    pub fn input_tick(&self, now: Duration) -> Option<f64> {
        self.heard_tick(now + self.lead())
    }

    /// The caller's time at which the server began tick 0, which may be before the caller's
    /// first moment: in seconds.
    pub fn offset_seconds(&self) -> Option<f64> {
        let half = self.round_trip().unwrap_or_default() / 2;
        let before = moment_of(self.base) * self.period as f64;
        Some(((self.line? - nanoseconds(half)) as f64 - before) / 1e9)
    }

    /// From sending a word until its effect may be heard of, without the wait for a tick.
    /// `None` before the first command, unless the transport knew.
    pub fn round_trip(&self) -> Option<Duration> {
        let Some(least) = self.bounds.iter().map(|b| b.1).min() else {
            return self.first_round_trip.map(duration);
        };
        // What a lost datagram delayed says only that the round trip is shorter.
        let lows = self.bounds.iter().map(|b| b.0).filter(|&low| low < least);
        let low = lows.max().unwrap_or(least - self.period).max(0);
        Some(duration((low + least) / 2))
    }

    /// By how much words are late: 95 of 100 by no more than this.
    pub fn jitter(&self) -> Duration {
        duration(self.jitter)
    }

    /// How long before the word of a tick is expected its input is sent.
    pub fn lead(&self) -> Duration {
        duration(self.way + self.jitter + self.period / MARGIN)
    }

    /// The share of the latest 64 inputs that were processed later than in the tick they
    /// were meant for, from 0 to 1: their datagrams were lost, or came too late.
    pub fn late_share(&self) -> f64 {
        match self.all_judged {
            0 => 0.0,
            judged => f64::from(self.all_late.count_ones()) / f64::from(judged.min(64)),
        }
    }
}

impl Clock {
    /// A word of a tick has arrived, which says up to which command it was processed, and by
    /// how many ticks those came too early.
    pub(crate) fn hear(&mut self, tick: Tick, processed: u32, margin: Option<i32>, now: Duration) {
        let at = nanoseconds(now);
        if self.line.is_none() {
            self.base = tick;
        }
        self.arrivals.push_back(Arrival {
            at,
            origin: at.saturating_sub(self.since_base(tick)),
        });
        while self.arrivals.len() > ARRIVALS_MAX
            || self.arrivals.len() > ARRIVALS_MIN && self.arrivals[0].at < at - ARRIVALS_SPAN
        {
            self.arrivals.pop_front();
        }
        let mut origins: Vec<i64> = self.arrivals.iter().map(|a| a.origin).collect();
        origins.sort_unstable();
        let line = origins[0];
        self.line = Some(line);
        self.jitter = origins[(origins.len() - 1) * 95 / 100] - line;
        if tick > self.newest {
            self.judge(processed, margin, line);
            self.newest = tick;
        }
    }

    /// Input was sent for a tick.
    pub(crate) fn send(&mut self, sequence: u32, tick: Tick, now: Duration) {
        self.inputs.push_back(Input {
            sequence,
            at: nanoseconds(now),
            tick,
        });
        if self.inputs.len() > INPUTS_MAX {
            self.inputs.pop_front();
        }
    }

    /// Another connection begins, with sequence numbers of its own.
    pub(crate) fn forget_inputs(&mut self) {
        self.inputs.clear();
    }

    /// Learns from the inputs that were processed since the last word.
    fn judge(&mut self, processed: u32, margin: Option<i32>, line: i64) {
        let is_processed = |input: &Input| processed.wrapping_sub(input.sequence) as i32 >= 0;
        let (mut inputs, mut was_late) = (0, false);
        while let Some(input) = self.inputs.pop_front_if(|input| is_processed(input)) {
            inputs += 1;
            was_late |= input.tick <= self.newest;
            if inputs == 1
                && let Some(margin) = margin.filter(|m| m.abs() < MARGIN_MAX)
                && self.inputs.front().is_none_or(|next| !is_processed(next))
            {
                self.bound(input, margin, line);
            }
        }
        let margin = margin.or(was_late.then_some(-1));
        if let Some(margin) = margin.filter(|_| inputs > 0) {
            self.adapt(margin);
        }
    }

    /// An input came so many ticks too early: in the tick before, it had not come.
    fn bound(&mut self, input: Input, margin: i32, line: i64) {
        let ahead = self.since_base(input.tick) - i64::from(margin) * self.period;
        let high = line.saturating_add(ahead) - input.at;
        self.bounds.push_back((high - self.period, high));
        if self.bounds.len() > BOUNDS_MAX {
            self.bounds.pop_front();
        }
        if self.first_round_trip.is_none() {
            self.first_round_trip = Some(high.max(0));
            self.way = high.max(0);
        }
    }

    /// The time from the base to a tick.
    fn since_base(&self, tick: Tick) -> i64 {
        let ahead = i64::from(tick.since(self.base)) - i64::from(self.base.since(tick));
        ahead.saturating_mul(self.period)
    }

    /// Some input came so many ticks too early.
    fn adapt(&mut self, margin: i32) {
        let (is_late, is_early) = (margin < 0, margin > 1);
        self.all_late = self.all_late << 1 | u64::from(is_late);
        self.all_judged = self.all_judged.saturating_add(1);
        self.late = self.late << 1 | u64::from(is_late);
        self.early = self.early << 1 | u64::from(is_early);
        self.has_spare &= margin > 0;
        self.judged += 1;
        let lately = |bits: u64| (bits & ((1 << LATELY) - 1)).count_ones();
        let round_trip = nanoseconds(self.round_trip().unwrap_or_default());
        let is_short = self.way < round_trip + self.period * 3 / 2;
        let is_calm =
            self.late == 0 && self.judged >= if self.has_spare { LATELY } else { u64::BITS };
        let change = if is_late && is_short || lately(self.late) >= MANY {
            self.period / 4
        } else if lately(self.early) >= SOME {
            -self.period / 8
        } else if is_calm {
            -self.period / 32
        } else {
            return;
        };
        self.way = (self.way + change).clamp(0, WAY_MAX);
        (self.late, self.early, self.judged) = (0, 0, 0);
        self.has_spare = true;
    }
}

pub(crate) fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4)
}

fn duration(nanoseconds: i64) -> Duration {
    Duration::from_nanos(nanoseconds.max(0) as u64)
}

/// Servers' and clients' clocks run apart, and an overloaded server leaves out ticks, so the
/// line follows what was heard in this time.
const ARRIVALS_SPAN: i64 = 4_000_000_000;
const ARRIVALS_MIN: usize = 4;
const ARRIVALS_MAX: usize = 256;
/// Inputs of which the server says nothing.
const INPUTS_MAX: usize = 256;
const BOUNDS_MAX: usize = 32;
/// The lead has this part of a tick to spare, beside the jitter.
const MARGIN: i64 = 4;
/// Of the latest so many inputs, the lead follows some and many.
const LATELY: u32 = 16;
const SOME: u32 = 3;
const MANY: u32 = 6;
const WAY_MAX: i64 = 2_000_000_000;
/// The tick in which a moment lies, in ticks; the first or last tick for one beyond.
pub(crate) fn tick_of(moment: f64) -> Tick {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "a float becomes the nearest number"
    )]
    Tick(moment as u64)
}

/// A tick as a moment, in ticks.
#[allow(
    clippy::cast_precision_loss,
    reason = "worlds do not run for 2^53 ticks"
)]
pub(crate) fn moment_of(tick: Tick) -> f64 {
    tick.0 as f64
}
