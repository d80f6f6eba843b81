use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use super::queue::Weight;

/// A line of progress on standard error. On a terminal each one overwrites the one before;
/// elsewhere, one is printed every few seconds.
pub struct ProgressLine {
    terminal: bool,
    shown: Option<Instant>,
}

impl Default for ProgressLine {
    fn default() -> ProgressLine {
        ProgressLine::new()
    }
}

impl ProgressLine {
    pub fn new() -> ProgressLine {
        ProgressLine {
            terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    pub fn show(&mut self, text: &str) {
        let Some(errors) = super::errors() else {
            return;
        };
        // Where one before is not written yet, the next one will do.
        if self.terminal {
            errors.push_if_idle(format!("\r\x1b[2K{text}"));
        } else if self.shown.is_none_or(|t| t.elapsed() >= LINE_PERIOD) {
            errors.push_if_idle(format!("{text}\n"));
            self.shown = Some(Instant::now());
        }
    }

    /// Clears the line on a terminal.
    pub fn end(&mut self) {
        if let Some(errors) = super::errors().filter(|_| self.terminal) {
            errors.push("\r\x1b[2K", Weight::Usual);
        }
    }
}

const LINE_PERIOD: Duration = Duration::from_secs(2);
