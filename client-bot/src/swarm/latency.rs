//! From a bot's commands to the server's word of them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Commands of a bot that the world has not processed yet.
///
/// A bot that should have acted and did not, because the server's words came late or
/// because it was late itself, would leave out just those latencies that are long. So the
/// commands that it left out are counted as sent when they were due, and as processed with
/// the next one.
#[derive(Default)]
pub struct Unprocessed {
    /// Sequence number, and when it was sent or due.
    sent: VecDeque<(u32, Instant)>,
    last: Option<Instant>,
}

impl Unprocessed {
    /// A command is sent, by a bot that means to send one each `period`.
    pub fn send(&mut self, sequence: u32, now: Instant, period: Duration) {
        if let Some(last) = self.last
            && now > last
        {
            let mut due = last + period;
            // Bots that follow the server's words are never quite on time.
            while due + period / 2 < now && self.sent.len() < UNPROCESSED_MAX {
                self.sent.push_back((sequence, due));
                due += period;
            }
        }
        self.last = Some(now);
        if self.sent.len() < UNPROCESSED_MAX {
            self.sent.push_back((sequence, now));
        }
    }

    /// The bot pauses of its own accord.
    pub fn pause(&mut self) {
        self.last = None;
    }

    /// The world has processed the commands up to a number. Gives the latencies.
    pub fn process(&mut self, sequence: u32, now: Instant, mut take: impl FnMut(Duration)) {
        while let Some(&(_, sent)) = self.sent.front().filter(|s| s.0 <= sequence) {
            self.sent.pop_front();
            take(now - sent);
        }
    }
}

/// A bot that is never answered takes no more memory.
const UNPROCESSED_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn latencies_ms(unprocessed: &mut Unprocessed, sequence: u32, now: Instant) -> Vec<u128> {
        let mut found = vec![];
        unprocessed.process(sequence, now, |latency| found.push(latency.as_millis()));
        found
    }

    #[test]
    fn commands_that_were_left_out_count_from_when_they_were_due() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let period = Duration::from_millis(100);
        let mut unprocessed = Unprocessed::default();
        unprocessed.send(1, at(0), period);
        unprocessed.send(2, at(110), period);
        assert_eq!(latencies_ms(&mut unprocessed, 2, at(150)), [150, 40]);
        // Nothing was received for half a second.
        unprocessed.send(3, at(610), period);
        let left_out = [490, 390, 290, 190, 90];
        assert_eq!(latencies_ms(&mut unprocessed, 3, at(700)), left_out);
        unprocessed.pause();
        unprocessed.send(4, at(2000), period);
        assert_eq!(latencies_ms(&mut unprocessed, 4, at(2050)), [50]);
    }
}
