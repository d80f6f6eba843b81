//! The paper's figures 6 to 11 as SVG files.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use anyhow::Context;

use super::scenario::Group;
use super::tables::{each_us, scenario_rows, ways};
use crate::report::plot::{Axis, Chart, Series};
use crate::report::{Report, Row};

/// Writes the figures of the sweeps that were measured into a folder, which is made
/// if need be, and links to them to `out`.
pub fn write(report: &Report, folder: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for group in Group::ALL {
        let rows = scenario_rows(report, group, "batch");
        let places: BTreeSet<u64> = rows.iter().filter_map(|row| row.whole("at")).collect();
        if places.len() < 2 {
            continue;
        }
        let chart = chart(group, &rows, &places);
        let file = format!("content-{}.svg", group.name());
        chart.write(&folder.join(&file))?;
        writeln!(out, "![{}]({file})\n", chart.title)?;
    }
    Ok(())
}

/// A line for each way, in microseconds a notification.
fn chart(group: Group, rows: &[&Row], places: &BTreeSet<u64>) -> Chart {
    let line = |(backend, approach): (&str, &str)| {
        let point = |&at: &u64| {
            let mut there = rows.iter().filter(|row| row.whole("at") == Some(at));
            let row = there.find(|row| row.backend == backend && row.approach == approach);
            (at as f64, row.map(|row| each_us(row)))
        };
        let series = Series::new(
            format!("{backend}: {approach}"),
            places.iter().map(point).collect(),
        );
        match approach.starts_with(super::subject::OURS) {
            true => series,
            false => series.thin(),
        }
    };
    let (title, name) = group
        .title()
        .split_once(": ")
        .unwrap_or((group.title(), group.name()));
    let x = match group {
        Group::Filters | Group::Interfaces | Group::Names => Axis::log10(name),
        _ => Axis::linear(name),
    };
    Chart {
        title: format!("{title}: {name}, in batches"),
        x,
        y: Axis::log10("microseconds a notification"),
        series: ways(rows).into_iter().map(line).collect(),
    }
}
