//! Output of programs on a terminal or into a file.
//!
//! | module | holds |
//! | --- | --- |
//! | [`files`] | files that are results |
//! | [`output`] | standard output, whose errors are reported at the end |
//! | [`queue`] | lines that a thread of their own writes |
//! | `progress` | a line of progress |
//!
//! Standard error is written by one thread: no other one waits for it.

pub mod files;
pub mod output;
mod progress;
pub mod queue;

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use serde::Serialize;

use self::queue::{LineQueue, Weight};
use crate::printable::Lines;
use crate::signals;

pub use progress::ProgressLine;

/// Prints a line for people like `println!`, but does not panic: [`run_program`] reports
/// failed writes. Once [`leave_output_to_json`] was called, it goes to standard error.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => { $crate::console::say(format_args!($($text)*)) };
}

/// Prints a line to standard error like `eprintln!`, but neither panics nor waits.
#[macro_export]
macro_rules! note {
    ($($text:tt)*) => { $crate::console::note(format_args!($($text)*)) };
}

/// Runs a program from its command line to its end: signals end it, also as process 1; what it
/// could not write is an error, and so is false.
pub fn run_program(name: &'static str, run: impl FnOnce() -> Result<bool>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        note(format_args!("{}", panic_text(panic)))
    }));
    if let Err(error) = signals::start(flush_errors) {
        note!("{name}: cannot listen for signals: {error}");
    }
    let ended = catch_unwind(AssertUnwindSafe(run));
    let written = output::finish();
    // It is no failure that a reader has read enough.
    let ended = ended.map(|ended| {
        ended.or_else(|error| match is_unread(&error) {
            true => Ok(true),
            false => Err(error),
        })
    });
    let (code, failure) = match (ended, written) {
        (Ok(Ok(true)), Ok(())) => (ExitCode::SUCCESS, None),
        (Ok(Ok(false)), Ok(())) => (ExitCode::FAILURE, None),
        (Ok(Err(error)), _) | (Ok(Ok(_)), Err(error)) => (ExitCode::FAILURE, Some(error)),
        // As without this function.
        (Err(_), _) => (ExitCode::from(101), None),
    };
    if let Some(error) = failure {
        let text = format!("{name}: {}", Lines(&format!("{error:#}")));
        write_error(line(Severity::Error, &text));
    }
    flush_errors();
    code
}

/// The arguments of this process, if they are some to run with. Help and errors are printed here,
/// and end the program.
pub fn arguments<A: FromArgMatches>(name: &str, found: Result<ArgMatches, clap::Error>) -> A {
    let parsed = A::from_arg_matches(&matches(name, found));
    parsed.unwrap_or_else(|error| exit_with(name, &error))
}

/// The same before they are parsed.
pub fn matches(name: &str, found: Result<ArgMatches, clap::Error>) -> ArgMatches {
    found.unwrap_or_else(|error| exit_with(name, &error))
}

