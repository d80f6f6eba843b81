//! The page of load tests names what the program has: options, commands and keys of the report.

use std::collections::BTreeSet;

use clap::{CommandFactory, Parser};
use client_bot::SwarmReport;
use client_bot::cli::Arguments;

const PAGE: &str = include_str!("../load-tests.md");

/// The texts in backquotes in the cells of a column, of the table with this heading.
fn quoted(heading: &str, column: usize) -> BTreeSet<&'static str> {
    let rows = PAGE.lines().skip_while(|line| *line != heading).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(column + 1));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn every_command_line_of_the_page_is_accepted() {
    let commands = PAGE.lines().filter(|line| line.starts_with("myriad-bot "));
    let commands: Vec<_> = commands.collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let parsed = Arguments::try_parse_from(command.replace('\'', "").split_whitespace());
        assert!(parsed.is_ok(), "{command}: {:?}", parsed.err());
    }
}

#[test]
fn the_table_of_options_names_every_option() {
    let found = quoted("| option | meaning |", 0);
    let found: BTreeSet<String> = found
        .iter()
        .filter_map(|text| Some(text.split(' ').next()?.strip_prefix("--")?.to_owned()))
        .collect();
    let command = Arguments::command();
    let options = command.get_arguments().filter_map(|a| a.get_long());
    let expected: BTreeSet<String> = options
        .filter(|name| !["help", "version"].contains(name))
        .map(str::to_owned)
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_table_of_the_report_names_every_key() {
    let found = quoted("| line | meaning | keys of `--json` |", 2);
    let report = serde_json::to_value(SwarmReport::default()).expect("a report");
    let report = report.as_object().expect("an object");
    let expected: BTreeSet<&str> = report.keys().map(String::as_str).collect();
    assert_eq!(found, expected);
}
