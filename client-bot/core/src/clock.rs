//! The server's clock, as far as a client can know it.
//!
//! A server says numbers of ticks and no times, so a client knows when it heard of which
//! tick, and in which tick each of its commands was processed. From these follow
//!
//! - the *line*: when it would hear of each tick if nothing were ever delayed. Words that come
//!   later than their place on the line are [jitter](Clock::jitter);
//! - the *round trip*: a command that was processed in a tick came in time for it, and too
//!   late for the one before, which gives a bound on each side;
//! - the *lead*: how long before a tick's place on the line its input is sent. Input that is
//!   late makes the lead longer, and input in time makes it a little shorter, so that it
//!   arrives just in time. By how much a command is early cannot be known, only its tick.
//!
//! Times are spans since some moment that the caller chooses, once for all calls.

use std::collections::VecDeque;
use std::time::Duration;

use shared::Tick;

/// When ticks are heard of, and when input has to be sent for them.
#[derive(Clone, Debug)]
pub struct Clock {
    /// All times are in nanoseconds, since differences may be negative.
    period: i64,
    /// When words arrived, oldest first.
    arrivals: VecDeque<Arrival>,
    /// When tick 0 would have been heard of; `None` before the first word.
    line: Option<i64>,
    jitter: i64,
    newest: Tick,
    inputs: VecDeque<Input>,
    /// The bounds on the round trip that the latest inputs gave, oldest first.
    bounds: VecDeque<(i64, i64)>,
    /// What the transport measured.
    told_round_trip: Option<i64>,
    lead: i64,
    /// When the lead was made longer last: input from before says nothing of it.
    lengthened: i64,
    /// Of the latest inputs: whether each was late, the newest in the lowest bit.
    late: u64,
    judged: u32,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: i64,
    /// When tick 0 would have been heard of with the same delay.
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
    /// A clock that has heard nothing yet.
    pub fn new(tick_hz: u32) -> Clock {
        let period = 1_000_000_000 / i64::from(tick_hz.max(1));
        Clock {
            period,
            arrivals: VecDeque::new(),
            line: None,
            jitter: 0,
            newest: Tick(0),
            inputs: VecDeque::new(),
            bounds: VecDeque::new(),
            told_round_trip: None,
            lead: period,
            lengthened: i64::MIN,
            late: 0,
            judged: 0,
        }
    }

    /// The time from one tick to the next.
    pub fn period(&self) -> Duration {
        duration(self.period)
    }

    /// The tick of which a word may arrive now, and the share of the way to the next one.
    /// `None` before the first word.
    pub fn heard_tick(&self, now: Duration) -> Option<f64> {
        Some((nanoseconds(now) - self.line?) as f64 / self.period as f64)
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
        Some((self.line? - nanoseconds(half)) as f64 / 1e9)
    }

    /// From sending a word until its effect may be heard of, without the wait for a tick.
    /// `None` until the transport or the first command tells.
    pub fn round_trip(&self) -> Option<Duration> {
        if let Some(told) = self.told_round_trip {
            return Some(duration(told));
        }
        let least = self.bounds.iter().map(|b| b.1).min()?;
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
        duration(self.lead)
    }

    /// The share of the latest 64 inputs that were processed later than in the tick they
    /// were meant for, from 0 to 1: their datagrams were lost, or came too late.
    pub fn late_share(&self) -> f64 {
        match self.judged {
            0 => 0.0,
            judged => f64::from(self.late.count_ones()) / f64::from(judged.min(64)),
        }
    }

    /// The round trip as the transport measures it.
    pub fn set_round_trip(&mut self, round_trip: Duration) {
        let told = nanoseconds(round_trip);
        if self.told_round_trip.is_none() && self.judged == 0 {
            self.lead = told + self.period / LEAD_MARGIN;
        }
        self.told_round_trip = Some(told);
    }
}

impl Clock {
    /// A word of a tick has arrived, which says up to which command it was processed.
    pub(crate) fn hear(&mut self, tick: Tick, processed: u32, now: Duration) {
        let at = nanoseconds(now);
        self.arrivals.push_back(Arrival {
            at,
            origin: at - i64::from(tick.0) * self.period,
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
            self.judge(tick, processed, line);
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

    /// Learns from the inputs that were processed between the last tick heard of and this.
    fn judge(&mut self, tick: Tick, processed: u32, line: i64) {
        let is_processed = |input: &Input| processed.wrapping_sub(input.sequence) as i32 >= 0;
        while let Some(input) = self.inputs.pop_front_if(|input| is_processed(input)) {
            let heard = |tick: Tick| line + i64::from(tick.0) * self.period;
            let high = heard(tick) - input.at;
            self.bounds.push_back((heard(self.newest) - input.at, high));
            if self.bounds.len() > BOUNDS_MAX {
                self.bounds.pop_front();
            }
            if self.judged == 0 && self.told_round_trip.is_none() {
                self.lead = high.max(0);
            }
            // Of input that was meant for a tick in between nothing is known.
            let is_late = input.tick <= self.newest;
            if is_late || tick <= input.tick {
                self.late = self.late << 1 | u64::from(is_late);
                self.judged = self.judged.saturating_add(1);
                self.adapt(is_late, input.at);
            }
        }
    }

    fn adapt(&mut self, is_late: bool, sent: i64) {
        if !is_late {
            self.lead -= self.period / LEAD_SHORTER;
        } else if sent >= self.lengthened {
            self.lead += self.period / LEAD_LONGER;
            self.lengthened = self.arrivals.back().map_or(sent, |a| a.at);
        }
        self.lead = self.lead.clamp(0, LEAD_MAX);
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
/// In parts of a tick: with these, about one input in ten is late.
const LEAD_LONGER: i64 = 6;
const LEAD_SHORTER: i64 = 64;
const LEAD_MARGIN: i64 = 4;
const LEAD_MAX: i64 = 2_000_000_000;
