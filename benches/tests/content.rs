//! A small run of content matching.

use crate::common::{Folder, run_and_keep};
use benches::cli;

#[test]
fn all_ways_find_the_same_subscribers_and_each_has_a_row() {
    let folder = Folder::new();
    let line = "content --only default,names,dense --divide 1000 --seconds 0.001 --threads 2";
    let (report, tables, _) = run_and_keep(line, &folder);

    for part in [
        "Table 1",
        "Table 2",
        "Figure 10",
        "Dense",
        "the paper's SFF",
    ] {
        assert!(tables.contains(part), "{part} is missing in\n{tables}");
    }
    let rows = report.rows.iter();
    let rows: Vec<_> = rows.filter(|r| r.scenario == "content default").collect();
    let count = |approach: &str| {
        let rows = rows.iter();
        rows.filter(|r| r.approach.starts_with(approach)).count()
    };
    // One at a time, in batches, and while filters come and go; on one thread and on two.
    assert_eq!(count("ours"), 6);
    assert_eq!(count("subsets"), 2);
    assert_eq!(count("counting as SFF"), 2);
    for row in &rows {
        assert_eq!(row.checksum, rows[0].checksum);
    }
}

#[test]
fn subscribers_can_be_called_interfaces_as_in_the_paper() {
    for name in ["subscribers", "interfaces"] {
        let line = ["benches", "content", "--only", name];
        assert!(cli::command().try_get_matches_from(line).is_ok(), "{name}");
    }
}
