use std::io::{self, Write};

use crate::report::{Report, Row};

/// The paper's figures 5 to 12 as tables, then all other scenarios.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let figures = [
        ("uniform", 10, 5, 7),
        ("uniform", 100, 6, 8),
        ("crowded", 10, 9, 11),
        ("crowded", 100, 10, 12),
    ];
    for (kind, side, speedup, time) in figures {
        let rows: Vec<&Row> = report
            .rows
            .iter()
            .filter(|row| row.scenario == kind && number(row, "side") == side && is_paper(row))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let what = format!("{kind}, {side} x {side}");
        title(
            out,
            &format!("Figure {speedup}: times as fast as all pairs, {what}"),
        )?;
        grid(out, &rows, |row, of_count| {
            let all_pairs = of_count.iter().find(|row| row.approach == "all pairs")?;
            Some(format!("{:.1}", all_pairs.total_ms / row.total_ms))
        })?;
        title(out, &format!("Figure {time}: ms per step, {what}"))?;
        grid(out, &rows, |row, _| Some(format!("{:.3}", row.total_ms)))?;
    }
    let others: Vec<&Row> = report.rows.iter().filter(|row| !is_paper(row)).collect();
    if others.is_empty() {
        return Ok(());
    }
    title(out, "Larger and harder")?;
    let names = [
        "scenario", "regions", "field", "side", "updated", "pairs", "changed",
    ];
    let more = ["backend", "approach", "ms", "deviation", "took"];
    head(out, &[&names[..], &more[..]].concat())?;
    for row in others {
        let mut cells = vec![row.scenario.clone()];
        for name in [
            "regions",
            "field",
            "side",
            "updated_percent",
            "pairs",
            "changed",
        ] {
            cells.push(number(row, name).to_string());
        }
        cells.extend([row.backend.clone(), row.approach.clone()]);
        cells.push(format!("{:.3}", row.total_ms));
        cells.push(format!("{:.3}", row.total_ms_deviation));
        cells.push(text(row, "took"));
        line(out, &cells)?;
    }
    Ok(())
}

/// A row for each number of regions, a column for each way of matching.
fn grid(
    out: &mut dyn Write,
    rows: &[&Row],
    cell: impl Fn(&Row, &[&Row]) -> Option<String>,
) -> io::Result<()> {
    let mut ways: Vec<(String, String)> = vec![];
    let mut counts = vec![];
    for row in rows {
        let way = (row.backend.clone(), row.approach.clone());
        if !ways.contains(&way) {
            ways.push(way);
        }
        let regions = number(row, "regions");
        if !counts.contains(&regions) {
            counts.push(regions);
        }
    }
    let names = ways
        .iter()
        .map(|(backend, approach)| format!("{backend}: {approach}"));
    let header: Vec<String> = ["regions".to_owned(), "pairs".to_owned()]
        .into_iter()
        .chain(names)
        .collect();
    head(out, &header.iter().map(String::as_str).collect::<Vec<_>>())?;
    for regions in counts {
        let of_count: Vec<&Row> = rows
            .iter()
            .copied()
            .filter(|row| number(row, "regions") == regions)
            .collect();
        let pairs = of_count.first().map_or(0, |row| row.work);
        let mut cells = vec![regions.to_string(), pairs.to_string()];
        for (backend, approach) in &ways {
            let row = of_count
                .iter()
                .find(|row| row.backend == *backend && row.approach == *approach);
            let text = row.and_then(|row| cell(row, &of_count));
            cells.push(text.unwrap_or_else(|| "-".to_owned()));
        }
        line(out, &cells)?;
    }
    Ok(())
}

/// Whether a row is of one of the paper's own scenarios.
fn is_paper(row: &Row) -> bool {
    (2048..=32_768).contains(&number(row, "regions"))
        && ["uniform", "crowded"].contains(&row.scenario.as_str())
}

fn number(row: &Row, name: &str) -> u64 {
    row.params.get(name).and_then(|n| n.as_u64()).unwrap_or(0)
}

fn text(row: &Row, name: &str) -> String {
    let value = row.params.get(name).and_then(|text| text.as_str());
    value.unwrap_or("").to_owned()
}

fn title(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "\n### {text}\n")
}

fn head(out: &mut dyn Write, cells: &[&str]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))?;
    writeln!(out, "|{}", " ---: |".repeat(cells.len()))
}

fn line(out: &mut dyn Write, cells: &[String]) -> io::Result<()> {
    writeln!(out, "| {} |", cells.join(" | "))
}
