//! Keeps texts of peers within the value of a field: each field of each line is escaped here, so
//! that no log statement has to do it.
//!
//! As text, a field's value stands as it is if it is one plain word, and else between quotation
//! marks. So it can't end the line, begin another field, or steer a terminal. A field called
//! [`LINES`] is several lines: each follows the log's line, behind a mark.

use std::fmt::{self, Debug};

use program::printable::{OneLine, Quoted, is_seen};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::registry::LookupSpan;

/// The field whose value is several lines.
pub const LINES: &str = "lines";
/// Before each of them.
const LINES_MARK: &str = "\n    | ";
const ITALIC: &str = "\u{1b}[3m";
const DIMMED: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

/// Writes fields for people.
pub struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut text = TextFieldWriter {
            writer,
            is_first: true,
            lines: String::new(),
            result: Ok(()),
        };
        fields.record(&mut text);
        text.result?;
        for line in text.lines.lines() {
            write!(text.writer, "{LINES_MARK}{}", OneLine(line))?;
        }
        Ok(())
    }
}

struct TextFieldWriter<'w> {
    writer: Writer<'w>,
    is_first: bool,
    lines: String,
    result: fmt::Result,
}

impl TextFieldWriter<'_> {
    fn put(&mut self, field: &Field, value: &str) -> fmt::Result {
        let name = field.name();
        if name == LINES {
            self.lines = value.to_owned();
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            self.writer.write_char(' ')?;
        }
        if name == "message" {
            return write!(self.writer, "{}", OneLine(value));
        }
        let name = name.trim_start_matches("r#");
        match self.writer.has_ansi_escapes() {
            true => write!(self.writer, "{ITALIC}{name}{PLAIN}{DIMMED}={PLAIN}")?,
            false => write!(self.writer, "{name}=")?,
        }
        match is_plain(value) {
            true => self.writer.write_str(value),
            false => write!(self.writer, "{}", Quoted(value)),
        }
    }
}

impl Visit for TextFieldWriter<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if self.result.is_ok() {
            self.result = self.put(field, value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Whether a value needs no quotation marks.
fn is_plain(value: &str) -> bool {
    let is_plain = |c| is_seen(c) && !matches!(c, ' ' | '"' | '=' | '\\');
    !value.is_empty() && value.chars().all(is_plain)
}

/// Writes lines of JSON with no character that is not seen as itself: JSON's own rules leave
/// some that steer terminals.
pub struct JsonLines<F>(pub F);

impl<S, N, F> FormatEvent<S, N> for JsonLines<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let mut units = [0; 2];
        for c in line.strip_suffix('\n').unwrap_or(&line).chars() {
            if is_seen(c) {
                writer.write_char(c)?;
                continue;
            }
            // It is in a text: between texts JSON has nothing but ASCII.
            for unit in c.encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
        }
        writer.write_char('\n')
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{info, info_span};
    use tracing_subscriber::fmt::MakeWriter;
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::{Layer, Registry};

    use super::*;

    /// The written bytes.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Written {
        type Writer = Written;

        fn make_writer(&'a self) -> Written {
            self.clone()
        }
    }

    /// The output of a format for log statements.
    fn written(is_json: bool, log: impl FnOnce()) -> String {
        let written = Written::default();
        let lines = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(written.clone())
            .without_time();
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match is_json {
            false => lines.fmt_fields(TextFields).boxed(),
            true => lines.json().map_event_format(JsonLines).boxed(),
        };
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, log);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// Ends a line, begins another one, steers terminals old and new, turns the direction of
    /// writing, and is a field of its own.
    const EVIL: &str = "bye\n2026-01-01 INFO audit: by=\"root\" result=5\r\u{1b}[2J\u{9b}1A\u{7f}\
        \u{2028}\u{202e}\u{e0041} \\ end=x";

    fn log_it_everywhere() {
        let span = info_span!("connection", peer = EVIL, shown = %EVIL);
        let _inside = span.enter();
        info!(end = %EVIL, reason = EVIL, found = ?Some(EVIL), after = 1, "closed: {EVIL}");
        let error = std::io::Error::other(EVIL);
        info!(error = &error as &dyn std::error::Error, "{EVIL}");
        info!(target: "audit", r#type = %EVIL, "{EVIL}");
    }

    #[test]
    fn no_field_of_a_peer_ends_a_line_or_steers_a_terminal() {
        for is_json in [false, true] {
            let text = written(is_json, log_it_everywhere);
            assert_eq!(text.lines().count(), 3, "{text}");
            assert!(text.ends_with('\n'));
            let others: Vec<char> = text.chars().filter(|&c| c != '\n' && !is_seen(c)).collect();
            assert!(others.is_empty(), "{others:?} {text}");
        }
    }

    #[test]
    fn a_value_of_a_peer_stays_one_value() {
        let text = written(false, || info!(end = %"bye session=7", after = 1, "closed"));
        assert!(
            text.ends_with("closed end=\"bye session=7\" after=1\n"),
            "{text}"
        );
        let quoted = written(false, || info!(end = "a\" b=\"c", "closed"));
        assert!(
            quoted.ends_with("closed end=\"a\\\" b=\\\"c\"\n"),
            "{quoted}"
        );
        let plain = written(false, || info!(from = %"[::1]:80", took = ?true, "closed"));
        assert!(
            plain.ends_with("closed from=[::1]:80 took=true\n"),
            "{plain}"
        );
    }

    #[test]
    fn json_says_what_was_written() {
        for line in written(true, log_it_everywhere).lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = &line["fields"];
            let message = fields["message"].as_str().unwrap();
            assert!(message.ends_with(EVIL), "{message}");
            if let Some(end) = fields.get("end") {
                assert_eq!((end, &fields["reason"]), (&EVIL.into(), &EVIL.into()));
            }
        }
    }

    #[test]
    fn several_lines_of_our_own_are_marked() {
        let text = written(false, || {
            info!(
                lines = "first\u{1b}\n2026-01-01 INFO audit: x\n",
                "problems"
            );
        });
        let (head, rest) = text.split_once('\n').unwrap();
        assert!(head.ends_with("problems"), "{head}");
        assert_eq!(rest, "    | first\\u{1b}\n    | 2026-01-01 INFO audit: x\n");
    }
}
