//! The table and the chart of a fight.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use gpu_kernels::Stage;

use super::NAME;
use crate::report::markdown::{NOTHING, grouped, head, line, number, title};
use crate::report::plot::{Axis, Chart, Series};
use crate::report::{Report, Row};
use crate::tick::backends::BASELINE;

/// Writes the table of a report, and draws its times into a folder.
pub fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "The server's tick: a fight")?;
    writeln!(
        out,
        "Times in milliseconds, medians, from commands in host memory to changes and deliveries \
         in host memory. baseline: {}. On {}, {}.\n",
        BASELINE.approach,
        report.place(),
        report.date
    )?;
    let mut header = COUNTS.to_vec();
    header.extend([
        "backend",
        "threads",
        "total",
        "deviation",
        "baseline / this",
    ]);
    header.extend(Stage::ALL.map(Stage::name));
    head(out, &header)?;
    let rows = || report.rows.iter().filter(|row| row.scenario == NAME);
    for row in rows() {
        let clients = row.whole("clients");
        let is_baseline = |r: &&Row| r.backend == BASELINE.name && r.whole("clients") == clients;
        let ratio = rows().find(is_baseline).map(|b| b.total_ms / row.total_ms);
        let whole = |name| row.whole(name).map_or(NOTHING.to_owned(), grouped);
        let mut cells = COUNTS.map(whole).to_vec();
        cells.extend([
            row.backend.clone(),
            whole("threads"),
            number(Some(row.total_ms)),
            number(Some(row.total_ms_deviation)),
            number(ratio),
        ]);
        let stages = Stage::ALL
            .iter()
            .map(|stage| row.stages_ms.get(stage.name()));
        cells.extend(stages.map(|ms| number(ms.copied())));
        line(out, &cells)?;
    }
    let Some(folder) = plots else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    chart(rows()).write(&folder.join("fight.svg"))
}

/// The times by the number of clients, a line for each backend.
fn chart<'a>(rows: impl Iterator<Item = &'a Row>) -> Chart {
    let mut series: Vec<Series> = vec![];
    for row in rows {
        let clients = row.whole("clients").map_or(f64::NAN, |n| n as f64);
        let point = (clients, Some(row.total_ms));
        match series.iter_mut().find(|line| line.name == row.backend) {
            Some(line) => line.points.push(point),
            None => {
                let line = Series::new(&row.backend, vec![point]);
                let is_baseline = row.backend == BASELINE.name;
                series.push(if is_baseline { line.thin() } else { line });
            }
        }
    }
    Chart {
        title: "The server's tick: a fight".to_owned(),
        x: Axis::log2("clients"),
        y: Axis::log10("time of a tick (ms)"),
        series,
    }
}

/// What a tick did, by the names of a row's parameters.
const COUNTS: [&str; 6] = [
    "clients",
    "commands",
    "updates",
    "deliveries",
    "enters",
    "leaves",
];
