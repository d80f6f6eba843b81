//! The server's clock, as far as a client can know it.
//!
//! A server sends numbers of ticks and no times, so a client measures when it received which
//! tick, and how many ticks before its own each of its commands arrived. From these follow
//!
//! - the *line*: when it would receive each tick if nothing were ever delayed. Datagrams that
//!   come later than their place on the line are [jitter](Clock::jitter);
//! - the *lead*: how long before a tick's place on the line its input is sent, to arrive just in
//!   time for it. It follows what the latest inputs needed;
//! - how many ticks' input is sent together, where the way to the server takes little;
//! - the *round trip*: an input that came in time for a tick and would have been too late for the
//!   one before gives a bound on each side.
//!
//! Times are spans since some moment that the caller chooses, once for all calls.

mod lead;
mod uplink;

use std::collections::VecDeque;
use std::time::Duration;

use shared::Tick;

use lead::{Feedback, Lead};
use uplink::Uplink;

/// When ticks are received, and when input has to be sent for them.
#[derive(Clone, Debug)]
pub struct Clock {
    /// All times are in nanoseconds, since differences may be negative.
    period: i64,
    /// When datagrams arrived, oldest first.
    arrivals: VecDeque<Arrival>,
    /// Reused: their origins.
    origins: Vec<i64>,
    /// The first tick that was received, from which the others are counted.
    base: Tick,
    /// When that tick would have been received without delay; `None` before the first one.
    line: Option<i64>,
    jitter: i64,
    newest: Tick,
    lead: Lead,
    uplink: Uplink,
    /// The transport's first guess.
    first_round_trip: Option<i64>,
    /// Input for ticks before this one would only be too late: it is sent further ahead since.
    first_input: Tick,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: i64,
    /// When the base would have been received with the same delay.
    origin: i64,
}

impl Clock {
    /// A clock that has received nothing yet. `round_trip` is a first guess, if there is one.
    pub(crate) fn new(tick_hz: u32, round_trip: Option<Duration>) -> Clock {
        let first = round_trip.map(nanoseconds);
        let period = 1_000_000_000 / i64::from(tick_hz.max(1));
        Clock {
            period,
            arrivals: VecDeque::new(),
            origins: vec![],
            base: Tick(0),
            line: None,
            jitter: 0,
            newest: Tick(0),
            lead: Lead::new(period),
            uplink: Uplink::new(period),
            first_round_trip: first,
            first_input: Tick(0),
        }
    }

    /// The time from one tick to the next.
    pub fn period(&self) -> Duration {
        duration(self.period)
    }

    /// The tick that may arrive now, and the share of the way to the next one.
    /// `None` before the first datagram.
    pub fn received_tick(&self, now: Duration) -> Option<f64> {
        let since = nanoseconds(now) - self.line?;
        Some(moment_of(self.base) + since as f64 / self.period as f64)
    }

    /// The tick in which the server is now: half a round trip later than
    /// [`Clock::received_tick`].
    pub fn server_tick(&self, now: Duration) -> Option<f64> {
        let half = self.round_trip().unwrap_or_default() / 2;
        self.received_tick(now + half)
    }

    /// The tick that input sent now is meant for: the next whole number from this on.
    pub fn input_tick(&self, now: Duration) -> Option<f64> {
        self.line?;
        let since = nanoseconds(now) + self.lead.ahead() + self.uplink.wait();
        Some(moment_of(self.base) + since as f64 / self.period as f64)
    }

    /// The caller's time at which the server began tick 0, which may be before the caller's
    /// first moment: in seconds.
    pub fn offset_seconds(&self) -> Option<f64> {
        let half = self.round_trip().unwrap_or_default() / 2;
        let before = moment_of(self.base) * self.period as f64;
        Some(((self.line? - nanoseconds(half)) as f64 - before) / 1e9)
    }

    /// The first tick that input can be sent for, beside those that were received.
    pub(crate) fn first_input(&self) -> Tick {
        self.first_input
    }

    /// From sending a command until its effect may arrive, without the wait for a tick.
    /// `None` before the first command, unless the transport had a guess.
    pub fn round_trip(&self) -> Option<Duration> {
        match (self.lead.least_need(), self.line) {
            (Some((low, most)), Some(line)) => {
                let low = (low + line).max(0);
                Some(duration((low + most + line) / 2))
            }
            _ => self.first_round_trip.map(duration),
        }
    }

    /// By how much words are late: 95 of 100 by no more than this.
    pub fn jitter(&self) -> Duration {
        duration(self.jitter)
    }

