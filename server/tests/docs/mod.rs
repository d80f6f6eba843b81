//! The documents name existing things, and their examples work.

mod circles;
mod clocks;
mod commands;
mod grafana;
mod markdown;
mod paths;
mod sources;
mod tutorial;
mod types;
mod worlds;

use std::collections::BTreeSet;

use platform::log::SERVING;
use platform::metrics::table;

use markdown::{documents, read};

#[test]
fn documents_are_short() {
    for document in documents() {
        let lines = document.text.lines().count();
        let limit = document.lines_max;
        assert!(lines <= limit, "{}: {lines} lines", document.name);
    }
}

/// A table needs a line of dashes, no empty lines, and as many cells in each row.
#[test]
fn tables_render() {
    for document in documents() {
        let lines: Vec<&str> = document.prose().collect();
        let is_row = |line: &&str| line.starts_with('|');
        for table in lines.chunk_by(|a, b| is_row(a) && is_row(b)) {
            let place = format!("{}: {}", document.name, table[0]);
            if is_row(&table[0]) {
                assert!(table.len() > 2 && table[1].contains("| ---"), "{place}");
                let cells = |row: &&str| row.matches('|').count();
                assert!(
                    table.iter().all(|row| cells(row) == cells(&table[0])),
                    "{place}"
                );
            }
        }
    }
}

/// The examples of clients are compiled by their crate, those of scripts by the crate `script`, and
/// those of the tutorial by its test.
#[test]
fn rust_examples_are_where_they_are_compiled() {
    for document in documents() {
        let has_rust = document.text.contains("\n```rust");
        let is_compiled = [
            "client-bot/README.md",
            "client-bot/networks.md",
            "README.md",
            "server/tutorial.md",
            "server/worlds/arrays.md",
            "server/worlds/numbers.md",
            "server/worlds/texts.md",
            "server/worlds/asking.md",
            "server/worlds/atomic.md",
            "server/worlds/hooks.md",
            "server/worlds/doors.md",
            "server/worlds/fields.md",
            "server/worlds/planes.md",
            "server/worlds/sight.md",
            "server/worlds/things.md",
            "server/worlds/groups.md",
            "server/worlds/layers.md",
            "server/worlds/shared.md",
            "server/worlds/testing.md",
            "server/worlds/usage.md",
        ]
        .contains(&document.name);
        assert_eq!(has_rust, is_compiled, "{}", document.name);
    }
}

#[test]
fn every_option_of_myriad_is_in_a_table() {
    let documents = commands::OPERATORS.map(read);
    for (name, command) in commands::all() {
        let header = format!("| `myriad {name}` | meaning |");
        let with_table = documents.iter().filter(|d| d.text.contains(&header));
        let tables: Vec<_> = with_table.map(|document| document.table(&header)).collect();
        let found: BTreeSet<&str> = tables
            .iter()
            .flatten()
            .flat_map(|row| row.code(0))
            .filter_map(|code| code.split(' ').next()?.strip_prefix("--"))
            .collect();
        let options = command.get_arguments().filter_map(|a| a.get_long());
        let expected = options.filter(|option| *option != "help").collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// A crate that is not in it logs warnings only.
#[test]
fn the_usual_filter_of_the_log_has_each_crate_of_the_server() {
    for (folder, sources) in sources::crates() {
        let name = folder.trim_end_matches("/src").strip_prefix("server");
        let name = name.map(|name| name.trim_start_matches('/'));
        let Some(name) = name.filter(|name| *name != "simulator") else {
            continue;
        };
        let crate_name = if name.is_empty() { "server" } else { name };
        if sources.iter().any(|(_, text)| text.contains("tracing::")) {
            assert!(
                SERVING.contains(&format!("{crate_name}=info")),
                "{crate_name}"
            );
        }
    }
}

/// The rows of the table of metrics are checked where metrics are declared.
#[test]
fn every_metric_in_a_document_exists() {
    let keys = worlds::keys_of("limits");
    for document in documents() {
        for code in document.code() {
            let name = code.split('{').next().unwrap_or_default();
            let is_metric = name.ends_with("_total") || name.ends_with("_seconds");
            if is_metric && !keys.contains(name) {
                let exists = table::all().any(|metric| metric.name == name);
                assert!(exists, "{}: no metric {name}", document.name);
            }
        }
    }
}
