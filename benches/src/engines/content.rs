//! The scenarios of Margara and Cugola's paper on content-based matching: its
//! default (Table 1), what it measured there (Table 2), and its sweeps (Figures 6 to
//! 11), with a dense case beside them.

mod atree;
mod figures;
mod gpu;
mod options;
mod scenario;
mod sff;
mod subject;
mod subsets;
mod tables;
mod ways;
mod workload;

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::report::Report;
pub use options::Options;
pub use scenario::Group;

/// Measures every scenario, writes the tables to `out` and returns the report.
/// Fails where two ways don't find the same.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for &group in &options.groups {
        for scenario in group.scenarios() {
            let rows = subject::measure(&scenario, options)
                .with_context(|| format!("{} at {}", group.name(), scenario.at))?;
            report.rows.extend(rows);
        }
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

/// How the names of the rows' scenarios begin.
pub const NAME: &str = "content";
