//! A small run of the fan-out bench, from the command line to the table.

use benches::report::{Report, reprint};
use benches::tick::fan_out;
use clap::Args;

#[test]
fn awaited_and_overlapped_fan_outs_lead_to_the_same_state() {
    let file = std::env::temp_dir().join(format!("myriad-fan-out-{}", std::process::id()));
    let json = file.display().to_string();
    let line = "bench --clients 256 --ticks 4 --runs 2 --shards 2 --threads 1 --json";
    let command = fan_out::Options::augment_args(clap::Command::new("bench"));
    let matches = command.get_matches_from(line.split(' ').chain([&json[..]]));
    let options = <fan_out::Options as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
    let mut table = vec![];
    fan_out::run(&options, &mut table).unwrap();

    let report = Report::read(&file).unwrap();
    let approaches: Vec<&str> = report.rows.iter().map(|row| &row.approach[..]).collect();
    assert_eq!(
        approaches,
        ["the fan-out awaited", "the fan-out overlapped"]
    );
    assert_eq!(report.rows[0].checksum, report.rows[1].checksum);
    assert!(
        report
            .rows
            .iter()
            .all(|row| row.samples == 8 && row.work > 0)
    );
    let mut again = vec![];
    let options = reprint::Options {
        file: file.clone(),
        plots: None,
    };
    reprint::run(&options, &mut again).unwrap();
    assert_eq!(again, table);
    std::fs::remove_file(&file).unwrap();
}
