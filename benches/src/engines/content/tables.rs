use std::io::{self, Write};

use super::scenario::Group;
use crate::report::markdown::title;
use crate::report::{Report, Row, ways};

/// A table for each group and mode: a row for each way, a column for each value of the
/// group's parameter, in microseconds a notification.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Content matching. {}", report.origin())?;
    for group in Group::ALL {
        if !report.rows.iter().any(|row| group.has(row)) {
            continue;
        }
        title(out, group.title())?;
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
            sweep(&rows, out)?;
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
    let rows = rows.filter(|row| group.has(row) && row.text("mode") == Some(mode));
    rows.collect()
}

/// The median time of a notification in microseconds.
pub fn each_us(row: &Row) -> f64 {
    row.total_ms * 1e3 / row.work.max(1) as f64
}

/// A line for each way, a column for each value of the group's parameter.
fn sweep(rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
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
                Some(row) => write!(out, " {:.3} |", each_us(row))?,
                None => write!(out, " |")?,
            }
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    Ok(())
}

/// Figure 5: the parts of the paper's way on the GPU, one notification at a time.
fn stages(rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
    let mut rows = rows
        .iter()
        .filter(|row| !row.stages_ms.is_empty())
        .peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    writeln!(
        out,
        "Figure 5: the parts of the paper's way, in microseconds\n"
    )?;
    writeln!(out, "| way | host to device | kernel | device to host |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    writeln!(out, "| the paper's, memset | 75 | 125 | |")?;
    writeln!(out, "| the paper's, in the kernel | 9 | 130 | |")?;
    for row in rows {
        let part = |name: &str| row.stage(name).unwrap_or_default() * 1e3;
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

/// The other rows of table 2, beside the paper's figures.
fn deployment(rows: &[&Row], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Table 2: deployment and memory\n")?;
    writeln!(out, "| way | deployment, ms | memory, MB |")?;
    writeln!(out, "| --- | ---: | ---: |")?;
    writeln!(out, "| the paper's CCM, GTX 460 | 527.5 | 33.9 |")?;
    writeln!(out, "| the paper's SFF, Phenom II | 992.28 | 42.4 |")?;
    for row in rows {
        let number = |name| row.float(name).unwrap_or_default();
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
        let change = row.float("change_us").unwrap_or_default();
        writeln!(
            out,
            "\nOurs subscribes one more filter, and unsubscribes it, in {change:.2} µs."
        )?;
    }
    writeln!(out)?;
    Ok(())
}
