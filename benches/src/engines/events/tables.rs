//! The paper's tables and figures as Markdown, with our figures beside them.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::published;
use crate::report::markdown::{NOTHING, head, line, title};
use crate::report::{Report, Row};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", report.origin())?;
    let tables = Tables::of_report(report);
    tables.speed(out)?;
    tables.parallel_events(out)?;
    tables.breakdown(out)?;
    tables.phold(out)?;
    tables.accuracy(out)?;
    tables.errors(out)?;
    tables.selection(out)
}

/// The rows of a report, by part.
pub(super) struct Tables<'a>(&'a [Row]);

impl<'a> Tables<'a> {
    pub fn of_report(report: &'a Report) -> Tables<'a> {
        Tables(&report.rows)
    }

    /// The rows of one part.
    pub fn of(&self, part: &'a str) -> impl Iterator<Item = &'a Row> {
        self.0
            .iter()
            .filter(move |row| row.text("part") == Some(part))
    }

    /// Each value of a parameter of one part.
    pub fn values(&self, part: &'a str, name: &str) -> BTreeSet<u64> {
        self.of(part).filter_map(|row| row.whole(name)).collect()
    }

    /// The torus's row of a backend; on a GPU that with the best selection.
    pub fn torus(&self, side: u64, lookahead: u64, backend: &str) -> Option<&'a Row> {
        let is = |row: &&Row| {
            row.backend == backend
                && row.whole("side") == Some(side)
                && row.whole("lookahead") == Some(lookahead)
        };
        self.of("torus").find(is)
    }

    /// The average number of events of a window.
    pub fn parallel(&self, side: u64, lookahead: u64) -> Option<f64> {
        let row = |backend| self.torus(side, lookahead, backend);
        let row = row("cuda").or(row("cpu"))?;
        let windows = row.whole("windows").filter(|&windows| windows > 0)?;
        Some(row.work as f64 / windows as f64)
    }

    fn speed(&self, out: &mut dyn Write) -> io::Result<()> {
        for lookahead in self.values("torus", "lookahead") {
            title(
                out,
                &format!(
                    "Figure 12: torus network, million events a second and ratios, d = {}",
                    units(lookahead)
                ),
            )?;
            head(
                out,
                &[
                    "facilities",
                    "heap",
                    "calendar",
                    "cpu",
                    "cuda",
                    "cpu / calendar",
                    "cuda / heap",
                    "cuda / calendar",
                ],
            )?;
            for side in self.values("torus", "side") {
                let rate = |backend| Some(rate(self.torus(side, lookahead, backend)?));
                let [heap, calendar, cpu, cuda] = ["heap", "calendar", "cpu", "cuda"].map(rate);
                let ratio = |a: Option<f64>, b: Option<f64>| Some(a? / b?);
                line(
                    out,
                    &[
                        square(side),
                        cell(heap, 2),
                        cell(calendar, 2),
                        cell(cpu, 2),
                        cell(cuda, 1),
                        cell(ratio(cpu, calendar), 2),
                        cell(ratio(cuda, heap), 0),
                        cell(ratio(cuda, calendar), 0),
                    ],
                )?;
            }
        }
        Ok(())
    }

    fn parallel_events(&self, out: &mut dyn Write) -> io::Result<()> {
        let lookaheads = self.values("torus", "lookahead");
        if lookaheads.is_empty() {
            return Ok(());
        }
        title(out, "Figure 13: average number of parallel events")?;
        let names: Vec<String> = lookaheads
            .iter()
            .map(|&d| format!("d = {}", units(d)))
            .collect();
        let names: Vec<&str> = std::iter::once("facilities")
            .chain(names.iter().map(|n| n.as_str()))
            .collect();
        head(out, &names)?;
        for side in self.values("torus", "side") {
            let mut cells = vec![square(side)];
            for &lookahead in &lookaheads {
                cells.push(cell(self.parallel(side, lookahead), 1));
            }
            line(out, &cells)?;
        }
        Ok(())
    }

    /// Table 2 and figure 11.
    fn breakdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows: Vec<&Row> = self
            .of("torus")
            .filter(|row| row.backend == "cuda")
            .collect();
        if rows.is_empty() {
            return Ok(());
        }
        title(
            out,
            "Table 2 and figure 11: seconds of a whole run on the GPU, by step (each includes finding the minimum)",
        )?;
        head(
            out,
            &[
                "facilities",
                "d",
                "until",
                "selection",
                "select",
                "departures",
                "arrivals",
                "total",
                "paper's total (P100)",
            ],
        )?;
        for row in rows {
            let of = |name| row.whole(name).unwrap_or_default();
            let is_papers = of("side") == 2048 && of("until") == 50_000;
            let published = published::BREAKDOWN
                .iter()
                .find(|(d, _)| is_papers && u64::from(*d) == of("lookahead"));
            let stage = |name: &str| {
                let ms = row.stage(name).unwrap_or_default();
                format!("{:.3} ({:.0} %)", ms / 1e3, 100.0 * ms / row.total_ms)
            };
            line(
                out,
                &[
                    square(of("side")),
                    units(of("lookahead")),
                    of("until").to_string(),
                    row.text("selection").unwrap_or_default().to_owned(),
                    stage("selection"),
                    stage("departures"),
                    stage("arrivals"),
                    format!("{:.3}", row.total_ms / 1e3),
                    published.map_or(NOTHING.to_owned(), |(_, times)| times[4].to_string()),
                ],
            )?;
        }
        Ok(())
    }

