//! Content subscriptions in the tick: everyone moves, and thousands of clients have
//! subscribed to some of it.

mod direct;
mod scenario;
mod table;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum, value_parser};
use gpu_kernels::content::listen::{Listeners, Notice};
use shared::ClientRow;

use crate::report::{Report, Row, Sample};
use crate::tick::backends::RunOptions;
use direct::Direct;
use scenario::{Mirror, Scenario, client_of};
pub use table::show;

/// Content subscriptions in the tick: everyone moves, thousands of clients listen
///
/// The stage that finds who is told of what, by itself: ticks are run beforehand. Each
/// subscription asks for a single entity, for one of two, for what enters a small box, or
/// for a kind in a strip of the world. Beside it, on one thread, every predicate tried on
/// every change: on a sample of the changes, and the time taken times as many as the
/// sample is of them. Both must find the same.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// How many subscriptions, of at most 10000 clients
    #[arg(
        long,
        default_value = "1000,10000,100000",
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = value_parser!(u32).range(1..=100_000)
    )]
    pub subscriptions: Vec<u32>,
    /// How many entities
    #[arg(long, default_value = "65536", value_name = "N", value_parser = value_parser!(u32).range(16..=1 << 20))]
    pub entities: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Where subscriptions are matched
    #[arg(
        long = "backend",
        default_value = "cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// On CPUs, as a server on the cpu backend does
    Cpu,
    /// Each batch where it costs less, as a server on the cuda backend does
    Auto,
}

impl BackendName {
    const fn name(self) -> &'static str {
        match self {
            BackendName::Cpu => "cpu",
            BackendName::Auto => "auto",
        }
    }
}

/// Measures, writes the table to `out` and returns the report. Fails where somebody is
/// told of anything but what the predicates say.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for &subscriptions in &options.subscriptions {
        let scenario = Scenario::new(options, subscriptions)?;
        report.rows.extend(measure(options, &scenario)?);
    }
    options.run.keep(&report)?;
    show(&report, out)?;
    Ok(report)
}

/// A row for the baseline and one for each backend.
fn measure(options: &Options, scenario: &Scenario) -> anyhow::Result<Vec<Row>> {
    let (mut row, sampled) = try_directly(scenario);
    put_scenario(&mut row, scenario);
    row.put("threads", 1);
    let mut rows = vec![row];
    for &backend in &options.backends {
        let threads = options.run.threads();
        let mut row = listen(backend, threads, scenario, &sampled)?;
        put_scenario(&mut row, scenario);
        row.put("threads", threads);
        rows.push(row);
    }
    for row in &rows {
        eprintln!(
            "listen, {} subscriptions, {}: {:.3} ms",
            scenario.texts.len(),
            row.backend,
            row.total_ms
        );
    }
    Ok(rows)
}

fn put_scenario(row: &mut Row, scenario: &Scenario) {
    row.put("entities", scenario.entities);
    row.put("subscriptions", scenario.texts.len());
    row.put("listeners", scenario.listeners);
    row.put("changes", scenario.changes());
    row.work = scenario.changes();
}

/// Every predicate on some of the last tick's changes; who is told of them.
fn try_directly(scenario: &Scenario) -> (Row, Vec<(u32, u32, u16)>) {
    let direct = Direct::new(scenario);
    let mirror = scenario.mirror_before_last();
    let (tick, changes) = (scenario.last(), scenario.changes());
    let step = (changes as usize / SAMPLED).max(1);
    let (mut told, mut sampled) = (vec![], 0u64);
    let begin = Instant::now();
    let mut number = 0;
    for (slot, columns, values) in tick.changes.iter() {
        for (&column, &new) in columns.iter().zip(values) {
            if number % step == 0 {
                direct.tell(&mirror, tick, (slot, column, new), &mut told);
                sampled += 1;
            }
            number += 1;
        }
    }
    let total = begin.elapsed().mul_f64(changes as f64 / sampled as f64);
    told.sort_unstable();
    told.dedup();
    let stages = vec![("listen", total)];
    let mut row = Row::of(
        NAME,
        "direct",
        "every predicate on every change",
        &[Sample { total, stages }],
    );
    row.put("sampled", sampled);
    row.checksum = format!("{:016x}", told.len());
    (row, told)
}

