//! The paper's figures 6 to 11 as charts.

use std::collections::BTreeSet;

use super::scenario::Group;
use super::subject::OURS;
use super::tables::{each_us, scenario_rows};
use crate::report::plot::{Axis, Chart, Series};
use crate::report::{Report, Row, ways};

/// The figures of the sweeps that were measured, each with the name of its file.
pub fn charts(report: &Report) -> Vec<(String, Chart)> {
    let mut charts = vec![];
    for group in Group::ALL {
        let rows = scenario_rows(report, group, "batch");
        let places: BTreeSet<u64> = rows.iter().filter_map(|row| row.whole("at")).collect();
        if places.len() >= 2 {
            let file = format!("content-{}.svg", group.name());
            charts.push((file, chart(group, &rows, &places)));
        }
    }
    charts
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
        match approach.starts_with(OURS) {
            true => series,
            false => series.thin(),
        }
    };
    let (title, name) = group
        .title()
        .split_once(": ")
        .unwrap_or((group.title(), group.name()));
    let x = match group {
        Group::Filters | Group::Subscribers | Group::Names => Axis::log10(name),
        _ => Axis::linear(name),
    };
    Chart {
        title: format!("{title}: {name}, in batches"),
        x,
        y: Axis::log10("microseconds a notification"),
        series: ways(rows).into_iter().map(line).collect(),
    }
}
