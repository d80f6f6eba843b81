use std::io::Write;

use crate::report::{Report, Row};

use super::scenario::Group;

/// A table for each group and mode: a row for each way, a column for each value of
/// its parameter, in microseconds a notification.
pub fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "Content matching on {}", report.place())?;
    for group in Group::ALL {
        if !report
            .rows
            .iter()
            .any(|row| row.scenario == group.scenario())
        {
            continue;
        }
        writeln!(out, "\n### {}\n", group.title())?;
        for (mode, what) in [
            ("single", "one at a time"),
            ("batch", "in batches"),
            (
                "churn",
                "in batches of 1,024 with 16 filters replaced before each",
            ),
        ] {
            let rows = scenario_rows(report, group, mode);
            if rows.is_empty() {
                continue;
            }
            writeln!(out, "Microseconds a notification, {what}:\n")?;
            sweep(&rows, out, |row| format!("{:.3}", each_us(row)))?;
        }
        if group == Group::Default {
            stages(&scenario_rows(report, group, "single"), out)?;
            deployment(&scenario_rows(report, group, "batch"), out)?;
        }
    }
    Ok(())
}

/// The rows of one group and mode.
pub fn scenario_rows<'a>(report: &'a Report, group: Group, mode: &str) -> Vec<&'a Row> {
    let rows = report.rows.iter();
    let rows = rows.filter(|row| row.scenario == group.scenario());
    rows.filter(|row| row.params.get("mode").is_some_and(|m| m == mode))
        .collect()
}

/// Backends and approaches, in the order of their first rows.
pub fn ways<'a>(rows: &[&'a Row]) -> Vec<(&'a str, &'a str)> {
    let mut ways = vec![];
    for row in rows {
        let way = (row.backend.as_str(), row.approach.as_str());
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// The median, in microseconds.
pub fn each_us(row: &Row) -> f64 {
    row.total_ms * 1e3 / row.work.max(1) as f64
}

fn sweep(rows: &[&Row], out: &mut dyn Write, cell: impl Fn(&Row) -> String) -> anyhow::Result<()> {
    let mut values: Vec<u64> = rows.iter().filter_map(|row| row.whole("at")).collect();
    values.sort_unstable();
    values.dedup();
    write!(out, "| way |")?;
    for value in &values {
        write!(out, " {value} |")?;
    }
    writeln!(out, "\n| --- |{}", " ---: |".repeat(values.len()))?;
    for (backend, approach) in ways(rows) {
        write!(out, "| {backend}: {approach} |")?;
        for &value in &values {
            let row = rows.iter().find(|row| {
                row.whole("at") == Some(value) && row.backend == backend && row.approach == approach
            });
            match row {
                Some(row) => write!(out, " {} |", cell(row))?,
                None => write!(out, " |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Figure 5: the paper's way on the GPU by its parts, one notification at a time.
fn stages(rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    let mut rows = rows
        .iter()
        .filter(|row| !row.stages_ms.is_empty())
        .peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(
        out,
        "Figure 5: the paper's way by its parts, in microseconds\n"
    )?;
    writeln!(out, "| way | host to device | kernel | device to host |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    writeln!(out, "| the paper's, memset | 75 | 125 | |")?;
    writeln!(out, "| the paper's, in the kernel | 9 | 130 | |")?;
    for row in rows {
        let part = |name: &str| row.stages_ms.get(name).copied().unwrap_or_default() * 1e3;
        writeln!(
            out,
            "| {}: {} | {:.2} | {:.2} | {:.2} |",
            row.backend,
            row.approach,
            part("upload"),
            part("kernel"),
            part("download")
        )?;
    }
    writeln!(out)?;
    Ok(())
}

/// Table 2's other rows, beside what the paper printed.
fn deployment(rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "Table 2: deployment and memory\n")?;
    writeln!(out, "| way | deployment, ms | memory, MB |")?;
    writeln!(out, "| --- | ---: | ---: |")?;
    writeln!(out, "| the paper's CCM, GTX 460 | 527.5 | 33.9 |")?;
    writeln!(out, "| the paper's SFF, Phenom II | 992.28 | 42.4 |")?;
    for row in rows {
        let number = |name| parameter(row, name);
        writeln!(
            out,
            "| {}: {} | {:.1} | {:.1} |",
            row.backend,
            row.approach,
            number("deployment_ms"),
            number("bytes") / 1e6
        )?;
    }
    if let Some(row) = rows.first() {
        let change = parameter(row, "change_us");
        writeln!(
            out,
            "\nOurs takes one filter more, and gives it up, in {change:.2} µs."
        )?;
    }
    writeln!(out)?;
    Ok(())
}

fn parameter(row: &Row, name: &str) -> f64 {
    let value = row.params.get(name);
    value.and_then(|value| value.as_f64()).unwrap_or_default()
}
