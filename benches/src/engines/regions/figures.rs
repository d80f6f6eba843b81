//! The paper's figures 5 to 12 as SVG files.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::tables::{FIGURES, number, speedup, ways};
use crate::report::markdown::title;
use crate::report::plot::{Axis, Chart, Point, Series};
use crate::report::{Report, Row};

/// Writes the figures of what was measured into a folder, which is made if need be,
/// and links to them to `out`: they hold where `out` is kept in that folder too.
pub fn write(report: &Report, folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    title(out, "Figures")?;
    for figures in &FIGURES {
        let rows = figures.rows(report);
        if rows.is_empty() {
            continue;
        }
        let what = figures.what();
        let mut charts = vec![(
            figures.time,
            chart(
                format!("Fig {}: time of a step, {what}", figures.time),
                "ms",
                &rows,
                |row| Some(row.total_ms),
            ),
        )];
        if rows.iter().any(|row| speedup(row, &rows).is_some()) {
            let title = format!(
                "Fig {}: times as fast as all pairs, {what}",
                figures.speedup
            );
            charts.push((
                figures.speedup,
                chart(title, "times", &rows, |row| speedup(row, &rows)),
            ));
        }
        for (figure, chart) in charts {
            let file = format!("regions-figure-{figure}.svg");
            chart.write(&folder.join(&file))?;
            writeln!(out, "![{}]({file})\n", chart.title)?;
        }
    }
    Ok(())
}

/// A line for each way of matching, thin for the baselines.
fn chart(title: String, unit: &str, rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Chart {
    let line = |(backend, approach): (String, String)| {
        let own = rows
            .iter()
            .filter(|row| row.backend == backend && row.approach == approach);
        let points = own.map(|row| -> Point { (number(row, "regions") as f64, value(row)) });
        let series = Series::new(format!("{backend}: {approach}"), points.collect());
        match backend.as_str() {
            "baseline" => series.thin(),
            _ => series,
        }
    };
    Chart {
        title,
        x: Axis::log2("regions"),
        y: Axis::log10(unit),
        series: ways(rows).into_iter().map(line).collect(),
    }
}
