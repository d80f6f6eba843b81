//! A tiny run of the thesis's scenarios, from the command line to the JSON file.

use std::path::Path;

use benches::report::reprint;
use benches::tick::thesis::{self, Options};
use clap::Parser;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

fn options(arguments: &str) -> Options {
    Line::parse_from(std::iter::once("thesis").chain(arguments.split(' '))).options
}

#[test]
fn both_backends_deliver_the_same_and_the_report_says_so() {
    let file = std::env::temp_dir().join(format!("myriad-thesis-{}.json", std::process::id()));
    let plots = file.with_extension("plots");
    let mut options = options("--clients 512 --maps 100,2500 --aois 10 --runs 2");
    options.run.json = Some(file.clone());
    options.plots = Some(plots.clone());
    let mut tables = vec![];
    thesis::run(&options, &mut tables).unwrap();

    let text = std::fs::read_to_string(&file).unwrap();
    assert_figures_are_drawn(&plots);
    let again = reprinted(&file);
    assert!(!again.is_empty() && tables.starts_with(&again));
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_dir_all(&plots).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    for key in ["machine", "commit", "date"] {
        assert!(report[key].is_string(), "{key}");
    }
    for key in ["gpu", "driver"] {
        assert_eq!(report.get(key), Some(&Value::Null), "{key}");
    }
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        for key in ["scenario", "backend", "approach", "checksum", "output"] {
            assert!(row[key].is_string(), "{key} in {row}");
        }
        for key in ["map", "aoi", "clients", "deliveries", "samples", "work"] {
            assert!(row[key].is_u64(), "{key} in {row}");
        }
        for key in ["total_ms", "total_ms_mean", "total_ms_deviation"] {
            assert!(row[key].is_f64(), "{key} in {row}");
        }
        for key in ["upload_ms", "compute_ms", "download_ms"] {
            let part = row[key].as_f64().unwrap();
            assert!(
                (0.0..=row["total_ms"].as_f64().unwrap()).contains(&part),
                "{key} in {row}"
            );
        }
        assert!(row["compute_ms"].as_f64().unwrap() > 0.0);
        assert_eq!(row["output"], "pairs");
        assert_eq!(row["samples"], 2);
        assert!(!row["stages_ms"].as_object().unwrap().is_empty());
    }
    for pair in rows.chunks(2) {
        assert_eq!(
            [&pair[0]["backend"], &pair[1]["backend"]],
            ["baseline", "cpu"]
        );
        assert_eq!(pair[0]["checksum"], pair[1]["checksum"]);
        // Everyone sees at least itself.
        assert!(pair[0]["deliveries"].as_u64().unwrap() >= 512);
    }
    // In a world of 10 x 10 buckets each client sees about 9 in 100 of the others,
    // fewer at the edge.
    let crowded = rows[0]["deliveries"].as_u64().unwrap();
    assert!((15_000..30_000).contains(&crowded), "{crowded}");

    let tables = String::from_utf8(tables).unwrap();
    let numbers = [5, 7, 8, 9, 11].map(|number| format!("Table 4-{number}: "));
    // Of 4-5: CPU and GPU; of 4-9: GPU; of 4-11.
    let cells = ["2.303", "9.299", "9.189", "0.577"].map(str::to_owned);
    for part in numbers.iter().chain(&cells) {
        assert!(tables.contains(part), "no {part} in\n{tables}");
    }
}

fn assert_figures_are_drawn(folder: &Path) {
    let files = [
        "time-2500-aoi-10.svg",
        "time-100-aoi-10.svg",
        "time-ratio-cpu.svg",
        "computing-2500-aoi-10.svg",
        "computing-ratio-cpu.svg",
        "steps-cpu.svg",
    ];
    for file in files {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(text.contains("cpu"), "{file}");
        // Only the thesis's maps have its lines.
        let of_thesis = text.contains("thesis, ");
        assert_eq!(of_thesis, !file.contains("-100-"), "{file}");
    }
}

/// The tables of a report that was kept.
fn reprinted(file: &Path) -> Vec<u8> {
    let mut tables = vec![];
    let options = reprint::Options {
        file: file.to_owned(),
        plots: None,
    };
    reprint::run(&options, &mut tables).unwrap();
    tables
}

#[test]
fn the_kept_report_has_all_tables_of_the_chapter() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/thesis-h200.json");
    let tables = String::from_utf8(reprinted(&file)).unwrap();
    for number in 5..=12 {
        assert!(tables.contains(&format!("Table 4-{number}: ")), "{number}");
    }
    // The cell that the thesis calls invalid.
    assert!(tables.contains("| 524,288 | 2500², 20 | 157,156,824 | invalid | invalid |"));
}

#[test]
fn what_is_no_report_is_refused_by_its_name() {
    let file = std::env::temp_dir().join(format!("myriad-report-{}.json", std::process::id()));
    let cases = [
        ("{}", "is not a bench's report"),
        (
            r#"{"machine":"","commit":"","date":"","gpu":null,"driver":null,"rows":[]}"#,
            "at least one row",
        ),
    ];
    for (text, expected) in cases {
        std::fs::write(&file, text).unwrap();
        let options = reprint::Options {
            file: file.clone(),
            plots: None,
        };
        let error = reprint::run(&options, &mut vec![]).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("myriad-report-"), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
}
