//! The table and the chart of a fight.

use std::io::{self, Write};

use gpu_kernels::Stage;

use crate::report::markdown::{head, line, number, title};
use crate::report::plot::{Axis, Chart, Series};
use crate::report::{Report, distinct};
use crate::tick::backends::BASELINE;

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    title(out, "The server's tick: a fight")?;
    writeln!(
        out,
        "Times in milliseconds, medians, from commands in host memory to changes and deliveries \
         in host memory. baseline: {}. {}\n",
        BASELINE.approach,
        report.origin()
    )?;
    let has_planes = report.rows.iter().any(|row| row.whole("planes").is_some());
    let planes = has_planes.then_some("planes");
    let counts = || COUNTS.into_iter().chain(planes);
    let mut header: Vec<&str> = counts().collect();
    header.extend([
        "backend",
        "threads",
        "total",
        "deviation",
        "baseline / this",
    ]);
    header.extend(Stage::ALL.map(Stage::name));
    head(out, &header)?;
    for row in &report.rows {
        let mut rows = report.rows.iter();
        let baseline =
            rows.find(|r| r.backend == BASELINE.name && r.has_same(row, &["clients", "planes"]));
        let mut cells: Vec<String> = counts().map(|name| row.cell(name)).collect();
        cells.extend([
            row.backend.clone(),
            row.cell("threads"),
            number(Some(row.total_ms)),
            number(Some(row.total_ms_deviation)),
            number(baseline.map(|baseline| baseline.total_ms / row.total_ms)),
        ]);
        cells.extend(Stage::ALL.map(|stage| number(row.stage(stage.name()))));
        line(out, &cells)?;
    }
    Ok(())
}

/// The times by the number of clients, a line for each backend.
pub fn chart(report: &Report) -> Chart {
    let backends = distinct(report.rows.iter().map(|row| row.backend.as_str()));
    let series = backends.into_iter().map(|backend| {
        let rows = report.rows.iter().filter(|row| row.backend == backend);
        let points = rows.map(|row| {
            let clients = row.float("clients").unwrap_or(f64::NAN);
            (clients, Some(row.total_ms))
        });
        let line = Series::new(backend, points.collect());
        match backend == BASELINE.name {
            true => line.thin(),
            false => line,
        }
    });
    Chart {
        title: "The server's tick: a fight".to_owned(),
        x: Axis::log2("clients"),
        y: Axis::log10("time of a tick (ms)"),
        series: series.collect(),
    }
}

/// The figures of a tick, as parameters of a row.
const COUNTS: [&str; 6] = [
    "clients",
    "commands",
    "updates",
    "deliveries",
    "enters",
    "leaves",
];
