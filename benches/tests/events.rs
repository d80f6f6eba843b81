//! A small run of timed events.

use crate::common::{Folder, run_and_keep};
use serde_json::Value;

#[test]
fn all_backends_end_in_the_same_state_and_the_tables_have_their_speed() {
    let folder = Folder::new();
    let line = format!(
        "events --sides 16,32 --lookaheads 500,1000 --events 20000 --processes 2000 --plots {}",
        folder.root().display()
    );
    let (_, tables, text) = run_and_keep(&line, &folder);

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
        let svg = folder.read(&format!("events-{name}.svg"));
        assert!(svg.contains("<svg") && svg.contains("polyline"), "{name}");
    }
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
    // With nearly no lookahead, half of the servers are busy. With more, service times
    // vary less, so that tokens wait less.
    let utilizations: Vec<f64> = of("accuracy")
        .iter()
        .filter(|row| row["mean"] == 10)
        .map(|row| row["utilization"].as_f64().unwrap())
        .collect();
    assert_eq!(utilizations.len(), 3);
    assert!((utilizations[0] - 0.5).abs() < 0.02, "{utilizations:?}");
    assert!(utilizations[2] > utilizations[0], "{utilizations:?}");

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
