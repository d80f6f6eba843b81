use std::collections::BTreeMap;
use std::time::Duration;

use gpu_kernels::{Stage, TickOutput};
use serde::{Deserialize, Serialize};

use super::markdown::{NOTHING, grouped};
use super::statistics::Summary;

/// One scenario, measured with one backend and approach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The bench's name; a second word distinguishes scenarios of a bench.
    pub scenario: String,
    /// The scenario's own parameters and figures; in JSON they are fields of the row.
    #[serde(flatten)]
    pub params: BTreeMap<String, serde_json::Value>,
    pub backend: String,
    /// How the backend solves the task, in a few words.
    pub approach: String,
    /// The median.
    pub total_ms: f64,
    pub total_ms_mean: f64,
    /// The sample standard deviation.
    pub total_ms_deviation: f64,
    /// The median of each stage.
    pub stages_ms: BTreeMap<String, f64>,
    /// The number of timed runs.
    pub samples: usize,
    /// The amount of work of one run, in the unit that the scenario counts.
    pub work: u64,
    /// Equal for rows that must have the same result; in hexadecimal.
    pub checksum: String,
}

impl Row {
    /// A row without parameters, stages, work and checksum, which the caller sets.
    pub fn new(
        scenario: &str,
        backend: &str,
        approach: &str,
        totals: impl IntoIterator<Item = Duration>,
    ) -> Row {
        let mut samples = 0;
        let total = Summary::of(totals.into_iter().inspect(|_| samples += 1));
        Row {
            scenario: scenario.to_owned(),
            params: BTreeMap::new(),
            backend: backend.to_owned(),
            approach: approach.to_owned(),
            total_ms: total.median,
            total_ms_mean: total.mean,
            total_ms_deviation: total.deviation,
            stages_ms: BTreeMap::new(),
            samples,
            work: 0,
            checksum: String::new(),
        }
    }

    /// A row of samples with the same stages, and with the parameters `upload_ms`,
    /// `compute_ms` and `download_ms`. The caller sets work and checksum.
    pub fn of(scenario: &str, backend: &str, approach: &str, samples: &[Sample]) -> Row {
        let mut row = Row::new(scenario, backend, approach, samples.iter().map(|s| s.total));
        let names = samples.first().map_or(&[][..], |s| &s.stages);
        let stages = names.iter().enumerate().map(|(i, &(name, _))| {
            let summary = Summary::of(samples.iter().map(|s| s.stages[i].1));
            (name.to_owned(), summary.median)
        });
        row.stages_ms = stages.collect();
        let part = |is_part: fn(&str) -> bool| {
            Summary::of(samples.iter().map(|sample| sample.part(is_part))).median
        };
        row.put("upload_ms", part(|stage| stage == "upload"));
        row.put("compute_ms", part(|stage| !TRANSFERS.contains(&stage)));
        row.put("download_ms", part(|stage| stage == "download"));
        row
    }

    /// Sets a parameter.
    pub fn put(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.params.insert(name.to_owned(), value.into());
    }

    /// A parameter that is a whole number.
    pub fn whole(&self, name: &str) -> Option<u64> {
        self.params.get(name)?.as_u64()
    }

    /// A parameter that is a number.
    pub fn float(&self, name: &str) -> Option<f64> {
        self.params.get(name)?.as_f64()
    }

    /// A parameter that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    /// The table cell of a whole number.
    pub fn cell(&self, name: &str) -> String {
        self.whole(name).map_or(NOTHING.to_owned(), grouped)
    }

    /// The median of a stage in milliseconds.
    pub fn stage(&self, name: &str) -> Option<f64> {
        self.stages_ms.get(name).copied()
    }

    /// Whether both rows have the same values of these parameters.
    pub fn has_same(&self, other: &Row, names: &[&str]) -> bool {
        let is_same = |name: &&str| self.params.get(*name) == other.params.get(*name);
        names.iter().all(is_same)
    }

    /// Whether the row is one of this bench.
    pub fn is_of(&self, bench: &str) -> bool {
        let rest = self.scenario.strip_prefix(bench);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }
}

/// The time of one run.
#[derive(Clone, Debug)]
pub struct Sample {
    pub total: Duration,
    /// Name and time of each stage, in order.
    pub stages: Vec<(&'static str, Duration)>,
}

impl Sample {
    /// The sample of a tick, with its total time on the host's clock.
    pub fn of(output: &TickOutput, total: Duration) -> Sample {
        let stages = Stage::ALL.map(|stage| (stage.name(), output.stages.of(stage)));
        Sample {
            total,
            stages: stages.to_vec(),
        }
    }

    /// The sample of something that is one stage.
    pub fn of_stage(name: &'static str, total: Duration) -> Sample {
        Sample {
            total,
            stages: vec![(name, total)],
        }
    }

    /// The sum of some of the stages.
    fn part(&self, is_part: impl Fn(&str) -> bool) -> Duration {
        let parts = self.stages.iter().filter(|stage| is_part(stage.0));
        parts.map(|stage| stage.1).sum()
    }
}

/// (backend, approach) of the rows, each once, in order.
pub fn ways<'a>(rows: &[&'a Row]) -> Vec<(&'a str, &'a str)> {
    let way = |row: &&'a Row| (row.backend.as_str(), row.approach.as_str());
    distinct(rows.iter().map(way))
}

/// The values, each once, in order.
pub fn distinct<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut values = vec![];
    for value in all {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Stages that do not count as computing.
const TRANSFERS: [&str; 2] = ["upload", "download"];
