//! A tiny run of the event benches, from the command line to tables and JSON.

use benches::engines::events::{self, Options};
use clap::Parser;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

#[test]
fn all_event_sets_come_to_the_same_state_and_the_tables_say_how_fast() {
    let file = std::env::temp_dir().join(format!("myriad-events-{}.json", std::process::id()));
    let line = "events --sides 16,32 --lookaheads 500,1000 --events 20000 --processes 2000";
    let mut options = Line::parse_from(line.split(' ')).options;
    options.run.json = Some(file.clone());
    let folder = std::env::temp_dir().join(format!("myriad-events-{}", std::process::id()));
    options.plots = Some(folder.clone());
    let mut tables = vec![];
    events::run(&options, &mut tables).unwrap();

    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let of = |part: &str| {
        let rows = rows.iter().filter(|row| row["part"] == part);
        rows.collect::<Vec<_>>()
    };
    for name in [
        "speed-1",
        "parallel-events",
        "utilization",
        "time-in-facility",
    ] {
        let svg = std::fs::read_to_string(folder.join(format!("events-{name}.svg"))).unwrap();
        assert!(svg.contains("<svg") && svg.contains("polyline"), "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    // Two sides, two lookaheads, three backends; two shares of remote events.
    assert_eq!((of("torus").len(), of("phold").len()), (12, 6));
    for same in of("torus").chunks(3).chain(of("phold").chunks(3)) {
        let names: Vec<_> = same.iter().map(|row| row["backend"].as_str()).collect();
        assert_eq!(names, [Some("heap"), Some("calendar"), Some("cpu")]);
        for row in same {
            assert_eq!(row["checksum"], same[0]["checksum"]);
            assert_eq!(row["work"], same[0]["work"]);
            assert!(row["work"].as_u64().unwrap() > 15_000, "{row}");
        }
    }
    // Without a lookahead to speak of, half of the servers are busy; with more,
    // services vary less, so that tokens wait less.
    let utilizations: Vec<f64> = of("accuracy")
        .iter()
        .filter(|row| row["mean"] == 10)
        .map(|row| row["utilization"].as_f64().unwrap())
        .collect();
    assert_eq!(utilizations.len(), 3);
    assert!((utilizations[0] - 0.5).abs() < 0.02, "{utilizations:?}");
    assert!(utilizations[2] > utilizations[0], "{utilizations:?}");

    let tables = String::from_utf8(tables).unwrap();
    for part in [
        "Figure 12",
        "Figure 13",
        "PHOLD",
        "Figures 14 and 15",
        "Table 1",
    ] {
        assert!(tables.contains(part), "no {part} in\n{tables}");
    }
}
