//! Region matching: the scenarios of Lo, Chung and Pai, "Offloading Region
//! Matching of Data Distribution Management with CUDA" (section IV), larger ones,
//! and ones that are hard on some approach.

mod baseline;
mod figures;
mod options;
mod scenario;
mod subject;
mod tables;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::report::statistics::Summary;
use crate::report::{Report, Row};
pub use options::{BackendName, Options, Suite};
use scenario::Motion;
pub use scenario::{Kind, Scenario};
use subject::Subject;

/// Measures the scenarios that were asked for, writes the tables to `out` and
/// returns the report. Fails where two ways of matching don't find the same.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for scenario in options.scenarios() {
        let rows = measure(&scenario, options).with_context(|| format!("{scenario:?}"))?;
        report.rows.extend(rows);
        options.run.keep(&report)?;
    }
    show(&report, options.plots.as_deref(), out)?;
    Ok(report)
}

/// Writes the tables of a report, and draws its figures into a folder if one is
/// given.
pub fn show(report: &Report, plots: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<()> {
    tables::write(report, out)?;
    plots.map_or(Ok(()), |folder| figures::write(report, folder, out))
}

/// What the rows' scenario is called.
pub const NAME: &str = "regions";

/// A row for each way of matching.
fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = vec![];
    let mut first: Option<(String, Found)> = None;
    for mut subject in subject::all(scenario, options)? {
        let label = format!("{}, {}", subject.backend, subject.approach);
        let (samples, found) = sample(&mut subject, scenario, options)?;
        let (reference, expected) = first.get_or_insert((label.clone(), found));
        ensure!(
            found.checked == expected.checked,
            "{label} found {:x?} where {reference} found {:x?}",
            found.checked,
            expected.checked,
        );
        let row = row(scenario, &subject, &samples, &found);
        eprintln!("{}, {label}: {:.3} ms", scenario.name(), row.total_ms);
        rows.push(row);
    }
    Ok(rows)
}

/// What a subject found.
#[derive(Clone, Copy, Default)]
struct Found {
    /// Pairs that overlap after the checked step, and the sum of their hashes.
    checked: (u64, u64),
    /// What the last step gained and lost.
    changed: u64,
}

/// Runs the scenario, and notes the pairs that overlap after the last step that
/// all subjects run.
fn sample(
    subject: &mut Subject,
    scenario: &Scenario,
    options: &Options,
) -> anyhow::Result<(Vec<Duration>, Found)> {
    let mut motion = Motion::new(scenario, options.run.seed);
    subject.prepare(&motion)?;
    subject.step()?;
    let checked = options.steps.min(CHECKED);
    let begin = Instant::now();
    let mut samples = vec![];
    let mut found = Found::default();
    for step in 1..=options.steps {
        if step > checked && begin.elapsed() > ENOUGH {
            break;
        }
        motion.advance();
        subject.prepare(&motion)?;
        samples.push(subject.step()?);
        if step == checked {
            found.checked = subject.checksum();
        }
    }
    found.changed = subject.changed();
    Ok((samples, found))
}

fn row(scenario: &Scenario, subject: &Subject, samples: &[Duration], found: &Found) -> Row {
    let total = Summary::of(samples.iter().copied());
    let params = [
        ("kind", scenario.kind.name().into()),
        ("regions", u64::from(scenario.regions).into()),
        ("field", u64::from(scenario.field).into()),
        ("side", u64::from(scenario.side).into()),
        ("updated_percent", u64::from(scenario.updated).into()),
        ("pairs", found.checked.0.into()),
        ("changed", found.changed.into()),
        ("threads", (subject.threads as u64).into()),
        ("took", subject.took().into()),
    ];
    Row {
        scenario: NAME.to_owned(),
        params: params.map(|(name, value)| (name.to_owned(), value)).into(),
        backend: subject.backend.name().to_owned(),
        approach: subject.approach.to_owned(),
        total_ms: total.median,
        total_ms_mean: total.mean,
        total_ms_deviation: total.deviation,
        stages_ms: subject.stages(),
        samples: samples.len(),
        work: found.checked.0,
        checksum: format!("{:016x}", found.checked.1),
    }
}

/// The last step whose pairs are compared.
const CHECKED: usize = 2;
/// Slow ways of matching take no more steps after this.
const ENOUGH: Duration = Duration::from_secs(2);
