//! The files for Grafana and Prometheus use existing metrics: each metric, with each label and
//! each of its values.

use std::collections::BTreeSet;

use platform::metrics::table::{self, Kind, Metric};
use serde_json::Value;

use crate::docs::markdown::root;

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join("server/grafana").join(name)).expect(name)
}

/// The texts below a key, anywhere in a document.
fn texts_of<'a>(value: &'a Value, key: &str, texts: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str() {
                    Some(text) if name == key => texts.push(text),
                    _ => texts_of(value, key, texts),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts_of(value, key, texts)),
        _ => {}
    }
}

/// The expressions of alert rules: in the line of `expr:`, or folded below it.
fn expressions(rules: &str) -> Vec<String> {
    let mut lines = rules.lines().peekable();
    let mut found = vec![];
    while let Some(line) = lines.next() {
        let Some(first) = line.trim_start().strip_prefix("expr: ") else {
            continue;
        };
        let depth = |line: &str| line.len() - line.trim_start().len();
        let mut expression = first.trim_start_matches(">-").to_owned();
        while let Some(more) = lines.next_if(|more| depth(more) > depth(line)) {
            expression.push_str(more);
        }
        found.push(expression);
    }
    found
}

/// A metric that an expression names, with its matchers: (label, value without operators).
#[derive(Debug, PartialEq)]
struct Selector<'a> {
    name: &'a str,
    matchers: Vec<(&'a str, &'a str)>,
}

/// The metrics of an expression of PromQL.
fn selectors(expression: &str) -> Vec<Selector<'_>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = vec![];
    let mut rest = expression;
    while let Some(start) = rest.find(|c: char| is_name(c) || "\"{[$".contains(c)) {
        rest = &rest[start..];
        if let Some(span) = rest.strip_prefix('[') {
            rest = span.split_once(']').expect("a span ends").1;
            continue;
        }
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            rest = after;
        } else if ["by", "without", "on", "ignoring"].contains(&name) {
            // Labels follow.
            rest = after.split_once(')').expect("a list ends").1;
        } else if is_operator(name) || after.starts_with('(') || is_aggregation(name) {
            rest = after;
        } else if let Some(inside) = after.strip_prefix('{') {
            let (inside, after) = inside.split_once('}').expect("matchers end");
            let matchers = inside.split(',').map(matcher).collect();
            found.push(Selector { name, matchers });
            rest = after;
        } else {
            found.push(Selector {
                name,
                matchers: vec![],
            });
            rest = after;
        }
    }
    found
}

fn is_operator(name: &str) -> bool {
    ["and", "or", "unless", "bool"].contains(&name)
}

/// Functions whose grouping may come before their parentheses.
fn is_aggregation(name: &str) -> bool {
    ["sum", "max", "min", "avg", "count", "topk"].contains(&name)
}

fn matcher(text: &str) -> (&str, &str) {
    let (label, value) = text.split_once('=').expect("a matcher has a value");
    (
        label.trim_end_matches('!'),
        value.trim_start_matches('~').trim_matches('"'),
    )
}

/// The metric of a name; histograms come as summaries, with sums and counts.
fn metric_of(name: &str) -> Option<Metric> {
    let of = |name: &str| table::all().find(|metric| metric.name == name);
    of(name).or_else(|| {
        let base = ["_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))?;
        of(base).filter(|metric| metric.kind == Kind::Histogram)
    })
}

/// Checks an expression, and gives the names of its metrics.
fn check<'a>(expression: &'a str, place: &str) -> BTreeSet<&'a str> {
    let found = selectors(expression);
    assert!(!found.is_empty(), "{place}: no metric in {expression}");
    for Selector { name, matchers } in &found {
        // Prometheus's own, and what most programs have.
        if *name == "up" || PROCESS.contains(name) {
            continue;
        }
        let metric = metric_of(name).unwrap_or_else(|| panic!("{place}: no metric {name}"));
        for (label, value) in matchers {
            match *label {
                "job" | "instance" => {}
                "quantile" => {
                    assert_eq!(metric.kind, Kind::Histogram, "{place}: {name}");
                    let shown = ["0", "0.5", "0.9", "0.95", "0.99", "0.999", "1"];
                    assert!(shown.contains(value), "{place}: quantile {value}");
                }
                label => {
                    let own = metric.label.filter(|own| own.name == label);
                    let own = own.unwrap_or_else(|| panic!("{place}: {name} has no {label}"));
                    let is_one = own.values.is_empty() || own.values.contains(value);
                    assert!(is_one, "{place}: {name}: {label} is never {value}");
                }
            }
        }
    }
    found.into_iter().map(|selector| selector.name).collect()
}

