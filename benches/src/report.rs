//! Results: the JSON form of every bench, and how it is shown.
//!
//! | module | holds |
//! | --- | --- |
//! | [`Report`] | where, when and of what was measured; a row for each scenario and approach |
//! | [`Row`], [`Sample`] | one line of a report; the time of one run |
//! | [`Recorder`] | a report while it is measured, and its JSON file |
//! | [`Printer`] | tables and figures of a report |
//! | [`markdown`], [`plot`] | tables; line charts as SVG files |
//! | [`statistics`] | median, mean and deviation |

mod machine;
pub mod markdown;
pub mod plot;
mod printer;
mod recorder;
pub mod reprint;
mod row;
pub mod statistics;

use std::path::Path;

use anyhow::Context;
use program::console::files;
use serde::{Deserialize, Serialize};

pub use printer::Printer;
pub use recorder::Recorder;
pub use row::{Row, Sample, distinct, ways};

/// All rows of one run of a bench.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The CPU's model and the number of cores.
    pub machine: String,
    /// The commit of the sources, or `"unknown"`.
    pub commit: String,
    /// Cargo's profile of the build; none in older reports.
    #[serde(default)]
    pub profile: Option<String>,
    /// YYYY-MM-DD in UTC.
    pub date: String,
    pub gpu: Option<String>,
    /// The NVIDIA driver's version.
    pub driver: Option<String>,
    pub rows: Vec<Row>,
}

impl Report {
    /// An empty report of this machine, this commit and today.
    pub fn new() -> Report {
        Report {
            machine: machine::cpu(),
            commit: machine::commit(),
            profile: Some(env!("BUILD_PROFILE").to_owned()),
            date: machine::today(),
            gpu: machine::gpu(),
            driver: machine::driver(),
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

    /// The sentence at the end of a table's caption: "On MACHINE, DATE, profile PROFILE."
    pub fn origin(&self) -> String {
        let profile = self.profile.as_ref();
        let profile = profile.map_or(String::new(), |profile| format!(", profile {profile}"));
        format!("On {}, {}{profile}.", self.place(), self.date)
    }

    /// The rows of one bench; the rest of the report stays.
    pub fn only(&self, bench: &str) -> Report {
        let rows = self.rows.iter().filter(|row| row.is_of(bench));
        Report {
            rows: rows.cloned().collect(),
            ..self.clone()
        }
    }

    /// Writes the report as JSON. An error names the file.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        files::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads what [`Report::write`] wrote. An error names the file.
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