    fn phold(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.of("phold").next().is_none() {
            return Ok(());
        }
        title(out, "PHOLD, million events a second")?;
        head(
            out,
            &["processes", "remote", "heap", "calendar", "cpu", "cuda"],
        )?;
        for percent in self.values("phold", "remote_percent") {
            let row = |backend: &str| {
                self.of("phold").find(|row| {
                    row.backend == backend && row.whole("remote_percent") == Some(percent)
                })
            };
            let processes = self.values("phold", "processes");
            let mut cells: Vec<String> = processes.iter().map(u64::to_string).collect();
            cells.push(format!("{percent} %"));
            for backend in ["heap", "calendar", "cpu", "cuda"] {
                cells.push(cell(row(backend).map(rate), 2));
            }
            line(out, &cells)?;
        }
        Ok(())
    }

    fn accuracy(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.of("accuracy").next().is_none() {
            return Ok(());
        }
        title(
            out,
            "Figures 14 and 15: utilisation and time in a facility against d",
        )?;
        head(
            out,
            &[
                "mean service",
                "d",
                "utilisation",
                "time in a facility",
                "exponential: utilisation",
                "time",
            ],
        )?;
        for row in self.of("accuracy") {
            let of = |name| row.float(name).unwrap_or_default();
            // A closed network of n servers with n tokens.
            let n = of("side") * of("side");
            let expected = n / (2.0 * n - 1.0);
            line(
                out,
                &[
                    format!("{}", of("mean")),
                    units(row.whole("lookahead").unwrap_or_default()),
                    format!("{:.2} %", 100.0 * of("utilization")),
                    format!("{:.3}", of("stay")),
                    format!("{:.2} %", 100.0 * expected),
                    format!("{:.3}", of("mean") / expected),
                ],
            )?;
        }
        Ok(())
    }

    fn errors(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.of("errors").next().is_none() {
            return Ok(());
        }
        title(
            out,
            "Table 1: causality errors of approximate time (exact windows have none)",
        )?;
        head(
            out,
            &[
                "facilities",
                "d",
                "errors",
                "arrivals",
                "errors in a million",
                "the paper's errors",
            ],
        )?;
        for row in self.of("errors") {
            let of = |name| row.whole(name).unwrap_or_default();
            let column = match of("lookahead") {
                250 => Some(0),
                500 => Some(1),
                _ => None,
            };
            let published = published::CAUSALITY_ERRORS
                .iter()
                .find(|(side, _)| u64::from(*side) == of("side"))
                .and_then(|(_, errors)| Some(errors[column?].to_string()));
            line(
                out,
                &[
                    square(of("side")),
                    units(of("lookahead")),
                    of("errors").to_string(),
                    row.work.to_string(),
                    format!("{:.1}", 1e6 * of("errors") as f64 / row.work as f64),
                    published.unwrap_or(NOTHING.to_owned()),
                ],
            )?;
        }
        Ok(())
    }

    fn selection(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.of("selection").next().is_none() {
            return Ok(());
        }
        title(
            out,
            "Figure 10: milliseconds to select from 16 million numbers",
        )?;
        head(out, &["selected", "atomic", "scan", "hybrid"])?;
        for percent in self.values("selection", "selected_percent") {
            let ms = |approach: &str| {
                let mut rows = self.of("selection");
                let is = |row: &&Row| {
                    row.approach == approach && row.whole("selected_percent") == Some(percent)
                };
                cell(rows.find(is).map(|row| row.total_ms), 4)
            };
            line(
                out,
                &[
                    format!("{percent} %"),
                    ms("atomic"),
                    ms("scan"),
                    ms("hybrid"),
                ],
            )?;
        }
        Ok(())
    }
}

/// Million events a second.
pub(super) fn rate(row: &Row) -> f64 {
    row.work as f64 / row.total_ms / 1e3
}

pub(super) fn units(thousandths: u64) -> String {
    format!("{}", thousandths as f64 / 1e3)
}

fn square(side: u64) -> String {
    format!("{side} x {side}")
}

fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or(NOTHING.to_owned(), |v| format!("{v:.digits$}"))
}
