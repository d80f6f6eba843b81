//! The log, whose length does not depend on peers: each log statement writes so many lines a
//! second, and reports how many it left out. [`escape`] keeps texts of peers within their fields.
//! [`queue`] is the way to standard error, on which no thread waits. [`script_lines`] are what
//! dashboards show of it.

pub mod escape;
pub mod queue;
pub mod script_lines;

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use program::console;
use tracing::callsite::Identifier;
use tracing::{Event, Metadata, Subscriber, error, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, Filter, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use self::queue::Queue;

/// How lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people; in colour on a terminal
    #[default]
    Text,
    /// A JSON object a line
    Json,
}

/// The usual level of a server: all its crates also log admissions and departures.
pub const SERVING: &str = "warn,accounts=info,console=info,durability=info,frontend=info,gateway=info,host=info,peer=info,\
    platform=info,script=info,server=info,session=info,standby=info,tick=info,transport=info,audit=info";
/// The usual level of other commands: warnings, errors, requests of operators, and what scripts
/// log.
pub const QUIET: &str = "warn,audit=info,script=info";

/// Logs to standard error by the filter `RUST_LOG`, a level or a list of TARGET=LEVEL, or else by
/// `usual`.
pub fn start(format: LogFormat, usual: &str) {
    let given = std::env::var("RUST_LOG").unwrap_or_default();
    let parsed: Result<Targets, _> = match given.is_empty() {
        true => usual.parse(),
        false => given.parse(),
    };
    let (selected, wrong) = match parsed {
        Ok(selected) => (selected, None),
        Err(error) => (usual.parse().unwrap_or_default(), Some(error)),
    };
    if format == LogFormat::Json {
        console::set_format(queue::json_line);
    }
    let queue = Queue::start(format);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(queue.clone())
        // It would print to standard error.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    let lines = match format {
        LogFormat::Text => lines.fmt_fields(escape::TextFields).boxed(),
        LogFormat::Json => lines.json().map_event_format(escape::JsonLines).boxed(),
    };
    tracing_subscriber::registry()
        .with(selected)
        .with(lines.with_filter(Limited::new(queue)))
        .init();
    if let Some(error) = wrong {
        warn!("RUST_LOG is ignored, expected levels like \"warn,server=debug\": {error}");
    }
    std::panic::set_hook(Box::new(|panic| {
        error!(target: "panic", "{}", console::panic_text(panic));
    }));
}

/// Lets each log statement write [`LINES_MAX`] lines in [`SPAN`].
struct Limited {
    places: Mutex<HashMap<Identifier, Callsite>>,
    queue: Queue,
}

impl Limited {
    fn new(queue: Queue) -> Limited {
        Limited {
            places: Mutex::default(),
            queue,
        }
    }
}

/// The lines of a log statement since a time.
struct Callsite {
    since: Instant,
    lines: u64,
}

impl Callsite {
    /// Whether it may write another line now; and how many were left out before this one.
    fn write(&mut self, now: Instant) -> (bool, u64) {
        let mut left_out = 0;
        if now.saturating_duration_since(self.since) >= SPAN {
            left_out = self.lines.saturating_sub(LINES_MAX);
            *self = Callsite {
                since: now,
                lines: 0,
            };
        }
        self.lines += 1;
        (self.lines <= LINES_MAX, left_out)
    }
}

impl<S: Subscriber> Filter<S> for Limited {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        let metadata = event.metadata();
        // Requests of operators are no peer's choice, and none may be missing.
        if metadata.target() == "audit" {
            return true;
        }
        let now = Instant::now();
        let (may_write, left_out) = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let place = places.entry(metadata.callsite()).or_insert(Callsite {
                since: now,
                lines: 0,
            });
            place.write(now)
        };
        if left_out > 0 {
            self.queue
                .report_missing(metadata.target(), left_out, "lines were left out");
        }
        may_write
    }
}

const LINES_MAX: u64 = 20;
const SPAN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_writes_some_lines_a_second_and_counts_the_others() {
        let since = Instant::now();
        let mut place = Callsite { since, lines: 0 };
        let mut written = 0;
        for step in 0..1000 {
            let (may_write, left_out) = place.write(since + step * Duration::from_millis(1));
            written += u64::from(may_write);
            assert_eq!(left_out, 0);
        }
        assert_eq!(written, LINES_MAX);
        let second = since + Duration::from_secs(1);
        assert_eq!(place.write(second), (true, 1000 - LINES_MAX));
        assert_eq!(place.write(second), (true, 0));
    }
}
