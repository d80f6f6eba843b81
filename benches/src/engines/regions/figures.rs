//! The paper's figures 5 to 12 as charts.

use super::tables::{FIGURES, speedup};
use crate::report::plot::{Axis, Chart, Point, Series};
use crate::report::{Report, Row, ways};

/// The figures that there are rows for, each with the name of its file.
pub fn charts(report: &Report) -> Vec<(String, Chart)> {
    let mut charts = vec![];
    let mut add = |number: u32, chart: Chart| {
        charts.push((format!("regions-figure-{number}.svg"), chart));
    };
    for figures in &FIGURES {
        let rows = figures.rows(report);
        if rows.is_empty() {
            continue;
        }
        let what = figures.what();
        let time = figures.time;
        let title = format!("Fig {time}: time of a step, {what}");
        add(time, chart(title, "ms", &rows, |row| Some(row.total_ms)));
        if rows.iter().any(|row| speedup(row, &rows).is_some()) {
            let number = figures.speedup;
            let title = format!("Fig {number}: times as fast as all pairs, {what}");
            add(
                number,
                chart(title, "times", &rows, |row| speedup(row, &rows)),
            );
        }
    }
    charts
}

/// A line for each way to match, thin for the baselines.
fn chart(title: String, unit: &str, rows: &[&Row], value: impl Fn(&Row) -> Option<f64>) -> Chart {
    let line = |(backend, approach): (&str, &str)| {
        let own = rows
            .iter()
            .filter(|row| row.backend == backend && row.approach == approach);
        let points =
            own.map(|row| -> Point { (row.float("regions").unwrap_or(f64::NAN), value(row)) });
        let series = Series::new(format!("{backend}: {approach}"), points.collect());
        match backend {
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
