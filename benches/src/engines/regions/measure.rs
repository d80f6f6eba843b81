use std::time::{Duration, Instant};

use anyhow::ensure;
use program::note;

use super::NAME;
use super::options::Options;
use super::scenario::{Motion, Scenario};
use super::subject::{self, Subject};
use crate::report::Row;

/// A row for each way to match.
pub fn measure(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows: Vec<Row> = vec![];
    let mut first: Option<(String, StepResult)> = None;
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
        note!("{}, {label}: {:.3} ms", scenario.name(), row.total_ms);
        rows.push(row);
    }
    Ok(rows)
}

/// The result of a subject.
#[derive(Clone, Copy, Default)]
struct StepResult {
    /// The number of overlapping pairs after the checked step, and the sum of their
    /// hashes.
    checked: (u64, u64),
    /// The number of pairs that the last step gained and lost.
    changed: u64,
}

/// Runs the scenario's steps; returns their times.
fn sample(
    subject: &mut Subject,
    scenario: &Scenario,
    options: &Options,
) -> anyhow::Result<(Vec<Duration>, StepResult)> {
    let mut motion = Motion::new(scenario, options.run.seed());
    subject.way.prepare(&motion)?;
    subject.way.step()?;
    let checked = options.steps.min(CHECKED);
    let begin = Instant::now();
    let mut samples = vec![];
    let mut found = StepResult::default();
    for step in 1..=options.steps {
        if step > checked && begin.elapsed() > ENOUGH {
            break;
        }
        motion.advance();
        subject.way.prepare(&motion)?;
        samples.push(subject.way.step()?);
        if step == checked {
            found.checked = subject.way.checksum();
        }
    }
    found.changed = subject.way.changed();
    Ok((samples, found))
}

fn row(scenario: &Scenario, subject: &Subject, samples: &[Duration], found: &StepResult) -> Row {
    let samples = samples.iter().copied();
    let mut row = Row::new(NAME, subject.backend.name(), subject.approach, samples);
    row.put("kind", scenario.kind.name());
    row.put("regions", scenario.regions);
    row.put("field", scenario.field);
    row.put("side", scenario.side);
    row.put("updated_percent", scenario.updated);
    row.put("pairs", found.checked.0);
    row.put("changed", found.changed);
    row.put("threads", subject.threads);
    row.put("took", subject.way.took());
    row.stages_ms = subject.way.stages();
    row.work = found.checked.0;
    row.checksum = format!("{:016x}", found.checked.1);
    row
}

/// The last step whose pairs are compared.
const CHECKED: usize = 2;
/// A way takes no more steps after this time.
const ENOUGH: Duration = Duration::from_secs(2);
