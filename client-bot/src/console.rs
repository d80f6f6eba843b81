//! Output of programs on a terminal or into a file.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Prints a line like `println!`, but does not panic if standard output is closed.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

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
            terminal: std::io::stderr().is_terminal(),
            shown: None,
        }
    }

    pub fn show(&mut self, text: &str) {
        let mut err = std::io::stderr();
        // Progress is not worth an error.
        if self.terminal {
            let _ = write!(err, "\r\x1b[2K{text}");
        } else if self.shown.is_none_or(|t| t.elapsed() >= LINE_PERIOD) {
            let _ = writeln!(err, "{text}");
            self.shown = Some(Instant::now());
        }
        let _ = err.flush();
    }

    /// Clears the line on a terminal.
    pub fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

const LINE_PERIOD: Duration = Duration::from_secs(2);
