use std::io::{self, Write};

use super::ways::{BASELINE, INTERPRETER, MACHINE_CODE};
use super::{COMMANDS, COMPILING, RELOADS};
use crate::report::markdown::{head, line, number, title};
use crate::report::{Report, Row, distinct};

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    title(out, "Scripts")?;
    writeln!(
        out,
        "Medians, one thread. baseline: the commands as functions in Rust. {}\n",
        report.origin()
    )?;
    commands(report, out)?;
    writeln!(out)?;
    compiling(report, out)?;
    writeln!(out)?;
    reloads(report, out)
}

fn rows<'a>(report: &'a Report, scenario: &'a str) -> impl Iterator<Item = &'a Row> {
    report
        .rows
        .iter()
        .filter(move |row| row.scenario == scenario)
}

/// Nanoseconds a command, to count its updates and to store them.
fn commands(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    head(
        out,
        &[
            "commands",
            "number",
            "updates",
            "baseline, ns each",
            "machine code",
            "interpreter",
            "machine code / baseline",
            "interpreter / baseline",
        ],
    )?;
    for mix in distinct(rows(report, COMMANDS).filter_map(|row| row.text("mix"))) {
        let of = |way: &str| {
            let mut rows = rows(report, COMMANDS);
            rows.find(|row| row.backend == way && row.text("mix") == Some(mix))
        };
        let [baseline, machine, interpreter] = [BASELINE, MACHINE_CODE, INTERPRETER]
            .map(|way| of(way).and_then(|row| row.float("ns_per_command")));
        let ratio = |time: Option<f64>| time.zip(baseline).map(|(time, base)| time / base);
        let cell = |name| of(BASELINE).map_or(String::new(), |row| row.cell(name));
        let mut cells = vec![mix.to_owned(), cell("commands"), cell("updates")];
        cells.extend(
            [
                baseline,
                machine,
                interpreter,
                ratio(machine),
                ratio(interpreter),
            ]
            .map(number),
        );
        line(out, &cells)?;
    }
    Ok(())
}

fn compiling(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    head(out, &["step", "commands", "ms", "deviation"])?;
    for row in rows(report, COMPILING) {
        let cells = [
            row.text("step").unwrap_or_default().to_owned(),
            row.cell("commands"),
            number(Some(row.total_ms)),
            number(Some(row.total_ms_deviation)),
        ];
        line(out, &cells)?;
    }
    Ok(())
}

/// Milliseconds.
fn reloads(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    head(
        out,
        &[
            "other scripts",
            "clients",
            "ticks a second",
            "reloads",
            "until in force, ms",
            "longest",
            "a tick, ms",
            "longest",
            "a tick with other scripts, ms",
            "longest",
        ],
    )?;
    for row in rows(report, RELOADS) {
        let mut cells = vec![row.approach.clone()];
        cells.extend(["clients", "tick_hz", "reloads"].map(|name| row.cell(name)));
        cells.extend(
            [
                row.float("in_force_ms"),
                row.float("in_force_ms_max"),
                Some(row.total_ms),
                row.float("tick_ms_max"),
                row.float("reloading_tick_ms"),
                row.float("reloading_tick_ms_max"),
            ]
            .map(number),
        );
        line(out, &cells)?;
    }
    Ok(())
}
