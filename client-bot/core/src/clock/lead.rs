//! When input has to be sent for a tick.
//!
//! The server reports by how many ticks each input came too early, its margin. One with margin
//! *m* that was sent for tick *t* came in time for tick *t − m* and too late for the one before,
//! which bounds what it *needed*: how far ahead of the ticks it had to be sent, within one period.
//!
//! Input is sent so far ahead that nearly all of the latest inputs would have come in time. What
//! makes them late does not matter: jitter of the way to the server, a datagram that was lost, so
//! that its commands came with the next one, or a frame that took long. The way back has no part
//! in it: a network may delay one way and not the other.

use std::collections::VecDeque;

use shared::Tick;
use shared::wire::movement::MARGIN_MAX;

/// How far ahead of the server's ticks input is sent. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    period: i64,
    /// Input sent at a time is for the tick of this much later, counted from the base as if
    /// that began at the time zero.
    ahead: i64,
    /// Inputs that were not judged yet, oldest first.
    inputs: VecDeque<Input>,
    /// The needs of the latest inputs, oldest first.
    needs: VecDeque<Need>,
    /// How long the last input was on its way that the server reported, until it is taken.
    delay: Option<i64>,
    /// When `ahead` was changed last. Inputs sent before don't count.
    changed: i64,
    /// Sent since: inputs, and those that were late.
    judged: u32,
    late: u32,
    /// How many ticks later than they were meant the latest inputs ran that came in time, since
    /// others waited before them. Only those of which it is certain.
    waits: VecDeque<u32>,
    /// When input for a tick was left out last. Input sent before waits one tick more.
    left_out: i64,
    /// One bit for each of the latest 64 inputs: whether it was late.
    all_late: u64,
    all_judged: u32,
    /// Input that comes so much too early is refused.
    early_max: i64,
    /// The most that input may be early, beside what it needs.
    spare_max: i64,
}

/// Commands that were sent together for the first time.
#[derive(Clone, Copy, Debug)]
struct Input {
    /// The sequence number of the last of them.
    sequence: u32,
    at: i64,
    /// When they would have been sent in a game whose frames take no time.
    due: i64,
    /// Of the tick that they are meant for, from the base.
    tick: Tick,
}

/// How far ahead an input had to be sent, by a game whose frames take so long: at most so far, and
/// by less than a period less.
#[derive(Clone, Copy, Debug)]
struct Need {
    sent: i64,
    most: i64,
    /// The same without the frame, if nothing else was processed with it.
    way: Option<i64>,
}

/// A datagram's report of inputs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feedback {
    pub tick: Tick,
    /// The newest tick that was received before.
    pub before: Tick,
    pub processed: u32,
    pub margin: Option<i32>,
}

impl Lead {
    pub fn new(period: i64) -> Lead {
        Lead {
            period,
            ahead: 0,
            inputs: VecDeque::new(),
            needs: VecDeque::new(),
            delay: None,
            changed: i64::MIN,
            judged: 0,
            late: 0,
            waits: VecDeque::new(),
            left_out: i64::MIN,
            all_late: 0,
            all_judged: 0,
            early_max: i64::MAX,
            spare_max: SPARE_MAX,
        }
    }

    /// The first guess, before any input was judged.
    pub fn guess(&mut self, ahead: i64) {
        self.ahead = ahead;
    }

    /// The server's ticks arrive so much sooner now. Where no input was judged for long,
    /// they seem to begin sooner.
    pub fn follow(&mut self, sooner: i64, now: i64) {
        let last = self.needs.back();
        if sooner != 0 && last.is_none_or(|need| need.sent < now - NEEDS_SPAN) {
            self.ahead += sooner;
            self.needs.clear();
        }
    }

    /// Bounds how far ahead input is sent, whatever the server reports.
    pub fn bound(&mut self, most: i64) {
        self.ahead = self.ahead.min(most);
    }

    /// Input that comes earlier than this is refused.
    pub fn set_early_max(&mut self, early: i64) {
        self.early_max = early;
        self.spare_max = SPARE_MAX.min(early / 2).max(self.period);
    }

    pub fn ahead(&self) -> i64 {
        self.ahead
    }

    /// The most that the latest inputs needed that say so exactly, within a period: the greatest
    /// lower bound, and the least upper bound above it.
    pub fn least_need(&self) -> Option<(i64, i64)> {
        let latest = self.needs.iter().rev().filter_map(|need| need.way);
        let latest = latest.take(BOUNDS_MAX);
        let most = latest.clone().min()?;
        // Delays of lost datagrams only bound the way from above.
        let lows = latest.map(|need| need - self.period).filter(|&l| l < most);
        Some((lows.max().unwrap_or(most - self.period), most))
    }

    /// How long an input was on its way, counted from the base, if one was judged since.
    pub fn take_delay(&mut self) -> Option<i64> {
        self.delay.take()
    }

