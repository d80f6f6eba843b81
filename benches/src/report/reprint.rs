//! Tables and plots of a report that was kept.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;

use super::{Printer, Report};

/// Print the tables of a kept JSON file
///
/// Shows what was measured on another machine: needs no GPU, and measures nothing.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The file that a bench wrote with --json
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Draws the figures into this folder, as SVG files
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
}

/// Shows each bench's rows by its own printer. An error names the file.
pub fn run(options: &Options, printers: &[Printer], out: &mut dyn Write) -> anyhow::Result<Report> {
    let report = Report::read(&options.file)?;
    show(&report, options, printers, out)
        .with_context(|| format!("cannot show {}", options.file.display()))?;
    Ok(report)
}

fn show(
    report: &Report,
    options: &Options,
    printers: &[Printer],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    ensure!(!report.rows.is_empty(), "expected at least one row");
    for row in &report.rows {
        let names: Vec<&str> = printers.iter().map(|printer| printer.bench).collect();
        ensure!(
            names.iter().any(|name| row.is_of(name)),
            "expected rows of {}; found {:?}",
            names.join(", "),
            row.scenario
        );
    }
    for printer in printers {
        if report.rows.iter().any(|row| row.is_of(printer.bench)) {
            printer.show(report, options.plots.as_deref(), out)?;
        }
    }
    Ok(())
}
