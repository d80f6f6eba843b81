//! A tiny run of region matching, from the command line to the JSON file.

use benches::engines::regions::{self, Options};
use clap::Parser;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

#[test]
fn all_ways_of_matching_find_the_same_and_the_report_says_so() {
    let file = std::env::temp_dir().join(format!("myriad-regions-{}.json", std::process::id()));
    let line = "regions --suites paper --regions-max 2048 --steps 2 --threads 2";
    let mut options = Line::parse_from(line.split(' ')).options;
    options.run.json = Some(file.clone());
    let mut tables = vec![];
    regions::run(&options, &mut tables).unwrap();

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
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

    let tables = String::from_utf8(tables).unwrap();
    for figure in 5..=12 {
        assert!(tables.contains(&format!("Figure {figure}:")), "{tables}");
    }
}
