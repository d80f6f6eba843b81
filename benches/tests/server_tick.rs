//! Small runs of the benches of the server's tick, from the command line to the tables.

use std::path::PathBuf;

use benches::report::Report;
use benches::report::reprint;
use benches::tick::{fight, hot, overlap};
use clap::Args;

/// The options of a bench as `arguments` give them.
fn options<O: Args>(arguments: &str) -> O {
    let command = O::augment_args(clap::Command::new("bench"));
    let line = std::iter::once("bench").chain(arguments.split(' '));
    O::from_arg_matches(&command.get_matches_from(line)).unwrap()
}

/// A path in the folder for temporary files.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("myriad-{name}-{}", std::process::id()))
}

/// The kept report of a bench that printed `tables`, which come out of it again.
fn kept(file: PathBuf, tables: &[u8]) -> Report {
    let report = Report::read(&file).unwrap();
    let mut again = vec![];
    let options = reprint::Options {
        file: file.clone(),
        plots: None,
    };
    reprint::run(&options, &mut again).unwrap();
    assert!(!again.is_empty());
    assert_eq!(tables, again);
    std::fs::remove_file(&file).unwrap();
    report
}

#[test]
fn a_fight_ends_the_same_on_every_backend() {
    let mut options: fight::Options =
        options("--clients 512,2048 --runs 3 --baseline-runs 2 --threads 2 --backend cpu");
    let (file, plots) = (path("fight.json"), path("fight-plots"));
    options.engines.run.json = Some(file.clone());
    options.plots = Some(plots.clone());
    let mut tables = vec![];
    fight::run(&options, &mut tables).unwrap();

    let picture = std::fs::read_to_string(plots.join("fight.svg")).unwrap();
    assert!(picture.contains("baseline") && picture.contains("cpu"));
    std::fs::remove_dir_all(&plots).unwrap();
    let report = kept(file, &tables);
    assert_eq!(report.rows.len(), 4);
    for pair in report.rows.chunks(2) {
        assert_eq!([&pair[0].backend, &pair[1].backend], ["baseline", "cpu"]);
        assert_eq!([pair[0].samples, pair[1].samples], [2, 3]);
        assert_eq!(pair[0].checksum, pair[1].checksum);
        let [clients, deliveries] = ["clients", "deliveries"].map(|n| pair[0].whole(n).unwrap());
        // 27 where nobody is near the edge; half the clients of 512 are.
        assert!(
            (15 * clients..29 * clients).contains(&deliveries),
            "{deliveries}"
        );
        assert_eq!(pair[1].work, deliveries);
        assert!(pair[1].total_ms > 0.0);
    }
}

#[test]
fn a_hot_entity_loses_no_update() {
    let mut options: hot::Options =
        options("--updates 5000 --runs 2 --baseline-runs 2 --threads 2");
    let file = path("hot.json");
    options.engines.run.json = Some(file.clone());
    let mut tables = vec![];
    hot::run(&options, &mut tables).unwrap();

    let report = kept(file, &tables);
    let column = |name: &str| -> Vec<&str> {
        let rows = report.rows.iter();
        rows.map(|row| row.params[name].as_str().unwrap()).collect()
    };
    assert_eq!(
        column("spread"),
        [
            "one target",
            "one target",
            "an even spread",
            "an even spread"
        ]
    );
    let checksums: Vec<&str> = report
        .rows
        .iter()
        .map(|row| row.checksum.as_str())
        .collect();
    assert_eq!(checksums[0], checksums[1]);
    assert_eq!(checksums[2], checksums[3]);
    assert_ne!(checksums[0], checksums[2]);
}

#[test]
fn ticks_in_flight_overlap_and_lead_to_the_same_state() {
    let mut options: overlap::Options = options("--clients 1024 --ticks 4 --runs 2 --threads 1");
    let (file, plots) = (path("overlap.json"), path("overlap-plots"));
    options.engines.run.json = Some(file.clone());
    options.plots = Some(plots.clone());
    let mut tables = vec![];
    overlap::run(&options, &mut tables).unwrap();

    let picture = std::fs::read_to_string(plots.join("overlap-cpu.svg")).unwrap();
    assert!(picture.contains("two ticks in flight: collect"));
    std::fs::remove_dir_all(&plots).unwrap();
    let report = kept(file, &tables);
    assert_eq!(report.rows.len(), 2);
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    for (row, in_flight) in report.rows.iter().zip([1, 2]) {
        assert_eq!(row.samples, 2);
        let timeline = row.params["timeline"].as_array().unwrap();
        assert_eq!(timeline.len(), 4);
        // By name of the call, then by tick: begin and end.
        let at = |call: &str, tick: usize, end: usize| timeline[tick][call][end].as_f64().unwrap();
        for tick in 0..4 {
            assert!(at("submit_ms", tick, 0) <= at("submit_ms", tick, 1));
            assert!(at("submit_ms", tick, 1) <= at("collect_ms", tick, 0));
            assert!(at("collect_ms", tick, 0) <= at("collect_ms", tick, 1));
        }
        for tick in 0..3 {
            let is_submitted_before = at("submit_ms", tick + 1, 1) <= at("collect_ms", tick, 0);
            assert_eq!(is_submitted_before, in_flight == 2, "tick {tick}");
        }
    }
}
