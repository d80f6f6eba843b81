use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::Report;
use super::markdown::title;
use super::plot::Chart;

/// How the rows of one bench are shown.
#[derive(Clone, Copy)]
pub struct Printer {
    /// The bench's name.
    pub bench: &'static str,
    pub tables: Tables,
    pub charts: Charts,
}

/// Writes the tables of a report as Markdown.
pub type Tables = fn(&Report, &mut dyn Write) -> anyhow::Result<()>;
/// The charts of a report, each with the name of its SVG file.
pub type Charts = fn(&Report) -> anyhow::Result<Vec<(String, Chart)>>;

impl Printer {
    /// Writes the tables of the bench's rows to `out`. With a folder, draws the charts
    /// into it and writes links to them, which are relative to the folder.
    pub fn show(
        &self,
        report: &Report,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> anyhow::Result<()> {
        let report = report.only(self.bench);
        (self.tables)(&report, out)?;
        let Some(folder) = folder else {
            return Ok(());
        };
        let charts = (self.charts)(&report)?;
        if charts.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        title(out, "Figures")?;
        for (file, chart) in charts {
            chart.write(&folder.join(&file))?;
            writeln!(out, "![{}]({file})\n", chart.title)?;
        }
        Ok(())
    }
}
