//! Timelines as a row keeps them, as tables and as pictures.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use gpu_kernels::Stage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{NAME, Span, Way};
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

/// A row's parameter.
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

/// Writes the tables of a report, and its pictures into a folder.
pub fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    let rows: Vec<&Row> = report
        .rows
        .iter()
        .filter(|row| row.scenario == NAME)
        .collect();
    summary(report, &rows, out)?;
    let timelines = rows.iter().map(|row| Ok((*row, entries(row)?)));
    let timelines: Vec<(&Row, Vec<Entry>)> = timelines.collect::<anyhow::Result<_>>()?;
    for (row, entries) in &timelines {
        table(row, entries, out)?;
    }
    let Some(folder) = plots else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    // Both ways of a backend stand beside each other.
    for ways in timelines.chunks_exact(Way::ALL.len()) {
        let backend = &ways[0].0.backend;
        picture(backend, ways).write(&folder.join(format!("overlap-{backend}.svg")))?;
    }
    Ok(())
}

fn entries(row: &Row) -> anyhow::Result<Vec<Entry>> {
    let timeline = row.params.get("timeline").cloned().unwrap_or_default();
    serde_json::from_value(timeline)
        .with_context(|| format!("expected a timeline of {}, {}", row.backend, row.approach))
}

/// What having two ticks in flight is worth.
fn summary(report: &Report, rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "Two ticks in flight")?;
    writeln!(
        out,
        "Times in milliseconds; that of a tick is the median round's, divided by its ticks. \
         On {}, {}.\n",
        report.place(),
        report.date
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
    let rate = |row: &Row| row.params.get("ticks_per_second").and_then(Value::as_f64);
    for row in rows {
        let is_one = |r: &&&Row| r.backend == row.backend && r.approach == Way::One.name();
        let one = rows.iter().find(is_one).and_then(|one| rate(one));
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

fn table(row: &Row, entries: &[Entry], out: &mut dyn Write) -> anyhow::Result<()> {
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

/// Each tick has a height of its own; its calls are drawn from begin to end.
fn picture(backend: &str, ways: &[(&Row, Vec<Entry>)]) -> Chart {
    type Call = fn(&Entry) -> [f64; 2];
    let calls: [(&str, Call); 2] = [("submit", |e| e.submit_ms), ("collect", |e| e.collect_ms)];
    let mut series = vec![];
    for (way, (row, entries)) in ways.iter().enumerate() {
        for (name, call) in calls {
            let mut points: Vec<Point> = vec![];
            for (i, entry) in entries.iter().enumerate() {
                let height = i as f64 + 1.0 + 0.3 * way as f64;
                let [begin, end] = call(entry);
                // The last one has no value: the line breaks between two ticks.
                points.extend([(begin, Some(height)), (end, Some(height)), (end, None)]);
            }
            let line = Series::new(format!("{}: {name}", row.approach), points);
            series.push(if way == 0 { line.thin() } else { line });
        }
    }
    Chart {
        title: format!("When ticks are submitted and collected, {backend}"),
        x: Axis::linear("time (ms)"),
        y: Axis::linear("tick"),
        series,
    }
}