    /// How long before the word of a tick is expected its input is sent.
    pub fn lead(&self) -> Duration {
        duration(self.line.map_or(0, |line| self.lead.ahead() + line))
    }

    /// Input of so many ticks is sent together: 1, unless the way to the server takes less.
    pub fn send_every(&self) -> u32 {
        self.uplink.every()
    }

    /// The share of the latest 64 inputs that were processed later than in the tick they
    /// were meant for, from 0 to 1: their datagrams were lost, or came too late.
    pub fn late_share(&self) -> f64 {
        self.lead.late_share()
    }
}

impl Clock {
    /// A datagram of a tick has arrived, with the last processed command, and by
    /// how many ticks commands came too early.
    pub(crate) fn receive(
        &mut self,
        tick: Tick,
        processed: u32,
        margin: Option<i32>,
        now: Duration,
    ) {
        let at = nanoseconds(now);
        if self.line.is_none() {
            self.base = tick;
        }
        self.arrivals.push_back(Arrival {
            at,
            origin: at.saturating_sub(since(self.base, tick, self.period)),
        });
        while self.arrivals.len() > ARRIVALS_MAX
            || self.arrivals.len() > ARRIVALS_MIN && self.arrivals[0].at < at - ARRIVALS_SPAN
        {
            self.arrivals.pop_front();
        }
        self.origins.clear();
        self.origins.extend(self.arrivals.iter().map(|a| a.origin));
        let late = (self.origins.len() - 1) * 95 / 100;
        let (earlier, &mut late, _) = self.origins.select_nth_unstable(late);
        let line = earlier.iter().min().map_or(late, |&least| least.min(late));
        match self.line.replace(line) {
            None => {
                let round_trip = self.first_round_trip.unwrap_or(self.period);
                self.lead.guess(round_trip - line + self.period / 4);
            }
            // The need of input can't be measured now, but a server that leaves out ticks shows.
            Some(before) => self.lead.follow(before - line, at),
        }
        self.jitter = late - line;
        if tick <= self.newest {
            return;
        }
        let feedback = Feedback {
            tick,
            before: self.newest,
            processed,
            margin,
        };
        self.newest = tick;
        let base = self.base;
        let period = self.period;
        let is_further = self
            .lead
            .receive(feedback, at, |tick| since(base, tick, period));
        self.lead.bound(LEAD_MAX - line);
        if let Some(delay) = self.lead.take_delay() {
            self.uplink.note(delay, at);
        }
        if is_further && let Some(first) = self.input_tick(now) {
            self.first_input = tick_of(first.max(0.0));
        }
    }

    /// Whether input for a tick has to be sent by now.
    pub(crate) fn is_time_for(&self, tick: Tick, now: Duration) -> bool {
        // However moments are rounded.
        let soon = nanoseconds(now) + self.lead.ahead() + self.period / 8;
        soon >= since(self.base, tick, self.period)
    }

    /// Input was sent, for this tick and maybe for later ones.
    pub(crate) fn send(&mut self, sequence: u32, tick: Tick, now: Duration) {
        let since_base = since(self.base, tick, self.period);
        self.lead.send(sequence, tick, since_base, nanoseconds(now));
    }

    /// Another connection begins, with sequence numbers of its own.
    pub(crate) fn forget_inputs(&mut self) {
        self.lead.forget_inputs();
    }

    /// The server refuses input that comes so many ticks too early.
    pub(crate) fn set_early_max(&mut self, ticks: u32) {
        self.lead.set_early_max(self.period * i64::from(ticks));
    }

    /// Whether input for one tick should be left out: the server has one more than it needs.
    pub(crate) fn take_surplus(&mut self, now: Duration) -> bool {
        self.lead.take_surplus(nanoseconds(now))
    }
}

/// The time from one tick to another.
fn since(base: Tick, tick: Tick, period: i64) -> i64 {
    let ahead = i64::from(tick.since(base)) - i64::from(base.since(tick));
    ahead.saturating_mul(period)
}

pub(crate) fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4)
}

fn duration(nanoseconds: i64) -> Duration {
    Duration::from_nanos(nanoseconds.max(0) as u64)
}

/// Servers' and clients' clocks run apart, and an overloaded server leaves out ticks, so the
/// line follows the arrivals of this time.
const ARRIVALS_SPAN: i64 = 4_000_000_000;
const ARRIVALS_MIN: usize = 4;
const ARRIVALS_MAX: usize = 256;
/// A longer round trip is not playable.
const LEAD_MAX: i64 = 3_000_000_000;

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
