use std::io::Write;

use super::NAME;
use crate::report::markdown::{NOTHING, grouped, head, line, number, rounded, title};
use crate::report::{Report, Row};

/// Writes the table of a report.
pub fn show(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    title(out, "Who is told of what they subscribed to")?;
    let rows = || report.rows.iter().filter(|row| row.scenario == NAME);
    let sampled = rows().find_map(|row| row.whole("sampled"));
    writeln!(
        out,
        "Everyone moves in every tick. Times of the stage in milliseconds, medians. direct: \
         every predicate on every change on one thread; tried on {} changes, and counted up. \
         On {}, {}.\n",
        sampled.map_or(NOTHING.to_owned(), grouped),
        report.place(),
        report.date
    )?;
    let columns = [
        "subscriptions",
        "listeners",
        "changes",
        "backend",
        "threads",
        "stage",
        "direct / it",
        "notices",
        "µs to subscribe",
    ];
    head(out, &columns)?;
    for row in rows() {
        let whole = |name| row.whole(name).map_or(NOTHING.to_owned(), grouped);
        let is_alike = |other: &&Row| {
            ["subscriptions", "entities"]
                .iter()
                .all(|name| other.whole(name) == row.whole(name))
        };
        let direct = rows()
            .filter(is_alike)
            .find(|other| other.backend == "direct");
        let part = |name| row.params.get(name).and_then(serde_json::Value::as_f64);
        let subscribed = part("asked_us").zip(part("let_in_us"));
        let cells = [
            whole("subscriptions"),
            whole("listeners"),
            whole("changes"),
            row.backend.clone(),
            whole("threads"),
            number(Some(row.total_ms)),
            rounded(direct.map(|direct| direct.total_ms / row.total_ms)),
            whole("notices"),
            rounded(subscribed.map(|(asked, let_in)| asked + let_in)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}
