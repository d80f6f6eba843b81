//! A tiny run of the thesis's scenarios, from the command line to the JSON file.

use benches::thesis::{self, Options};
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
    let mut options = options("--clients 512 --maps 100,2500 --aois 10 --runs 2");
    options.json = Some(file.clone());
    let mut tables = vec![];
    thesis::run(&options, &mut tables).unwrap();

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
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
        for key in ["scenario", "backend", "approach", "checksum"] {
            assert!(row[key].is_string(), "{key} in {row}");
        }
        for key in ["map", "aoi", "clients", "deliveries", "samples", "work"] {
            assert!(row[key].is_u64(), "{key} in {row}");
        }
        for key in ["total_ms", "total_ms_mean", "total_ms_deviation"] {
            assert!(row[key].is_f64(), "{key} in {row}");
        }
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
    for part in ["Table 4-5", "Table 4-7", "Table 4-8", "2.303", "9.299"] {
        assert!(tables.contains(part), "no {part} in\n{tables}");
    }
}