/// What `metrics-process` shows on all systems.
const PROCESS: [&str; 7] = [
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_threads",
    "process_virtual_memory_bytes",
];

/// What an operator must learn of a world that is kept.
const KEPT: [&str; 8] = [
    "myriad_backup_time_seconds",
    "myriad_checkpoints_total",
    "myriad_data_free_bytes",
    "myriad_following",
    "myriad_journal_sync_seconds",
    "myriad_lease_held",
    "myriad_standby_in_force",
    "myriad_standby_lag_ticks",
];

#[test]
fn the_dashboard_for_grafana_asks_for_metrics_that_exist() {
    let text = read("dashboard.json");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let mut expressions = vec![];
    texts_of(&dashboard, "expr", &mut expressions);
    let names: BTreeSet<&str> = expressions
        .iter()
        .flat_map(|expression| check(expression, "dashboard.json"))
        .collect();
    assert!(names.len() > 30, "{names:?}");
    let missing = KEPT.iter().find(|name| !names.contains(*name));
    assert_eq!(missing, None, "the dashboard");
    // The values that the choice of a server comes from.
    let mut queries = vec![];
    texts_of(&dashboard, "query", &mut queries);
    for query in queries
        .iter()
        .filter_map(|q| q.strip_prefix("label_values("))
    {
        let name = query.split([',', '{']).next().unwrap_or_default();
        assert!(metric_of(name).is_some(), "no metric {name}");
    }
    // Panels don't lie upon each other.
    let panels = dashboard["panels"].as_array().expect("a list");
    let places: BTreeSet<(i64, i64)> = panels
        .iter()
        .map(|panel| ["x", "y"].map(|axis| panel["gridPos"][axis].as_i64().expect("a number")))
        .map(|[x, y]| (x, y))
        .collect();
    assert_eq!(places.len(), panels.len());
}

#[test]
fn the_alert_rules_ask_for_metrics_that_exist() {
    let rules = read("alerts.yml");
    let alerts = rules.matches("- alert: ").count();
    let expressions = expressions(&rules);
    assert_eq!(expressions.len(), alerts);
    let mut names = BTreeSet::new();
    for expression in &expressions {
        names.extend(check(expression, "alerts.yml"));
        // Operators give jobs other names.
        let named = selectors(expression)
            .into_iter()
            .any(|selector| selector.matchers.iter().any(|(label, _)| *label == "job"));
        assert!(!named, "{expression}");
    }
    let missing = KEPT.iter().find(|name| !names.contains(*name));
    assert_eq!(missing, None, "the alerts");
}

#[test]
fn expressions_are_read_as_they_are_meant() {
    let names = |text| -> Vec<String> {
        let found = selectors(text);
        found.iter().map(|one| one.name.to_owned()).collect()
    };
    let sum = "sum by (stage) (rate(a_sum{x=\"b\",y=~\"$c\"}[$__rate_interval])) / 2 > on (job) d";
    assert_eq!(names(sum), ["a_sum", "d"]);
    let sets = "g == 0 and on (job) last_over_time(h[1d]) > 0 unless i";
    assert_eq!(names(sets), ["g", "h", "i"]);
    assert_eq!(names("topk(10, sum(e)) + 0.05 * f"), ["e", "f"]);
    let [first, ..] = &selectors(sum)[..] else {
        panic!("a metric");
    };
    assert_eq!(first.matchers, [("x", "b"), ("y", "$c")]);
    let folded = "  expr: >-\n    a\n    + b\n  for: 5m\n  expr: c\n";
    assert_eq!(expressions(folded), ["    a    + b", "c"]);
}
