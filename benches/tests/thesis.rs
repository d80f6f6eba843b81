//! A small run of the thesis's scenarios.

use crate::common::{Folder, run_and_keep};
use serde_json::Value;

#[test]
fn both_backends_deliver_the_same_and_the_tables_have_their_times() {
    let folder = Folder::new();
    let line = format!(
        "thesis --clients 512 --maps 100,2500 --aois 10 --runs 2 --plots {}",
        folder.root().display()
    );
    let (_, tables, text) = run_and_keep(&line, &folder);
    assert_figures_are_drawn(&folder);

    let report: Value = serde_json::from_str(&text).unwrap();
    for key in ["machine", "commit", "date"] {
        assert!(report[key].is_string(), "{key}");
    }
    for key in ["gpu", "driver"] {
        assert!(report.get(key).is_some(), "{key}");
    }
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_row_is_complete(row);
    }
    for pair in rows.chunks(2) {
        assert_eq!(
            [&pair[0]["backend"], &pair[1]["backend"]],
            ["baseline", "cpu"]
        );
        assert_eq!(pair[0]["checksum"], pair[1]["checksum"]);
        // Each client sees at least itself.
        assert!(pair[0]["deliveries"].as_u64().unwrap() >= 512);
    }
    // In a world of 10 x 10 buckets each client sees about 9 in 100 of the others,
    // fewer at the edge.
    let crowded = rows[0]["deliveries"].as_u64().unwrap();
    assert!((15_000..30_000).contains(&crowded), "{crowded}");

    let numbers = [5, 7, 8, 9, 11].map(|number| format!("Table 4-{number}: "));
    // CPU and GPU of table 4-5, GPU of 4-9, and 4-11.
    let cells = ["2.303", "9.299", "9.189", "0.577"].map(str::to_owned);
    for part in numbers.iter().chain(&cells) {
        assert!(tables.contains(part), "no {part} in\n{tables}");
    }
}

fn assert_row_is_complete(row: &Value) {
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

fn assert_figures_are_drawn(folder: &Folder) {
    let files = [
        "time-2500-aoi-10.svg",
        "time-100-aoi-10.svg",
        "time-ratio-cpu.svg",
        "computing-2500-aoi-10.svg",
        "computing-ratio-cpu.svg",
        "steps-cpu.svg",
    ];
    for file in files {
        let text = folder.read(file);
        assert!(text.contains("cpu"), "{file}");
        // Only charts of the thesis's maps have its lines.
        let of_thesis = text.contains("thesis, ");
        assert_eq!(of_thesis, !file.contains("-100-"), "{file}");
    }
}
