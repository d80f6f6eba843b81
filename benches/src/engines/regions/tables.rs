use std::io::{self, Write};

use crate::report::markdown::{NOTHING, head, line, title};
use crate::report::{Report, Row, ways};

/// One of the paper's scenarios, with the numbers of its figures of speed-up and time.
pub struct Figures {
    pub kind: &'static str,
    pub side: u64,
    pub speedup: u32,
    pub time: u32,
}

pub const FIGURES: [Figures; 4] = [
    Figures::new("uniform", 10, 5, 7),
    Figures::new("uniform", 100, 6, 8),
    Figures::new("crowded", 10, 9, 11),
    Figures::new("crowded", 100, 10, 12),
];

impl Figures {
    const fn new(kind: &'static str, side: u64, speedup: u32, time: u32) -> Figures {
        Figures {
            kind,
            side,
            speedup,
            time,
        }
    }

    /// As in "uniform, 10 x 10".
    pub fn what(&self) -> String {
        format!("{}, {1} x {1}", self.kind, self.side)
    }

    pub fn rows<'a>(&self, report: &'a Report) -> Vec<&'a Row> {
        let is_ours = |row: &&Row| {
            row.text("kind") == Some(self.kind) && number(row, "side") == self.side && is_paper(row)
        };
        report.rows.iter().filter(is_ours).collect()
    }
}

/// The time of all pairs on one thread divided by this row's.
pub fn speedup(row: &Row, rows: &[&Row]) -> Option<f64> {
    let is_all_pairs = |other: &&&Row| {
        other.approach == "all pairs" && number(other, "regions") == number(row, "regions")
    };
    let all_pairs = rows.iter().find(is_all_pairs)?;
    Some(all_pairs.total_ms / row.total_ms)
}

/// The paper's figures 5 to 12 as tables, then all other scenarios.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for figures in &FIGURES {
        let rows = figures.rows(report);
        if rows.is_empty() {
            continue;
        }
        let what = figures.what();
        let number = figures.speedup;
        title(
            out,
            &format!("Figure {number}: times as fast as all pairs, {what}"),
        )?;
        grid(out, &rows, |row| {
            speedup(row, &rows).map(|times| format!("{times:.1}"))
        })?;
        title(
            out,
            &format!("Figure {}: ms per step, {what}", figures.time),
        )?;
        grid(out, &rows, |row| Some(format!("{:.3}", row.total_ms)))?;
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
        let mut cells = vec![text(row, "kind")];
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

/// A line for each number of regions, a column for each way to match.
fn grid(
    out: &mut dyn Write,
    rows: &[&Row],
    cell: impl Fn(&Row) -> Option<String>,
) -> io::Result<()> {
    let ways = ways(rows);
    let mut counts: Vec<u64> = rows.iter().map(|row| number(row, "regions")).collect();
    counts.sort_unstable();
    counts.dedup();
    let names = ways
        .iter()
        .map(|(backend, approach)| format!("{backend}: {approach}"));
    let header: Vec<String> = ["regions".to_owned(), "pairs".to_owned()]
        .into_iter()
        .chain(names)
        .collect();
    head(out, &header)?;
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
            let text = row.and_then(|row| cell(row));
            cells.push(text.unwrap_or_else(|| NOTHING.to_owned()));
        }
        line(out, &cells)?;
    }
    Ok(())
}

/// Whether a row belongs to one of the paper's own scenarios.
fn is_paper(row: &Row) -> bool {
    (2048..=32_768).contains(&number(row, "regions"))
        && number(row, "field") == 10_000
        && ["uniform", "crowded"].map(Some).contains(&row.text("kind"))
}

fn number(row: &Row, name: &str) -> u64 {
    row.whole(name).unwrap_or(0)
}

fn text(row: &Row, name: &str) -> String {
    row.text(name).unwrap_or_default().to_owned()
}
