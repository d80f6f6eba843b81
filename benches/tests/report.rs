//! Kept reports: all can be shown again.

use std::path::{Path, PathBuf};

use crate::common::{Folder, run, try_run};

#[test]
fn every_kept_report_gives_the_kept_tables_and_figures() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let files = |extension: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&results).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|p| p.extension().is_some_and(|own| own == extension))
            .collect()
    };
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let folder = Folder::new();
    for file in files("json") {
        let line = format!(
            "report {} --plots {}",
            file.display(),
            folder.root().display()
        );
        let (_, tables) = run(&line);
        let is_same = tables == read(&file.with_extension("md"));
        assert!(
            is_same,
            "benches {line} has other tables than the kept ones"
        );
    }
    let kept = files("svg");
    assert_eq!(
        kept.len(),
        std::fs::read_dir(folder.root()).unwrap().count()
    );
    for file in kept {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(folder.read(name) == read(&file), "{name} differs");
    }
}

#[test]
fn the_kept_thesis_report_has_all_tables_of_the_chapter() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/thesis-h200.json");
    let (_, tables) = run(&format!("report {}", file.display()));
    for number in 5..=12 {
        assert!(tables.contains(&format!("Table 4-{number}: ")), "{number}");
    }
    // The cell that the thesis calls invalid.
    assert!(tables.contains("| 524,288 | 2500², 20 | 157,156,824 | invalid | invalid |"));
}

#[test]
fn an_error_names_the_file_that_is_not_a_report() {
    let folder = Folder::new();
    let file = folder.path("report.json");
    let head = r#""machine":"","commit":"","date":"","gpu":null,"driver":null"#;
    let row = r#""backend":"","approach":"","total_ms":0,"total_ms_mean":0,"total_ms_deviation":0,"stages_ms":{},"samples":0,"work":0,"checksum":"""#;
    let cases = [
        ("{}".to_owned(), "is not a bench's report"),
        (format!("{{{head},\"rows\":[]}}"), "at least one row"),
        (
            format!("{{{head},\"rows\":[{{\"scenario\":\"other\",{row}}}]}}"),
            "expected rows of thesis, fight",
        ),
    ];
    for (text, expected) in cases {
        std::fs::write(&file, text).unwrap();
        let error = try_run(&format!("report {}", file.display())).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("report.json"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_written_is_an_error() {
    use std::process::{Command, Stdio};

    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("results");
    let mut files = std::fs::read_dir(&results)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = files
        .find(|path| path.extension().unwrap() == "json")
        .unwrap();
    let report = |out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benches"));
        command
            .arg("report")
            .arg(&file)
            .stdout(out)
            .output()
            .unwrap()
    };
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = report(full.into());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("benches: ") && !stderr.contains("panicked"),
        "{stderr}"
    );
    // A reader that has read enough is no failure.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert!(report(writer.into()).status.success());
}
