//! The paper's figures 10 and 12 to 15 as charts.

use super::tables::{Tables, rate, units};
use crate::report::plot::{Axis, Chart, Point, Series};
use crate::report::{Report, Row};

/// The figures that there are rows for, each with the name of its file.
pub fn charts(report: &Report) -> Vec<(String, Chart)> {
    let tables = &Tables::of_report(report);
    let mut charts = vec![];
    for lookahead in tables.values("torus", "lookahead") {
        let name = format!("speed-{}", units(lookahead));
        charts.push((name, speed(tables, lookahead)));
    }
    if tables.of("torus").any(|row| row.whole("windows") > Some(0)) {
        charts.push(("parallel-events".to_owned(), parallel_events(tables)));
    }
    if tables.of("accuracy").next().is_some() {
        let percent = |row: &Row| Some(100.0 * row.float("utilization")?);
        let time = |row: &Row| row.float("stay");
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
    let files = charts.into_iter();
    files
        .map(|(name, chart)| (format!("events-{name}.svg"), chart))
        .collect()
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
            .filter(|row| row.whole("mean") == Some(mean));
        let point = |row: &Row| {
            let lookahead = row.whole("lookahead").unwrap_or_default();
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
            let percent = row.whole("selected_percent").unwrap_or_default();
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
