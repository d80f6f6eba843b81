//! Command lines of the benches, run in the test's own process.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use benches::cli;
use benches::report::Report;

/// Runs `benches LINE`; returns the report and the printed tables.
pub fn try_run(line: &str) -> anyhow::Result<(Report, String)> {
    let words = std::iter::once("benches").chain(line.split_whitespace());
    let matches = cli::command().try_get_matches_from(words)?;
    let mut out = vec![];
    let report = cli::run(&matches, &mut out)?;
    Ok((report, String::from_utf8(out)?))
}

/// The same; panics if the bench fails.
pub fn run(line: &str) -> (Report, String) {
    try_run(line).unwrap_or_else(|error| panic!("benches {line}: {error:#}"))
}

/// Runs `benches LINE` with `--json` into a file of the folder. The kept file must give
/// the same tables, which are returned with its text.
pub fn run_and_keep(line: &str, folder: &Folder) -> (Report, String, String) {
    let file = folder.path("report.json");
    let (report, tables) = run(&format!("{line} --json {}", file.display()));
    let (_, again) = run(&format!("report {}", file.display()));
    assert!(!again.is_empty() && tables.starts_with(&again));
    let text = std::fs::read_to_string(&file).unwrap();
    (report, tables, text)
}

/// A temporary folder, removed on drop.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("myriad-benches-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn root(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