    pub fn late_share(&self) -> f64 {
        match self.all_judged {
            0 => 0.0,
            judged => f64::from(self.all_late.count_ones()) / f64::from(judged.min(u64::BITS)),
        }
    }

    /// Input was sent for a tick, which is so long after the base.
    pub fn send(&mut self, sequence: u32, tick: Tick, since_base: i64, at: i64) {
        let due = at.min(since_base - self.ahead);
        self.inputs.push_back(Input {
            sequence,
            at,
            due,
            tick,
        });
        if self.inputs.len() > INPUTS_MAX {
            self.inputs.pop_front();
        }
    }

    /// Another connection begins, with sequence numbers of its own.
    pub fn forget_inputs(&mut self) {
        self.inputs.clear();
        self.waits.clear();
    }

    /// Learns from the inputs that were processed since the last datagram; `since_base` gives
    /// the time from the base to a tick. True if input is sent more than a tick further ahead
    /// from now on.
    pub fn receive(
        &mut self,
        feedback: Feedback,
        now: i64,
        since_base: impl Fn(Tick) -> i64,
    ) -> bool {
        let is_processed = |i: &Input| feedback.processed.wrapping_sub(i.sequence) as i32 >= 0;
        let (mut count, mut first, mut last) = (0, None, None);
        while let Some(input) = self.inputs.pop_front_if(|input| is_processed(input)) {
            count += 1;
            first = first.or(Some(input));
            last = Some(input);
        }
        let (Some(first), Some(last)) = (first, last) else {
            return false;
        };
        let by = i64::from(feedback.tick.since(first.tick).min(LATE_MAX));
        let margin = match feedback.margin.map(i64::from) {
            Some(margin) if margin > -i64::from(MARGIN_MAX) => margin,
            // Beyond the range of margins.
            Some(margin) => margin.min(-by),
            // The datagram with it is lost, and no input was late in the one before.
            None if first.tick <= feedback.before => -1,
            None => return false,
        };
        self.note_wait(count, margin, &last, &feedback);
        self.all_late = self.all_late << 1 | u64::from(margin < 0);
        self.all_judged = self.all_judged.saturating_add(1);
        let is_in_range = feedback
            .margin
            .is_some_and(|margin| margin.abs() < MARGIN_MAX);
        // Of several that came together the first one was the latest. After an outage many come
        // together: then only the last one is up to date.
        let came = since_base(first.tick) - margin * self.period;
        let judged = match came - first.due > self.ahead + OUTAGE {
            true => last,
            false => first,
        };
        let way = (count == 1 && is_in_range).then_some(came - judged.at);
        // Of one that came far too early only a bound is sent.
        let is_exact = feedback.margin.is_some_and(|margin| margin < MARGIN_MAX);
        self.delay = is_exact.then_some(came - judged.at);
        let most = came - judged.due;
        if margin * self.period > self.early_max {
            // It was refused. What input needed before, as in an outage, holds no longer: where input
            // is rare, many would be refused until enough of them show it.
            self.needs.clear();
            self.ahead = self.ahead.min(most + self.spare_max);
            (self.changed, self.judged, self.late) = (now, 0, 0);
        }
        self.needs.push_back(Need {
            sent: judged.at,
            most,
            way,
        });
        let is_old = |need: &Need| need.sent < now - NEEDS_SPAN;
        while self.needs.len() > NEEDS_MAX
            || self.needs.len() > NEEDS_MIN && self.needs.front().is_some_and(is_old)
        {
            self.needs.pop_front();
        }
        let is_late = most > self.ahead && margin < 0;
        self.adapt(judged.at, is_late, now)
    }

    fn adapt(&mut self, sent: i64, is_late: bool, now: i64) -> bool {
        if sent >= self.changed {
            self.judged += 1;
            self.late += u32::from(is_late);
        }
        let before = self.ahead;
        let mut all: Vec<i64> = self.needs.iter().map(|need| need.most).collect();
        let few = all.len() / LATE_ONE_OF as usize;
        // All but a few, which may be late, needed no more than this.
        let (_, &mut most, _) = all.select_nth_unstable_by(few, |a, b| b.cmp(a));
        let latest = self.needs.iter().rev().take(LATELY).map(|need| need.most);
        let lately = latest.max().unwrap_or(most);
        // Older needs are forgotten beyond this.
        let highest = lately + self.spare_max;
        let most = most.min(highest);
        // And no less than a period before.
        let least = most - self.period;
        if least > self.ahead {
            self.ahead = least + self.period / 4;
        } else if is_late && sent >= self.changed && self.late > self.judged / LATE_ONE_OF {
            self.ahead += (self.period / 4).max(RAISE_MIN);
        } else if self.needs.len() < LATELY {
            return false;
        } else if self.ahead > highest {
            // The server leaves out ticks, or the way is far shorter now.
            self.ahead = highest;
        } else if self.ahead > most {
            self.ahead -= ((self.ahead - most) / 8).max(1);
            // Nothing is to be found out again.
            return false;
        } else if self.late == 0 && self.judged >= CALM {
            self.ahead -= self.period / 32;
        } else {
            return false;
        }
        (self.changed, self.judged, self.late) = (now, 0, 0);
        self.ahead > before + self.period
    }

