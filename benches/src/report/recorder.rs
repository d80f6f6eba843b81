use std::path::PathBuf;

use super::{Report, Row};

/// A report while it is measured.
#[derive(Debug)]
pub struct Recorder {
    report: Report,
    /// The JSON file, if one is wanted.
    file: Option<PathBuf>,
}

impl Recorder {
    /// An empty report, and the JSON file to keep it in.
    pub fn new(file: Option<PathBuf>) -> Recorder {
        Recorder {
            report: Report::new(),
            file,
        }
    }

    /// Adds a scenario's rows. The file is written each time, so that an interrupted
    /// bench keeps the scenarios that it finished.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Row>) -> anyhow::Result<()> {
        self.report.rows.extend(rows);
        match &self.file {
            Some(file) => self.report.write(file),
            None => Ok(()),
        }
    }

    /// The report of all that was added.
    pub fn finish(self) -> Report {
        self.report
    }
}
