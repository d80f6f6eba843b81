//! Content subscriptions in the tick: all entities move, and thousands of clients have
//! subscribed to some of their changes.

mod direct;
mod scenario;
mod table;

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum, value_parser};
use gpu_kernels::listen::{Listeners, Notice, Notices};
use program::note;
use shared::ClientRow;

use crate::bench::Bench;
use crate::options::RunOptions;
use crate::report::{Recorder, Report, Row, Sample};
use direct::Direct;
use scenario::{Mirror, Scenario, client_of};

/// The stage `listen`. Fails where a client gets anything but the matches of its
/// predicates.
pub struct Listen;

/// Content subscriptions in the tick: all entities move, thousands of clients listen
///
/// Measures the stage that finds the notices of each client, by itself: ticks
/// are run beforehand. Each subscription asks for one entity, for one of two, for all
/// that enter a small box, or for a kind in a strip of the world. The baseline tries
/// every predicate on a sample of the changes, on one thread; its time is scaled up to
/// all changes. The bench fails if the two find different clients.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of subscriptions, of at most 10000 clients
    #[arg(
        long,
        default_value = "1000,10000,100000",
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = value_parser!(u32).range(1..=100_000)
    )]
    subscriptions: Vec<u32>,
    /// Entities
    #[arg(long, default_value = "65536", value_name = "N", value_parser = value_parser!(u32).range(16..=1 << 20))]
    entities: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Where subscriptions are matched
    #[arg(
        long = "backend",
        default_value = "cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    backends: Vec<BackendName>,
    #[command(flatten)]
    run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// On CPUs, as a server on the cpu backend does
    Cpu,
    /// On CPUs or on the GPU, by the cost of each batch, as a server on the cuda backend does
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

impl Bench for Listen {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &subscriptions in &options.subscriptions {
            let scenario = Scenario::new(options, subscriptions)?;
            recorder.add(measure(options, &scenario)?)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        Ok(table::write(report, out)?)
    }
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
        note!(
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

/// Tries every predicate on some of the last tick's changes. Returns a row and the
/// matches: (client, slot, column), sorted.
fn try_directly(scenario: &Scenario) -> (Row, Vec<(u32, u32, u16)>) {
    let direct = Direct::new(scenario);
    let mirror = scenario.mirror_before_last();
    let (tick, changes) = (scenario.last(), scenario.changes());
    let step = (changes as usize / SAMPLED).max(1);
    let (mut matches, mut sampled) = (vec![], 0u64);
    let begin = Instant::now();
    let mut number = 0;
    for (slot, columns, values) in tick.changes.iter() {
        for (&column, &new) in columns.iter().zip(values) {
            if number % step == 0 {
                direct.try_change(&mirror, tick, (slot, column, new), &mut matches);
                sampled += 1;
            }
            number += 1;
        }
    }
    let total = begin.elapsed().mul_f64(changes as f64 / sampled as f64);
    matches.sort_unstable();
    matches.dedup();
    let approach = "every predicate on every change";
    let mut row = Row::of(NAME, DIRECT, approach, &[Sample::of_stage(NAME, total)]);
    row.put("sampled", sampled);
    row.checksum = format!("{:016x}", matches.len());
    (row, matches)
}

/// Runs the stage tick after tick with all subscriptions.
fn listen(
    backend: BackendName,
    threads: usize,
    scenario: &Scenario,
    expected: &[(u32, u32, u16)],
) -> anyhow::Result<Row> {
    let gpu = (backend == BackendName::Auto).then_some(crate::cuda::GPU);
    let listeners = Listeners::new(&scenario.config, threads, gpu)?;
    let mut listeners = listeners.context("clients may subscribe")?;
    if let (BackendName::Auto, Some(reason)) = (backend, listeners.why_no_gpu()) {
        note!("no GPU: {reason}");
    }
    let registry = listeners.registry();
    let begin = Instant::now();
    for (i, text) in (0..).zip(&scenario.texts) {
        registry.subscribe(client_of(i), i / LISTENERS_MAX, text)?;
    }
    let asked = begin.elapsed();
    let mut mirror = Mirror::new(&scenario.config);
    let (mut samples, mut notices_sum, mut matched) = (vec![], 0, 0);
    let mut first = Duration::ZERO;
    for (i, output) in scenario.ticks.iter().enumerate() {
        let begin = Instant::now();
        let notices = listeners.listen(output, &mirror);
        let total = begin.elapsed();
        ensure!(
            notices.full() == 0,
            "some clients reached their limit of notices"
        );
        match i {
            // This tick applies the subscriptions, and has nothing to match yet.
            0 => first = total,
            _ if i > WARM_UP_TICKS => {
                samples.push(Sample::of_stage(NAME, total));
                notices_sum += notices.total();
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
    row.put("notices", notices_sum / samples.len().max(1) as u64);
    row.checksum = format!("{:016x}", expected.len());
    Ok(row)
}

/// Fails unless the notices of the sampled changes go to the expected clients.
fn check(
    scenario: &Scenario,
    notices: &Notices,
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
    let mut found = vec![];
    for client in (0..scenario.listeners).map(ClientRow) {
        for notice in notices.of(client) {
            let Notice::Change { entity, column, .. } = notice.notice else {
                continue;
            };
            if sampled.contains(&(entity.slot.0, column)) {
                found.push((client.0, entity.slot.0, column));
            }
        }
    }
    found.sort_unstable();
    ensure!(
        found == expected,
        "expected {} notices of the sampled changes; found {}",
        expected.len(),
        found.len()
    );
    Ok(())
}

const NAME: &str = "listen";
const DIRECT: &str = "direct";
/// With more subscriptions, a client has several.
const LISTENERS_MAX: u32 = 10_000;
/// Ticks before the timed ones, in which the matcher tries both CPU and GPU.
const WARM_UP_TICKS: usize = 6;
/// Changes on which every predicate is tried.
const SAMPLED: usize = 512;
