use std::io::{self, Write};

use super::DIRECT;
use crate::report::Report;
use crate::report::markdown::{NOTHING, grouped, head, line, number, rounded, title};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    title(out, "Changes sent to subscribers")?;
    let mut rows = report.rows.iter();
    let sampled = rows.find_map(|row| row.whole("sampled"));
    writeln!(
        out,
        "All entities move in every tick. Times of the stage in milliseconds, medians. direct: \
         every predicate on every change, on one thread; measured on {} changes and scaled up. \
         {}\n",
        sampled.map_or(NOTHING.to_owned(), grouped),
        report.origin()
    )?;
    let columns = [
        "subscriptions",
        "listeners",
        "changes",
        "backend",
        "threads",
        "stage",
        "direct / this",
        "notices",
        "µs to subscribe",
    ];
    head(out, &columns)?;
    for row in &report.rows {
        let is_same = ["subscriptions", "entities"];
        let mut rows = report.rows.iter();
        let direct = rows.find(|other| other.backend == DIRECT && other.has_same(row, &is_same));
        let subscribed = row.float("asked_us").zip(row.float("let_in_us"));
        let cells = [
            row.cell("subscriptions"),
            row.cell("listeners"),
            row.cell("changes"),
            row.backend.clone(),
            row.cell("threads"),
            number(Some(row.total_ms)),
            rounded(direct.map(|direct| direct.total_ms / row.total_ms)),
            row.cell("notices"),
            rounded(subscribed.map(|(asked, let_in)| asked + let_in)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}
