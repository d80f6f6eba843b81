//! A bench, and the one way in which all of them are run.

use std::io::Write;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::report::plot::Chart;
use crate::report::{Printer, Recorder, Report};

/// Something that can be measured and shown.
pub trait Bench {
    /// The subcommand. The `scenario` of each row is this name, alone or with a second
    /// word.
    const NAME: &'static str;
    /// Whether there are charts, and so an option `--plots`.
    const DRAWS: bool = false;

    /// The options of its own; the first paragraph of their documentation is in the
    /// help what is measured. `--json` and `--plots` come beside them.
    type Options: Args;

    /// Measures all scenarios and records their rows, with a line of progress each on
    /// standard error. Fails if two subjects have different
    /// results.
    fn measure(options: &Self::Options, recorder: &mut Recorder) -> anyhow::Result<()>;

    /// Writes tables as Markdown. All rows of the report are rows of this bench.
    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()>;

    /// Charts, each with the name of its SVG file. All rows of the report are rows of
    /// this bench.
    fn charts(_: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
        Ok(vec![])
    }
}

/// A bench as an entry of a list.
#[derive(Clone, Copy)]
pub struct Entry {
    pub printer: Printer,
    command: fn() -> Command,
    run: Run,
}

type Run = fn(&ArgMatches, &mut dyn Write) -> anyhow::Result<Report>;

impl Entry {
    pub const fn of<B: Bench>() -> Entry {
        Entry {
            printer: printer::<B>(),
            command: command::<B>,
            run: run::<B>,
        }
    }

    pub const fn name(&self) -> &'static str {
        self.printer.bench
    }

    /// The subcommand with its options.
    pub fn command(&self) -> Command {
        (self.command)()
    }

    /// Runs the bench with the options of its subcommand: measures, keeps the JSON
    /// file, writes tables to `out` and draws charts.
    pub fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> anyhow::Result<Report> {
        (self.run)(matches, out)
    }
}

#[derive(Args)]
struct Keep {
    /// Writes the measurements to this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct Draw {
    /// Draws the figures into this folder, as SVG files
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
}

const fn printer<B: Bench>() -> Printer {
    Printer {
        bench: B::NAME,
        tables: B::tables,
        charts: B::charts,
    }
}

fn command<B: Bench>() -> Command {
    let command = Keep::augment_args(B::Options::augment_args(Command::new(B::NAME)));
    match B::DRAWS {
        true => Draw::augment_args(command),
        false => command,
    }
}

fn run<B: Bench>(matches: &ArgMatches, out: &mut dyn Write) -> anyhow::Result<Report> {
    let options = B::Options::from_arg_matches(matches)?;
    let mut recorder = Recorder::new(Keep::from_arg_matches(matches)?.json);
    let plots = match B::DRAWS {
        true => Draw::from_arg_matches(matches)?.plots,
        false => None,
    };
    B::measure(&options, &mut recorder)?;
    let report = recorder.finish();
    printer::<B>().show(&report, plots.as_deref(), out)?;
    Ok(report)
}