fn is_unread(error: &anyhow::Error) -> bool {
    let mut causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    output::is_unread() && causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

fn exit_with(name: &str, error: &clap::Error) -> ! {
    let is_help = !error.use_stderr();
    let is_terminal = match is_help {
        true => io::stdout().is_terminal(),
        false => io::stderr().is_terminal(),
    };
    let text = match is_terminal && std::env::var_os("NO_COLOR").is_none() {
        true => error.render().ansi().to_string(),
        false => error.render().to_string(),
    };
    let mut code = error.exit_code();
    let text = match error.kind() {
        ErrorKind::ValueValidation => with_plain_numbers(&text),
        _ => text,
    };
    if is_help {
        // It is noted.
        let _ = output::output().write_all(text.as_bytes());
        if let Err(error) = output::finish() {
            note!("{name}: {error:#}");
            code = 1;
        }
    } else {
        write_error(text.into_bytes());
    }
    flush_errors();
    std::process::exit(code)
}

/// What was expected in place of a number, where the standard library says how its parser ended.
fn with_plain_numbers(text: &str) -> String {
    const WHOLE: &str = "expected a whole number";
    let mut text = text.to_owned();
    for (found, plain) in [
        ("invalid digit found in string", WHOLE),
        ("cannot parse integer from empty string", WHOLE),
        (
            "number too large to fit in target type",
            "the number is too large",
        ),
        (
            "number too small to fit in target type",
            "the number is too small",
        ),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ] {
        text = text.replace(&format!(": {found}"), &format!(": {plain}"));
    }
    // clap: `: 0 is not in 1..=9`.
    if let Some((before, range)) = text.split_once(" is not in ")
        && let Some((start, rest)) = range.split_once("..")
        && let Some((context, found)) = before.rsplit_once(": ")
        && [start, found]
            .iter()
            .all(|number| number.parse::<i128>().is_ok())
    {
        let rest = rest.strip_prefix('=').unwrap_or(rest);
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (end, rest) = rest.split_at(digits);
        text = match end {
            "" => format!("{context}: expected {start} or more{rest}"),
            end => format!("{context}: expected {start} to {end}{rest}"),
        };
    }
    text
}

/// See [`say!`](crate::say).
pub fn say(text: fmt::Arguments<'_>) {
    match (IS_FOR_JSON.load(Ordering::Relaxed), FORMAT.get()) {
        (true, _) => note(text),
        (false, None) => output::say(text),
        (false, Some(format)) => {
            let line = format(Severity::Info, &text.to_string());
            output::say(format_args!("{line}"));
        }
    }
}

/// See [`note!`](crate::note).
pub fn note(text: fmt::Arguments<'_>) {
    write_error(line(Severity::Warning, &text.to_string()));
}

/// How much a line for people matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

/// From now on, lines for people have the form that this gives them, as those of the log do.
pub fn set_format(format: fn(Severity, &str) -> String) {
    // The first one holds.
    let _ = FORMAT.set(format);
}

/// The bytes of a line for people.
fn line(severity: Severity, text: &str) -> Vec<u8> {
    let mut line = match FORMAT.get() {
        Some(format) => format(severity, text),
        None => text.to_owned(),
    };
    line.push('\n');
    line.into_bytes()
}

/// From now on, standard output is for [`print_json`] alone.
pub fn leave_output_to_json() {
    IS_FOR_JSON.store(true, Ordering::Relaxed);
}

/// Prints one line of JSON to standard output.
pub fn print_json(value: &impl Serialize) -> serde_json::Result<()> {
    let line = serde_json::to_string(value)?;
    output::say(format_args!("{line}"));
    Ok(())
}

/// The lines on their way to standard error; none if their thread can't be started.
pub fn errors() -> Option<&'static LineQueue> {
    let start = || {
        let out: Box<dyn Write + Send> = match duplicate(&io::stderr()) {
            Ok(file) => Box::new(file),
            Err(_) => Box::new(io::stderr()),
        };
        let queue = LineQueue::start("errors", out).ok()?;
        queue.set_notice(Box::new(|lost| format!("{lost} lines were lost\n")));
        Some(queue)
    };
    ERRORS.get_or_init(start).as_ref()
}

/// Gives what goes to standard error a moment to be written. A reader that hangs can't keep the
/// program from ending.
pub fn flush_errors() {
    if let Some(Some(queue)) = ERRORS.get() {
        queue.flush(PATIENCE);
    }
}

/// The message, place and backtrace of a panic.
pub fn panic_text(panic: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("without a name");
    let place = panic.location().map(|at| format!(" at {at}"));
    let message = Lines(message(panic.payload())).to_string();
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("\n{trace}"),
        _ => String::new(),
    };
    let place = place.unwrap_or_default();
    format!("thread {name} panicked{place}: {message}{trace}")
}

fn message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message")
}

/// The descriptor by itself: the standard library hides some of its errors.
#[cfg(unix)]
fn duplicate(of: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(File::from(of.as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
fn duplicate<T>(_: &T) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn write_error(line: Vec<u8>) {
    match errors() {
        Some(queue) => queue.push(line, Weight::Important),
        // A failure can't be reported anywhere.
        None => drop(io::stderr().write_all(&line)),
    }
}

static IS_FOR_JSON: AtomicBool = AtomicBool::new(false);
static FORMAT: OnceLock<fn(Severity, &str) -> String> = OnceLock::new();
static ERRORS: OnceLock<Option<LineQueue>> = OnceLock::new();
const PATIENCE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, value_parser};

    use super::*;

    #[test]
    fn a_wrong_number_on_the_command_line_is_told_with_what_was_expected() {
        let command = Command::new("test").args([
            Arg::new("rate")
                .long("rate")
                .value_parser(value_parser!(u32).range(1..=1000)),
            Arg::new("least")
                .long("least")
                .value_parser(value_parser!(u64).range(2..)),
            Arg::new("seed")
                .long("seed")
                .value_parser(value_parser!(u64)),
            Arg::new("size")
                .long("size")
                .value_parser(value_parser!(f64)),
            Arg::new("level").long("level").value_parser(["on", "off"]),
        ]);
        let parsed = |argument: &str| {
            let found = command.clone().try_get_matches_from(["test", argument]);
            let text = with_plain_numbers(&found.unwrap_err().render().to_string());
            let line = text.lines().next().unwrap_or_default().to_owned();
            line.rsplit_once(": ").expect("a reason").1.to_owned()
        };
        let cases = [
            ("--rate=x", "expected a whole number"),
            ("--rate=0", "expected 1 to 1000"),
            ("--rate=1001", "expected 1 to 1000"),
            ("--least=1", "expected 2 to 18446744073709551615"),
            ("--seed=", "expected a whole number"),
            ("--seed=-1", "expected a whole number"),
            ("--seed=99999999999999999999", "the number is too large"),
            ("--size=wide", "expected a number"),
        ];
        for (argument, expected) in cases {
            assert_eq!(parsed(argument), expected, "{argument}");
        }
    }
}