    /// Notes how long an input waited in the server, if the datagram of the very tick reports
    /// that it has run.
    fn note_wait(&mut self, count: u32, margin: i64, input: &Input, feedback: &Feedback) {
        let is_since = input.at > self.left_out;
        if count != 1 || feedback.tick != feedback.before.next() || !is_since {
            return;
        }
        // A late input makes those after it wait, which is no news.
        let late = u32::try_from(-margin.min(0)).unwrap_or(u32::MAX);
        let wait = feedback.tick.since(input.tick).saturating_sub(late);
        if self.waits.len() == WAITS {
            self.waits.pop_front();
        }
        self.waits.push_back(wait);
    }

    /// Whether all of the latest inputs waited behind others, though they came in time. Then
    /// input for one tick should be left out: the server has one more than it needs.
    pub fn take_surplus(&mut self, now: i64) -> bool {
        let is_surplus = self.waits.len() == WAITS && self.waits.iter().all(|&wait| wait > 0);
        if is_surplus {
            self.waits.clear();
            self.left_out = now;
        }
        is_surplus
    }
}

/// Inputs that the server has not reported.
const INPUTS_MAX: usize = 512;
/// Needs of inputs are remembered for so long, and of so many.
const NEEDS_SPAN: i64 = 8_000_000_000;
const NEEDS_MIN: usize = 64;
const NEEDS_MAX: usize = 1024;
/// One of so many inputs may be late.
const LATE_ONE_OF: u32 = 128;
/// Input that is late is sent at least this much earlier.
const RAISE_MIN: i64 = 4_000_000;
/// The latest inputs, which show the present state.
const LATELY: usize = 16;
/// After so many inputs in time, it is tried whether less is enough.
const CALM: u32 = 64;
/// More ticks than any input is late.
const LATE_MAX: u32 = 10_000;
/// Inputs that give a round trip.
const BOUNDS_MAX: usize = 32;
/// An input that is late by this much came after an outage.
const OUTAGE: i64 = 500_000_000;
/// So many inputs in a row wait before one is left out.
const WAITS: usize = 32;
/// Input is this much earlier than lately needed at most: older delays are
/// forgotten. A world keeps input for half a second, unless its file sets another time.
const SPARE_MAX: i64 = 250_000_000;

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;

    use super::*;

    const PERIOD: i64 = 100_000_000;
    const SECOND: i64 = 1_000_000_000;
    /// The server keeps input for so long.
    const EARLY: i64 = SECOND / 2;

    /// Sends an input a second, each so long on its way, to a server whose ticks begin at multiples
    /// of the period. Returns by how many ticks each was early.
    fn margins(ways: impl IntoIterator<Item = i64>) -> Vec<i64> {
        let mut lead = Lead::new(PERIOD);
        lead.set_early_max(EARLY);
        lead.guess(2 * PERIOD);
        let mut margins = vec![];
        for (n, way) in (1..).zip(ways) {
            // At different times of a tick.
            let at = i64::from(n) * SECOND + i64::from(n * 37 % 100) * PERIOD / 100;
            let tick = (at + lead.ahead()).div_euclid(PERIOD) + 1;
            let next = (at + way).div_euclid(PERIOD) + 1;
            lead.send(n, Tick(tick as u64), tick * PERIOD, at);
            let feedback = Feedback {
                tick: Tick(next as u64),
                before: Tick(next as u64 - 1),
                processed: n,
                margin: Some((tick - next).clamp(-64, 64) as i32),
            };
            lead.receive(feedback, at + way, |tick| tick.0 as i64 * PERIOD);
            margins.push(tick - next);
        }
        margins
    }

    #[test]
    fn rare_input_is_not_refused_for_long_after_an_outage() {
        let (usual, outage) = (2 * PERIOD, 25 * PERIOD);
        for late in 1..8 {
            let ways = [usual; 8].into_iter().chain(repeat_n(outage, late));
            let margins = margins(ways.chain([usual; 30]));
            let is_refused = |&&margin: &&i64| margin * PERIOD > EARLY;
            let refused = margins.iter().filter(is_refused).count();
            assert_eq!(refused, 1, "{late} late: {margins:?}");
            let calm = margins.iter().rev().take(16);
            assert!(calm.clone().all(|&m| m >= 0), "{late} late: {margins:?}");
        }
    }
}
