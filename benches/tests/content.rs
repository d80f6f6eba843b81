//! A small run of the content bench, from options to tables.

use benches::engines::content::{self, Options};
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

#[test]
fn every_way_finds_the_same_and_has_a_row() {
    let arguments = "content --only default,names,dense --divide 1000 --seconds 0.001 --threads 2";
    let line = Line::parse_from(arguments.split(' '));
    let mut text = vec![];
    let report = content::run(&line.options, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for part in [
        "Table 1",
        "Table 2",
        "Figure 10",
        "Dense",
        "the paper's SFF",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let of = |approach: &str| {
        let rows = report
            .rows
            .iter()
            .filter(|r| r.scenario == "content default");
        rows.filter(|r| r.approach.starts_with(approach)).count()
    };
    // One at a time, in batches, and while filters come and go, on one thread and on two.
    assert_eq!(of("ours"), 6);
    assert_eq!(of("subsets"), 2);
    assert_eq!(of("counting as SFF"), 2);
    let checksums = report
        .rows
        .iter()
        .filter(|r| r.scenario == "content default");
    let mut checksums: Vec<_> = checksums.map(|r| &r.checksum).collect();
    checksums.dedup();
    assert_eq!(checksums.len(), 1);
}
