//! A small run of region matching.

use crate::common::{Folder, run_and_keep};
use serde_json::Value;

#[test]
fn all_ways_find_the_same_pairs_and_each_has_a_row() {
    let folder = Folder::new();
    let line = "regions --suites paper --regions-max 2048 --steps 2 --threads 2";
    let (_, tables, text) = run_and_keep(line, &folder);

    let report: Value = serde_json::from_str(&text).unwrap();
    let rows = report["rows"].as_array().unwrap();
    // Four scenarios, each with three baselines and four approaches.
    assert_eq!(rows.len(), 28);
    for scenario in rows.chunks(7) {
        for row in scenario {
            assert_eq!(row["regions"], 2048);
            assert_eq!(row["samples"], 2);
            assert!(row["total_ms"].as_f64().unwrap() > 0.0);
            assert_eq!(row["checksum"], scenario[0]["checksum"]);
            assert_eq!(row["pairs"], scenario[0]["pairs"]);
        }
    }
    // 1,024² pairs whose low corners are closer than 100 in 10,000 on both axes.
    let pairs = rows[7]["pairs"].as_u64().unwrap();
    assert!((300..550).contains(&pairs), "{pairs}");

    for figure in 5..=12 {
        assert!(tables.contains(&format!("Figure {figure}:")), "{tables}");
    }
}
