//! The log's way to standard error: one thread writes, all others only queue lines. Lost lines are
//! counted, and their number is logged once the log can be written again.

use std::io::{self, Write};

use program::console::queue::{LineQueue, Weight};
use program::console::{self, Severity};
use serde_json::json;
use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

use super::LogFormat;

/// Where lines of the log go. Without its thread, they go nowhere.
#[derive(Clone)]
pub struct Queue {
    lines: Option<&'static LineQueue>,
    format: LogFormat,
}

impl Queue {
    pub fn start(format: LogFormat) -> Queue {
        let queue = Queue {
            lines: console::errors(),
            format,
        };
        if let Some(lines) = queue.lines {
            let message = "lines of the log were lost, as they could not be written";
            lines.set_notice(Box::new(move |lost| line(format, TARGET, lost, message)));
        }
        queue
    }

    /// Reports that so many lines are missing.
    pub fn report_missing(&self, target: &str, count: u64, message: &str) {
        self.push(line(self.format, target, count, message), Weight::Usual);
    }

    fn push(&self, line: impl Into<Vec<u8>>, weight: Weight) {
        if let Some(lines) = self.lines {
            lines.push(line, weight);
        }
    }
}

/// Lines of the log that could not be written so far.
pub fn lost() -> u64 {
    console::errors().map_or(0, LineQueue::lost)
}

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line {
            queue: self,
            weight: Weight::Usual,
        }
    }

    fn make_writer_for(&'a self, metadata: &Metadata<'_>) -> Line<'a> {
        // Requests of operators are no peer's choice, and none may be missing.
        let weight = match metadata.target() {
            "audit" => Weight::Important,
            _ => Weight::Usual,
        };
        Line {
            queue: self,
            weight,
        }
    }
}

/// Takes one line, which comes as a whole.
pub struct Line<'a> {
    queue: &'a Queue,
    weight: Weight,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.queue.push(bytes, self.weight);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line for people as JSON, like those of the log.
pub fn json_line(severity: Severity, text: &str) -> String {
    let level = match severity {
        Severity::Info => "INFO",
        Severity::Warning => "WARN",
        Severity::Error => "ERROR",
    };
    let fields = json!({ "message": text });
    json!({ "timestamp": now(), "level": level, "fields": fields, "target": "myriad" }).to_string()
}

/// The time as in the log.
pub(crate) fn now() -> String {
    let mut time = String::new();
    // The line matters more than its time.
    let _ = SystemTime.format_time(&mut Writer::new(&mut time));
    time
}

/// A line that looks as those of the log do.
fn line(format: LogFormat, target: &str, count: u64, message: &str) -> String {
    let time = now();
    match format {
        LogFormat::Text => format!("{time}  WARN {target}: {message} lines={count}\n"),
        LogFormat::Json => {
            let fields = json!({ "message": message, "lines": count });
            let line =
                json!({ "timestamp": time, "level": "WARN", "fields": fields, "target": target });
            format!("{line}\n")
        }
    }
}

const TARGET: &str = "server::log";
