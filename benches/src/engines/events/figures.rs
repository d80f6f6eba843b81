//! The paper's figures 10 and 12 to 15 as SVG files.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::tables::{Tables, param, rate, units};
use crate::report::markdown::title;
use crate::report::plot::{Axis, Chart, Point, Series};
use crate::report::{Report, Row};

/// Writes the figures of what was measured into a folder, which is made if need be,
/// and links to them to `out`: they hold where `out` is kept in that folder too.
pub fn write(report: &Report, folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let tables = Tables::of_report(report);
    title(out, "Figures")?;
    for (name, chart) in charts(&tables) {
        let file = format!("events-{name}.svg");
        chart.write(&folder.join(&file))?;
        writeln!(out, "![{}]({file})\n", chart.title)?;
    }
    Ok(())
}

/// Each chart that there are rows for, with its file's name.
fn charts(tables: &Tables) -> Vec<(String, Chart)> {
    let mut charts = vec![];
    for lookahead in tables.values("torus", "lookahead") {
        let name = format!("speed-{}", units(lookahead));
        charts.push((name, speed(tables, lookahead)));
    }
    if tables
        .of("torus")
        .any(|row| param(row, "windows") > Some(0))
    {
        charts.push(("parallel-events".to_owned(), parallel_events(tables)));
    }
    if tables.of("accuracy").next().is_some() {
        let percent = |row: &Row| Some(100.0 * row.params.get("utilization")?.as_f64()?);
        let time = |row: &Row| row.params.get("stay")?.as_f64();
        let utilization = accuracy(tables, "Fig 14: utilisation against d", "%", percent);
        let stay = accuracy(
            tables,
            "Fig 15: time in a facility against d",
            "time units",
            time,
        );
        charts.push(("utilization".to_owned(), utilization));
        charts.push(("time-in-facility".to_owned(), stay));
    }
    if tables.of("selection").next().is_some() {
        charts.push(("selection".to_owned(), selection(tables)));
    }
    charts
}

fn speed(tables: &Tables, lookahead: u64) -> Chart {
    let line = |backend: &str| {
        let sides = tables.values("torus", "side").into_iter();
        let point = |side| -> Point {
            (
                side as f64,
                tables.torus(side, lookahead, backend).map(rate),
            )
        };
        Series::new(backend, sides.map(point).collect())
    };
    let lines = [
        line("heap").thin(),
        line("calendar").thin(),
        line("cpu"),
        line("cuda"),
    ];
    let measured = |series: &Series| series.points.iter().any(|point| point.1.is_some());
    Chart {
        title: format!("Fig 12: torus network, d = {}", units(lookahead)),
        x: Axis::log2("facilities on a side"),
        y: Axis::log10("million events a second"),
        series: lines.into_iter().filter(measured).collect(),
    }
}

fn parallel_events(tables: &Tables) -> Chart {
    let line = |lookahead| {
        let sides = tables.values("torus", "side").into_iter();
        let points = sides.map(|side| (side as f64, tables.parallel(side, lookahead)));
        Series::new(format!("d = {}", units(lookahead)), points.collect())
    };
    Chart {
        title: "Fig 13: average number of parallel events".to_owned(),
        x: Axis::log2("facilities on a side"),
        y: Axis::log10("events"),
        series: tables
            .values("torus", "lookahead")
            .into_iter()
            .map(line)
            .collect(),
    }
}

fn accuracy(tables: &Tables, title: &str, name: &str, value: fn(&Row) -> Option<f64>) -> Chart {
    let line = |mean| {
        let rows = tables
            .of("accuracy")
            .filter(|row| param(row, "mean") == Some(mean));
        let point = |row: &Row| {
            let lookahead = param(row, "lookahead").unwrap_or_default();
            (lookahead as f64 / 1e3, value(row))
        };
        Series::new(format!("mean service {mean}"), rows.map(point).collect())
    };
    Chart {
        title: title.to_owned(),
        x: Axis::linear("d"),
        y: Axis::linear(name),
        series: tables
            .values("accuracy", "mean")
            .into_iter()
            .map(line)
            .collect(),
    }
}

fn selection(tables: &Tables) -> Chart {
    let line = |approach: &str| {
        let rows = tables
            .of("selection")
            .filter(|row| row.approach == approach);
        let point = |row: &Row| {
            let percent = param(row, "selected_percent").unwrap_or_default();
            (percent as f64, Some(row.total_ms))
        };
        Series::new(approach, rows.map(point).collect())
    };
    Chart {
        title: "Fig 10: selection from 16 million numbers".to_owned(),
        x: Axis::linear("% selected"),
        y: Axis::linear("ms"),
        series: ["atomic", "scan", "hybrid"].map(line).into(),
    }
}
