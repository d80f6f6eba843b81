//! Timelines as parameters of rows, as tables and as charts.

use std::io::{self, Write};

use anyhow::Context;
use gpu_kernels::Stage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Pipeline, Span};
use crate::report::markdown::{head, line, number, title};
use crate::report::plot::{Axis, Chart, Point, Series};
use crate::report::{Report, Row};

/// One tick in milliseconds since the first one was submitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    submit_ms: [f64; 2],
    collect_ms: [f64; 2],
    stages_ms: Vec<f64>,
}

/// The timeline as a row's parameter.
pub fn of(spans: &[Span]) -> Value {
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    let both = |(begin, end)| [ms(begin), ms(end)];
    let entries = spans.iter().map(|span| {
        let stages = span.stages.iter().map(|stage| ms(stage.1));
        let stages: Vec<f64> = stages.collect();
        serde_json::json!({
            "submit_ms": both(span.submit),
            "collect_ms": both(span.collect),
            "stages_ms": stages,
        })
    });
    entries.collect()
}

pub fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    summary(report, out)?;
    for row in &report.rows {
        table(row, &entries(row)?, out)?;
    }
    Ok(())
}

/// A chart for each backend, with both ways.
pub fn charts(report: &Report) -> anyhow::Result<Vec<(String, Chart)>> {
    let ways = report.rows.chunks_exact(Pipeline::ALL.len()).map(|ways| {
        let backend = &ways[0].backend;
        Ok((format!("overlap-{backend}.svg"), chart(backend, ways)?))
    });
    ways.collect()
}

fn entries(row: &Row) -> anyhow::Result<Vec<Entry>> {
    let timeline = row.params.get("timeline").cloned().unwrap_or_default();
    serde_json::from_value(timeline)
        .with_context(|| format!("expected a timeline of {}, {}", row.backend, row.approach))
}

/// The gain of two ticks in flight.
fn summary(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    title(out, "Two ticks in flight")?;
    writeln!(
        out,
        "Times in milliseconds; the time of a tick is that of the median round divided by its \
         ticks. {}\n",
        report.origin()
    )?;
    head(
        out,
        &[
            "clients",
            "backend",
            "",
            "time of a tick",
            "ticks a second",
            "gain",
        ],
    )?;
    let rate = |row: &Row| row.float("ticks_per_second");
    for row in &report.rows {
        let is_one = |r: &&Row| r.backend == row.backend && r.approach == Pipeline::One.name();
        let one = report.rows.iter().find(is_one).and_then(rate);
        let gain = rate(row).zip(one).map(|(rate, one)| rate / one);
        let clients = row
            .whole("clients")
            .map_or(String::new(), |n| n.to_string());
        line(
            out,
            &[
                clients,
                row.backend.clone(),
                row.approach.clone(),
                number(Some(row.total_ms)),
                number(rate(row)),
                number(gain),
            ],
        )?;
    }
    Ok(())
}

fn table(row: &Row, entries: &[Entry], out: &mut dyn Write) -> io::Result<()> {
    title(out, &format!("{}, {}", row.backend, row.approach))?;
    let mut header = ["tick", "submit: begin", "end", "collect: begin", "end"].to_vec();
    header.extend(Stage::ALL.map(Stage::name));
    head(out, &header)?;
    for (i, entry) in entries.iter().enumerate() {
        let mut cells = vec![(i + 1).to_string()];
        let calls = entry.submit_ms.iter().chain(&entry.collect_ms);
        cells.extend(calls.chain(&entry.stages_ms).map(|&ms| number(Some(ms))));
        line(out, &cells)?;
    }
    Ok(())
}

/// A line for each call of each tick, from begin to end, at the tick's own height.
fn chart(backend: &str, ways: &[Row]) -> anyhow::Result<Chart> {
    type Call = fn(&Entry) -> [f64; 2];
    let calls: [(&str, Call); 2] = [("submit", |e| e.submit_ms), ("collect", |e| e.collect_ms)];
    let mut series = vec![];
    for (way, row) in ways.iter().enumerate() {
        let entries = entries(row)?;
        for (name, call) in calls {
            let mut points: Vec<Point> = vec![];
            for (i, entry) in entries.iter().enumerate() {
                let height = i as f64 + 1.0 + 0.3 * way as f64;
                let [begin, end] = call(entry);
                // A point without a value breaks the line between two ticks.
                points.extend([(begin, Some(height)), (end, Some(height)), (end, None)]);
            }
            let line = Series::new(format!("{}: {name}", row.approach), points);
            series.push(if way == 0 { line.thin() } else { line });
        }
    }
    Ok(Chart {
        title: format!("When ticks are submitted and collected, {backend}"),
        x: Axis::linear("time (ms)"),
        y: Axis::linear("tick"),
        series,
    })
}
