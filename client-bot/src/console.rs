//! Output of programs on a terminal or into a file.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Prints a line for people like `println!`, but does not panic if the output is closed. Once
/// [`leave_output_to_json`] was called, it goes to standard error.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!($crate::console::for_people(), $($text)*);
    }};
}

/// From now on, standard output is for [`print_json`] alone.
pub fn leave_output_to_json() {
    IS_FOR_JSON.store(true, Ordering::Relaxed);
}

/// Prints one line of JSON to standard output.
pub fn print_json(value: &impl Serialize) -> serde_json::Result<()> {
    let line = serde_json::to_string(value)?;
    // As for lines for people, a closed output is no failure.
    let _ = writeln!(io::stdout(), "{line}");
    Ok(())
}

/// Where lines for people go.
pub fn for_people() -> Box<dyn Write> {
    match IS_FOR_JSON.load(Ordering::Relaxed) {
        true => Box::new(io::stderr()),
        false => Box::new(io::stdout()),
    }
}

static IS_FOR_JSON: AtomicBool = AtomicBool::new(false);

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
