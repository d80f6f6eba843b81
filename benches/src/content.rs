//! The scenarios of Margara and Cugola's paper on content-based matching: its
//! default (Table 1), what it measured there (Table 2), and its sweeps (Figures 6 to
//! 11), with a dense case beside them.

mod gpu;
mod options;
mod scenario;
mod sff;
mod subject;
mod subsets;
mod tables;
mod workload;

use std::io::Write;

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
    if let Some(path) = &options.json {
        report.write(path)?;
    }
    tables::write(&report, out)?;
    Ok(report)
}
