//! What programs say to whoever started them.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// As `println!`, but nothing happens where nobody reads any more: that is no reason to
/// stop.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

/// A line on standard error that is written over again on a terminal.
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
        // A progress line that can't be written is no reason to stop.
        if self.terminal {
            let _ = write!(err, "\r\x1b[2K{text}");
        } else if self.shown.is_none_or(|t| t.elapsed() >= LINE_EVERY) {
            let _ = writeln!(err, "{text}");
            self.shown = Some(Instant::now());
        }
        let _ = err.flush();
    }

    /// Clears it.
    pub fn end(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

const LINE_EVERY: Duration = Duration::from_secs(2);
