//! The paper's measurements of discrete-event simulation (Sang, Lee, Rego and King
//! 2019, section 4): its torus queueing network and PHOLD, run by the engine in
//! windows and, as baselines, one event after another.

mod calendar;
mod figures;
mod measure;
mod options;
mod published;
mod tables;

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::report::Report;
pub use calendar::CalendarQueue;
pub use options::{BackendName, Options, Part};

/// Measures what is asked for, writes the tables to `out` and returns the report.
/// Fails where two backends come to different states.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for &part in &options.parts {
        let rows = match part {
            Part::Torus => measure::torus(options),
            Part::Phold => measure::phold(options),
            Part::Accuracy => measure::accuracy(options),
            Part::Errors => measure::causality_errors(options),
            Part::Selection => measure::selection(options),
        };
        report
            .rows
            .extend(rows.with_context(|| format!("part {}", part.name()))?);
    }
    options.run.keep(&report)?;
    show(&report, options.plots.as_deref(), out)?;
    Ok(report)
}

/// Writes the tables of a report to `out`, and its figures into a folder, with links
/// below the tables.
pub fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    tables::write(report, out)?;
    plots.map_or(Ok(()), |folder| figures::write(report, folder, out))
}

/// What the rows' scenario is called.
pub const NAME: &str = "events";
