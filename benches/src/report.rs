//! The one JSON form of every bench: where and of what it was measured, then a
//! row for each scenario and approach.

pub mod markdown;
pub mod plot;
pub mod reprint;
pub mod statistics;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use gpu_kernels::{Stage, TickOutput};
use serde::{Deserialize, Serialize};

use crate::report::statistics::Summary;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The CPU's model and how many cores were there.
    pub machine: String,
    /// Of the sources, or `"unknown"`.
    pub commit: String,
    /// YYYY-MM-DD in UTC.
    pub date: String,
    pub gpu: Option<String>,
    pub driver: Option<String>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub scenario: String,
    /// The scenario's own parameters and figures, which stand in the row itself.
    #[serde(flatten)]
    pub params: BTreeMap<String, serde_json::Value>,
    pub backend: String,
    /// How the backend goes about it, in a few words.
    pub approach: String,
    /// The median.
    pub total_ms: f64,
    pub total_ms_mean: f64,
    /// The sample standard deviation.
    pub total_ms_deviation: f64,
    /// The median of each stage.
    pub stages_ms: BTreeMap<String, f64>,
    /// How many runs stand behind the row.
    pub samples: usize,
    /// What one run did, in the unit that the scenario counts.
    pub work: u64,
    /// Equal for rows that must have done the same; in hexadecimal.
    pub checksum: String,
}

impl Report {
    /// An empty report of this machine, this commit and today.
    pub fn new() -> Report {
        Report {
            machine: machine(),
            commit: commit(),
            date: date(days_since_1970()),
            gpu: gpu(),
            driver: driver(),
            rows: vec![],
        }
    }

    /// CPU and GPU, in a few words.
    pub fn place(&self) -> String {
        match &self.gpu {
            Some(gpu) => format!("{} and {gpu}", self.machine),
            None => self.machine.clone(),
        }
    }

    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What [`Report::write`] wrote.
    pub fn read(path: &Path) -> anyhow::Result<Report> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not a bench's report", path.display()))
    }
}

impl Default for Report {
    fn default() -> Report {
        Report::new()
    }
}

/// How long one run took.
#[derive(Clone, Debug)]
pub struct Sample {
    pub total: Duration,
    /// By name, in order.
    pub stages: Vec<(&'static str, Duration)>,
}

impl Sample {
    /// Of a tick that took this long on the host's clock.
    pub fn of(output: &TickOutput, total: Duration) -> Sample {
        let stages = Stage::ALL.map(|stage| (stage.name(), output.stages.of(stage)));
        Sample {
            total,
            stages: stages.to_vec(),
        }
    }

    /// The time of some of the stages together.
    fn part(&self, is_part: impl Fn(&str) -> bool) -> Duration {
        let parts = self.stages.iter().filter(|stage| is_part(stage.0));
        parts.map(|stage| stage.1).sum()
    }
}

impl Row {
    /// A row of samples with the same stages; work and checksum are the caller's to
    /// set. Its parameters are what it took to upload, compute and download.
    pub fn of(scenario: &str, backend: &str, approach: &str, samples: &[Sample]) -> Row {
        let total = Summary::of(samples.iter().map(|s| s.total));
        let names = samples.first().map_or(&[][..], |s| &s.stages);
        let stages = names.iter().enumerate().map(|(i, &(name, _))| {
            let summary = Summary::of(samples.iter().map(|s| s.stages[i].1));
            (name.to_owned(), summary.median)
        });
        let mut row = Row {
            scenario: scenario.to_owned(),
            params: BTreeMap::new(),
            backend: backend.to_owned(),
            approach: approach.to_owned(),
            total_ms: total.median,
            total_ms_mean: total.mean,
            total_ms_deviation: total.deviation,
            stages_ms: stages.collect(),
            samples: samples.len(),
            work: 0,
            checksum: String::new(),
        };
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

    pub fn total(&self) -> Summary {
        Summary {
            median: self.total_ms,
            mean: self.total_ms_mean,
            deviation: self.total_ms_deviation,
        }
    }
}

fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown CPU", |(_, model)| model.trim());
    let cores = text.lines().filter(|l| l.starts_with("processor")).count();
    format!("{model}, {cores} cores")
}

/// The GPU that the cuda backend would use.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn gpu() -> Option<String> {
    Some(gpu_kernels::cuda::gpu().ok()?.name)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn gpu() -> Option<String> {
    None
}

/// The NVIDIA driver's version.
fn driver() -> Option<String> {
    let text = std::fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let mut words = text.lines().next()?.split_whitespace();
    Some(words.find(is_version)?.to_owned())
}

fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "HEAD"]).output();
    output
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or("unknown".to_owned(), |text| text.trim().to_owned())
}

fn days_since_1970() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs() / 86_400)
}

/// The stages that are no computing.
const TRANSFERS: [&str; 2] = ["upload", "download"];

/// A day of the Gregorian calendar, counted within eras of 400 years that begin
/// on 1 March, so that the leap day comes last.
fn date(days_since_1970: u64) -> String {
    let days = days_since_1970 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let march_month = (5 * day + 2) / 153;
    let day = day - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        // As `date -u -d @$((days * 86400)) +%F` prints them.
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(19_722), "2023-12-31");
        assert_eq!(date(19_723), "2024-01-01");
    }
}
