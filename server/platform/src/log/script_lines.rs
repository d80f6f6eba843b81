//! The newest lines that scripts have logged, for dashboards.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Shared by the thread that runs the world and those that answer dashboards.
#[derive(Clone, Default)]
pub struct ScriptLines(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// For so many ticks more the lines are wanted.
    wanted: AtomicU32,
}

#[derive(Default)]
struct Lines {
    newest: VecDeque<ScriptLine>,
    /// The number of the next line; the first of all has 0.
    next: u64,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    pub tick: u64,
    pub command: String,
    /// The slot of the entity that gave the command.
    pub entity: Option<u32>,
    /// At most [`TEXT_BYTES_MAX`] bytes.
    pub text: String,
}

/// Lines that follow each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SomeLines {
    /// The number of the first.
    pub first: u64,
    pub lines: Vec<ScriptLine>,
}

impl ScriptLines {
    /// The lines from a number on that are still there. Lines are wanted for so many ticks more.
    pub fn since(&self, number: u64, ticks: u32) -> SomeLines {
        self.0.wanted.fetch_max(ticks, Ordering::Relaxed);
        let lines = self.lines();
        let oldest = lines.next - lines.newest.len() as u64;
        let first = number.clamp(oldest, lines.next);
        // At most LINES_MAX.
        let skipped = (first - oldest) as usize;
        SomeLines {
            first,
            lines: lines.newest.iter().skip(skipped).cloned().collect(),
        }
    }

    /// Whether anyone wants lines. To be called once a tick.
    pub fn are_wanted(&self) -> bool {
        let less = |ticks: u32| ticks.checked_sub(1);
        let order = Ordering::Relaxed;
        self.0.wanted.fetch_update(order, order, less).is_ok()
    }

    /// Adds a line; the oldest one makes room.
    pub fn add(&self, mut line: ScriptLine) {
        let end = line.text.floor_char_boundary(TEXT_BYTES_MAX);
        line.text.truncate(end);
        let mut lines = self.lines();
        if lines.newest.len() == LINES_MAX {
            lines.newest.pop_front();
        }
        lines.newest.push_back(line);
        lines.next += 1;
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines that are there at a time.
pub const LINES_MAX: usize = 200;
pub const TEXT_BYTES_MAX: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(tick: u64) -> ScriptLine {
        ScriptLine {
            tick,
            command: "buy".to_owned(),
            entity: Some(3),
            text: "3 left".to_owned(),
        }
    }

    #[test]
    fn the_newest_lines_are_there_and_each_is_given_once() {
        let lines = ScriptLines::default();
        assert_eq!(lines.since(7, 1), SomeLines::default());
        for tick in 0..2 * LINES_MAX as u64 {
            lines.add(line(tick));
        }
        let all = lines.since(0, 1);
        assert_eq!((all.first, all.lines.len()), (LINES_MAX as u64, LINES_MAX));
        assert_eq!(all.lines[0], line(LINES_MAX as u64));
        let next = all.first + all.lines.len() as u64;
        assert_eq!(lines.since(next, 1).lines, []);
        lines.add(line(9));
        let more = lines.since(next, 1);
        assert_eq!((more.first, &more.lines[..]), (next, &[line(9)][..]));
        // A number of another server's.
        assert_eq!(lines.since(u64::MAX, 1).first, next + 1);
    }

    #[test]
    fn a_long_text_is_cut_between_two_letters() {
        let lines = ScriptLines::default();
        lines.add(ScriptLine {
            text: "é".repeat(TEXT_BYTES_MAX),
            ..line(1)
        });
        lines.add(ScriptLine {
            text: format!("x{}", "é".repeat(TEXT_BYTES_MAX)),
            ..line(1)
        });
        let lengths = lines
            .since(0, 1)
            .lines
            .into_iter()
            .map(|line| line.text.len());
        assert_eq!(
            lengths.collect::<Vec<_>>(),
            [TEXT_BYTES_MAX, TEXT_BYTES_MAX - 1]
        );
    }

    #[test]
    fn lines_are_wanted_for_some_ticks_after_the_last_look() {
        let lines = ScriptLines::default();
        assert!(!lines.are_wanted());
        lines.since(0, 3);
        lines.since(0, 2);
        let wanted = [0; 4].map(|_| lines.are_wanted());
        assert_eq!(wanted, [true, true, true, false]);
    }
}