/// The stage, tick after tick, with all subscriptions there.
fn listen(
    backend: BackendName,
    threads: usize,
    scenario: &Scenario,
    expected: &[(u32, u32, u16)],
) -> anyhow::Result<Row> {
    let may_use_gpu = backend == BackendName::Auto;
    let listeners = Listeners::new(&scenario.config, threads, may_use_gpu)?;
    let mut listeners = listeners.context("clients may subscribe")?;
    if let (BackendName::Auto, Some(reason)) = (backend, listeners.why_no_gpu()) {
        eprintln!("no GPU: {reason}");
    }
    let desk = listeners.desk();
    let begin = Instant::now();
    for (i, text) in (0..).zip(&scenario.texts) {
        desk.subscribe(client_of(i), i / LISTENERS_MAX, text)?;
    }
    let asked = begin.elapsed();
    let mut mirror = Mirror::new(&scenario.config);
    let (mut samples, mut notices_told, mut matched) = (vec![], 0, 0);
    let mut first = Duration::ZERO;
    for (i, output) in scenario.ticks.iter().enumerate() {
        let begin = Instant::now();
        let notices = listeners.listen(output, &mirror);
        let total = begin.elapsed();
        ensure!(notices.full() == 0, "some clients are told of too much");
        match i {
            // Who asked is let in, and has nothing to be told of yet.
            0 => first = total,
            _ if i > WARM_UP_TICKS => {
                let stages = vec![("listen", total)];
                samples.push(Sample { total, stages });
                notices_told += notices.total();
                matched = notices.matched();
            }
            _ => {}
        }
        if i + 1 == scenario.ticks.len() {
            check(scenario, notices, expected)?;
        }
        mirror.apply(output);
    }
    let mut row = Row::of(NAME, backend.name(), "the server's stage", &samples);
    let each_us = |time: Duration| time.as_secs_f64() * 1e6 / scenario.texts.len() as f64;
    row.put("asked_us", each_us(asked));
    row.put("let_in_us", each_us(first));
    row.put("matched", matched);
    row.put("notices", notices_told / samples.len().max(1) as u64);
    row.checksum = format!("{:016x}", expected.len());
    Ok(row)
}

/// Of the sampled changes, everyone is told who should be.
fn check(
    scenario: &Scenario,
    notices: &gpu_kernels::content::listen::Notices,
    expected: &[(u32, u32, u16)],
) -> anyhow::Result<()> {
    let step = (scenario.changes() as usize / SAMPLED).max(1);
    let mut sampled = std::collections::HashSet::new();
    let places = scenario
        .last()
        .changes
        .iter()
        .flat_map(|(slot, columns, _)| columns.iter().map(move |&column| (slot.0, column)));
    sampled.extend(places.step_by(step));
    let mut told = vec![];
    for client in (0..scenario.listeners).map(ClientRow) {
        for notice in notices.of(client) {
            let Notice::Change { entity, column, .. } = notice.notice else {
                continue;
            };
            if sampled.contains(&(entity.slot.0, column)) {
                told.push((client.0, entity.slot.0, column));
            }
        }
    }
    told.sort_unstable();
    ensure!(
        told == expected,
        "{} were told of the sampled changes, where {} should have been",
        told.len(),
        expected.len()
    );
    Ok(())
}

/// What rows of this bench are called.
pub const NAME: &str = "listen";
/// With more subscriptions, each has several.
const LISTENERS_MAX: u32 = 10_000;
/// Ticks with something to tell before those that are timed: each side of a choice has
/// been tried.
const WARM_UP_TICKS: usize = 6;
/// Changes that every predicate is tried on.
const SAMPLED: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bench_runs_and_tells_of_every_way() {
        let options = Options {
            subscriptions: vec![50, 300],
            entities: 400,
            runs: 2,
            backends: vec![BackendName::Cpu, BackendName::Auto],
            run: RunOptions {
                threads: Some(2),
                seed: 1,
                json: None,
            },
        };
        let mut out = vec![];
        let report = run(&options, &mut out).unwrap();
        let backends: Vec<_> = report.rows.iter().map(|row| row.backend.as_str()).collect();
        assert_eq!(backends, ["direct", "cpu", "auto", "direct", "cpu", "auto"]);
        assert!(report.rows[1].whole("notices").unwrap() > 50);
        assert_ne!(report.rows[0].checksum, format!("{:016x}", 0));
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("| 300 | 300 |").count(), 3, "{text}");
    }
}
