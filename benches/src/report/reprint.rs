//! Tables and plots again, from a report that was kept.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;

use crate::engines::{content, events, regions};
use crate::report::{Report, Row};
use crate::tick::{due, fan_out, fight, hot, listen, overlap, thesis};

/// Prints the tables of a kept JSON file again
///
/// So tables and plots of a machine that one doesn't have can be made anew.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// What a bench wrote with --json
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Draws the figures into this folder, as SVG files
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
}

pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let report = Report::read(&options.file)?;
    show(&report, options.plots.as_deref(), out)
        .with_context(|| format!("cannot show {}", options.file.display()))
}

/// Every scenario that the report has rows of, each by its own bench.
fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(!report.rows.is_empty(), "expected at least one row");
    for row in &report.rows {
        let is_known = BENCHES.iter().any(|bench| is_of(row, bench.0));
        ensure!(
            is_known,
            "expected rows of {}; found {:?}",
            BENCHES
                .iter()
                .map(|bench| bench.0)
                .collect::<Vec<_>>()
                .join(", "),
            row.scenario
        );
    }
    for (scenario, show) in BENCHES {
        if report.rows.iter().any(|row| is_of(row, scenario)) {
            show(report, plots, out)?;
        }
    }
    Ok(())
}

/// Some benches have several scenarios, told apart by a second word.
fn is_of(row: &Row, bench: &str) -> bool {
    let rest = row.scenario.strip_prefix(bench);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

type Show = fn(&Report, Option<&Path>, &mut dyn Write) -> anyhow::Result<()>;

/// What rows are called, and what shows them.
const BENCHES: &[(&str, Show)] = &[
    (thesis::NAME, thesis::show),
    (fight::NAME, fight::show),
    (hot::NAME, |report, _, out| hot::show(report, out)),
    (listen::NAME, |report, _, out| listen::show(report, out)),
    (due::NAME, |report, _, out| due::show(report, out)),
    (fan_out::NAME, |report, _, out| fan_out::show(report, out)),
    (overlap::NAME, overlap::show),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    (crate::tick::primitives::NAME, |report, _, out| {
        crate::tick::primitives::show(report, out)
    }),
    (events::NAME, events::show),
    (content::NAME, content::show),
    (regions::NAME, regions::show),
];
