//! One way of a network, as it changes with time.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use super::Faults;

/// Faults of packets, one way, from the first one on. After its last change a trace begins
/// anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Ascending; the first at zero.
    changes: Arc<[(Duration, Faults)]>,
    /// After this time it begins anew; zero: it never changes.
    length: Duration,
}

/// Why a text is no trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("line {line}: expected {expected}, found {found:?}")]
    Line {
        line: usize,
        expected: &'static str,
        found: String,
    },
    #[error("line {line}: its time is not after that of the line before")]
    Order { line: usize },
    #[error("a trace has 1 to {LINES_MAX} lines, and its first is of second 0")]
    Empty,
}

impl Path {
    /// Whether packets always arrive as they were sent.
    pub fn is_none(&self) -> bool {
        self.changes.iter().all(|(_, faults)| faults.is_none())
    }

    /// The faults so long after the first packet.
    pub fn at(&self, since: Duration) -> Faults {
        let since = match self.length.is_zero() {
            true => since,
            false => Duration::from_nanos(
                u64::try_from(since.as_nanos() % self.length.as_nanos()).unwrap_or_default(),
            ),
        };
        let after = self.changes.partition_point(|(at, _)| *at <= since);
        let (_, faults) = self.changes[after.saturating_sub(1)];
        faults
    }

    /// These faults from these times on, the first of which is zero; later ones ascend. `length`
    /// is when it begins anew.
    pub fn changing(changes: Vec<(Duration, Faults)>, length: Duration) -> Path {
        match changes.first() {
            Some((Duration::ZERO, _)) => Path {
                changes: changes.into(),
                length,
            },
            _ => Faults::default().into(),
        }
    }

    /// Reads a trace: a line for each change, `#` before a comment.
    ///
    /// ```text
    /// # seconds  delay  jitter  loss  rate
    /// 0          30     10      0.1   8000
    /// 2.5        90     40      2     500
    /// 4          end
    /// ```
    ///
    /// Delay and jitter are in milliseconds, loss is in percent, the rate in kbit/s, 0 if it is
    /// not bounded. A packet that would wait longer than 300 ms for the rate is lost. At `end` the trace
    /// begins anew; without it, the last line holds.
    pub fn parse(text: &str) -> Result<Path, TraceError> {
        let (mut changes, mut length) = (vec![], Duration::ZERO);
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default();
            let mut fields = content.split_whitespace();
            let Some(seconds) = fields.next() else {
                continue;
            };
            let at = Duration::from_secs_f64(number(seconds, line, "seconds", SECONDS_MAX)?);
            let is_later = changes.last().map_or(at.is_zero(), |(last, _)| *last < at);
            if !is_later || !length.is_zero() {
                return Err(TraceError::Order { line });
            }
            if changes.len() == LINES_MAX {
                return Err(TraceError::Empty);
            }
            let rest: Vec<&str> = fields.collect();
            if rest == ["end"] {
                length = at;
                continue;
            }
            let &[delay, jitter, loss, rate] = rest.as_slice() else {
                return Err(TraceError::Line {
                    line,
                    expected: "seconds, delay, jitter, loss and rate, or seconds and `end`",
                    found: content.trim().to_owned(),
                });
            };
            let ms = |text, what| {
                let ms = number(text, line, what, MS_MAX)?;
                Ok(Duration::from_secs_f64(ms / 1000.0))
            };
            let rate = number(rate, line, "a rate in kbit/s", KBITS_MAX)?;
            changes.push((
                at,
                Faults {
                    delay: ms(delay, "a delay in ms")?,
                    jitter: ms(jitter, "a jitter in ms")?,
                    loss: number(loss, line, "a loss in percent", 100.0)? / 100.0,
                    rate: bytes_a_second(rate),
                    buffer: TRACE_BUFFER,
                    ..Faults::default()
                },
            ));
        }
        match changes.is_empty() {
            true => Err(TraceError::Empty),
            false => Ok(Path::changing(changes, length)),
        }
    }
}

impl From<Faults> for Path {
    /// A path that never changes.
    fn from(faults: Faults) -> Path {
        Path {
            changes: [(Duration::ZERO, faults)].into(),
            length: Duration::ZERO,
        }
    }
}

fn number(text: &str, line: usize, expected: &'static str, most: f64) -> Result<f64, TraceError> {
    let number = text.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=most).contains(number));
    number.ok_or_else(|| TraceError::Line {
        line,
        expected,
        found: text.to_owned(),
    })
}

/// The bytes a second of a rate in kbit/s.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is between 0 and KBITS_MAX"
)]
fn bytes_a_second(kbits: f64) -> u32 {
    (kbits * 125.0).round() as u32
}

const LINES_MAX: usize = 100_000;
const SECONDS_MAX: f64 = 1e6;
const MS_MAX: f64 = 10_000.0;
const KBITS_MAX: f64 = 1e7;
/// The queue of a usual router, in a trace.
const TRACE_BUFFER: Duration = Duration::from_millis(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_says_what_holds_when_and_begins_anew() {
        let path = Path::parse("# a\n0 30 10 0.5 8000\n\n2.5 90 40 2 0 # worse\n4 end\n").unwrap();
        let at = |seconds| path.at(Duration::from_secs_f64(seconds));
        let ms = Duration::from_millis;
        for seconds in [0.0, 2.4, 4.0, 6.4] {
            let faults = at(seconds);
            assert_eq!((faults.delay, faults.jitter), (ms(30), ms(10)), "{seconds}");
            assert_eq!((faults.loss, faults.rate), (0.005, 1_000_000));
        }
        for seconds in [2.5, 3.9, 6.5, 402.6] {
            assert_eq!((at(seconds).delay, at(seconds).rate), (ms(90), 0));
        }
        let holds = Path::parse("0 30 10 0 0\n1 50 0 0 0").unwrap();
        assert_eq!(holds.at(Duration::from_secs(100)).delay, ms(50));
    }

    #[test]
    fn a_text_that_is_no_trace_is_rejected_with_its_line() {
        for (text, expected) in [
            (
                "",
                "a trace has 1 to 100000 lines, and its first is of second 0",
            ),
            (
                "1 0 0 0 0",
                "line 1: its time is not after that of the line before",
            ),
            (
                "0 0 0 0 0\n0 0 0 0 0",
                "line 2: its time is not after that of the line before",
            ),
            (
                "0 0 0 0 0\n1 end\n2 0 0 0 0",
                "line 3: its time is not after that of the line before",
            ),
            (
                "0 1 2",
                "line 1: expected seconds, delay, jitter, loss and rate, or seconds and `end`, \
                 found \"0 1 2\"",
            ),
            (
                "\n0 -1 0 0 0",
                "line 2: expected a delay in ms, found \"-1\"",
            ),
            (
                "0 0 0 101 0",
                "line 1: expected a loss in percent, found \"101\"",
            ),
            (
                "0 0 0 0 NaN",
                "line 1: expected a rate in kbit/s, found \"NaN\"",
            ),
        ] {
            let error = Path::parse(text).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text:?}");
        }
    }
}
