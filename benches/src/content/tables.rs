use std::io::Write;

use crate::report::{Report, Row};

use super::scenario::Group;

/// A table for each group and mode: a row for each way, a column for each value of
/// its parameter, in microseconds a notification.
pub fn write(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "Content matching on {}", report.machine)?;
    if let Some(gpu) = &report.gpu {
        writeln!(out, "and on {gpu}")?;
    }
    for group in Group::ALL {
        let name = format!("content {}", group.name());
        let rows: Vec<&Row> = report.rows.iter().filter(|r| r.scenario == name).collect();
        if rows.is_empty() {
            continue;
        }
        writeln!(out, "\n### {}\n", group.title())?;
        for (mode, what) in [("single", "one at a time"), ("batch", "in batches")] {
            writeln!(out, "Microseconds a notification, {what}:\n")?;
            let rows: Vec<&Row> = rows
                .iter()
                .filter(|r| r.params["mode"] == mode)
                .copied()
                .collect();
            sweep(&rows, out, |row| {
                let each = row.total_ms * 1e3 / row.work.max(1) as f64;
                format!("{each:.3}")
            })?;
        }
        if group == Group::Default {
            let rows: Vec<&Row> = rows
                .iter()
                .filter(|r| r.params["mode"] == "batch")
                .copied()
                .collect();
            deployment(&rows, out)?;
        }
    }
    Ok(())
}

fn sweep(rows: &[&Row], out: &mut dyn Write, cell: impl Fn(&Row) -> String) -> anyhow::Result<()> {
    let mut values: Vec<&serde_json::Value> = vec![];
    let mut ways: Vec<(&str, &str)> = vec![];
    for row in rows {
        if !values.contains(&&row.params["at"]) {
            values.push(&row.params["at"]);
        }
        let way = (row.backend.as_str(), row.approach.as_str());
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    write!(out, "| way |")?;
    for value in &values {
        write!(out, " {value} |")?;
    }
    writeln!(out, "\n| --- |{}", " ---: |".repeat(values.len()))?;
    for (backend, approach) in ways {
        write!(out, "| {backend}: {approach} |")?;
        for &value in &values {
            let row = rows.iter().find(|row| {
                row.params["at"] == *value && row.backend == backend && row.approach == approach
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

/// Table 2's other rows, beside what the paper printed.
fn deployment(rows: &[&Row], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "Table 2: deployment and memory\n")?;
    writeln!(out, "| way | deployment, ms | memory, MB |")?;
    writeln!(out, "| --- | ---: | ---: |")?;
    writeln!(out, "| the paper's CCM, GTX 460 | 527.5 | 33.9 |")?;
    writeln!(out, "| the paper's SFF, Phenom II | 992.28 | 42.4 |")?;
    for row in rows {
        let number = |name: &str| row.params[name].as_f64().unwrap_or_default();
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
        let change = row.params["change_us"].as_f64().unwrap_or_default();
        writeln!(
            out,
            "\nOurs takes one filter more, and gives it up, in {change:.2} µs."
        )?;
    }
    writeln!(out)?;
    Ok(())
}
