//! Deals: transfers between accounts as an atomic command, against a loop in Rust.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Args, value_parser};
use gpu_kernels::Frame;
use program::note;
use shared::world::mix::mix;
use shared::{EntityId, Tick, WorldConfig};

use super::backends::{BackendOptions, Candidate};
use super::worlds::with_commands;
use crate::bench::Bench;
use crate::dice::Zipf;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// Atomic commands. Fails where an account is not as the loop leaves it, or a sum is not kept.
pub struct Deals;

/// Transfers between accounts as an atomic command, against a loop in Rust
///
/// Each transfer reads two accounts, checks one, debits it and credits the other. How often an
/// account is chosen follows Zipf's law: at 0 all are as likely, at 1.5 a few are in most
/// transfers. The accounts are compared after each tick.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Transfers in a tick
    #[arg(long, default_value = "100000", value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 22))]
    transfers: u32,
    /// Accounts: one of each is an entity
    #[arg(long, default_value = "100000", value_name = "N", value_parser = value_parser!(u32).range(2..=1 << 22))]
    accounts: u32,
    /// Exponents of Zipf's law
    #[arg(
        long,
        default_value = "0,1.5",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    zipf: Vec<f64>,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Deals {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        for &zipf in &options.zipf {
            let rows = measure(zipf, options).with_context(|| format!("Zipf {zipf}"))?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        title(out, "Deals")?;
        writeln!(out, "Times in milliseconds, medians. {}\n", report.origin())?;
        head(
            out,
            &[
                "Zipf",
                "transfers",
                "accounts",
                "subject",
                "threads",
                "a tick",
                "merge, with the transfers",
                "ns per transfer",
            ],
        )?;
        for row in &report.rows {
            let of_row = row.stage("merge");
            let transfers = row.whole("transfers").unwrap_or(1) as f64;
            line(
                out,
                &[
                    row.text("zipf").unwrap_or_default().to_owned(),
                    row.cell("transfers"),
                    row.cell("accounts"),
                    row.backend.clone(),
                    row.cell("threads"),
                    number(Some(row.total_ms)),
                    number(of_row),
                    number(of_row.map(|ms| ms * 1e6 / transfers)),
                ],
            )?;
        }
        Ok(())
    }
}

/// A row for the loop and one for each backend.
fn measure(zipf: f64, options: &Options) -> anyhow::Result<Vec<Row>> {
    let config = config(options)?;
    let mut rows = vec![];
    let mut looped = vec![];
    for (i, candidate) in options.backends.candidates().enumerate() {
        let (samples, by_loop) = sample(zipf, &config, &candidate, options)?;
        if i == 0 {
            looped = by_loop;
        }
        rows.push((
            candidate.name,
            candidate.approach,
            candidate.threads,
            samples,
        ));
    }
    rows.insert(0, ("loop", "a loop in Rust, one thread", 1, looped));
    let rows = rows.into_iter().map(|(name, approach, threads, samples)| {
        let mut row = Row::of(NAME, name, approach, &samples[WARM_UP_TICKS..]);
        row.put("zipf", zipf.to_string());
        row.put("transfers", options.transfers);
        row.put("accounts", options.accounts);
        row.put("threads", threads);
        row.work = u64::from(options.transfers);
        let ms = row.stage("merge").unwrap_or_default();
        note!("deals, Zipf {zipf}, {name}: {ms:.3} ms for the transfers");
        row
    });
    Ok(rows.collect())
}

/// Runs ticks, and the same transfers in a loop: the times of both.
fn sample(
    zipf: f64,
    config: &WorldConfig,
    candidate: &Candidate,
    options: &Options,
) -> anyhow::Result<(Vec<Sample>, Vec<Sample>)> {
    let mut backend = candidate.start(config)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(config);
    let births = backend.tick(&frame)?;
    let entities: Vec<EntityId> = births.births.iter().filter_map(|b| b.entity).collect();
    let columns = config.schema.attributes.len();
    let gold = config.schema.column("gold").context("gold")?;
    let transfer = config
        .schema
        .command_named("transfer")
        .context("transfer")?;
    let accounts = Zipf::new(entities.len(), zipf);
    let mut held = vec![GOLD; entities.len()];
    let (mut samples, mut looped) = (vec![], vec![]);
    let mut drawn = 0;
    let mut draw = || {
        drawn += 1;
        mix(config.seed, drawn)
    };
    for tick in 1..=(WARM_UP_TICKS + options.runs) as u64 {
        frame.reset(Tick(tick));
        for sequence in 0..options.transfers {
            let from = accounts.of(draw());
            let to = match accounts.of(draw()) {
                to if to == from => (to + 1) % entities.len(),
                to => to,
            };
            let amount = (draw() % 100) as i32;
            let words = [entities[to].reference().0, amount];
            frame.push(entities[from], sequence, transfer.kind, &words);
        }
        frame.order(config.seed);
        let begin = Instant::now();
        let output = backend.tick(&frame).context("the tick failed")?;
        samples.push(Sample::of(&output, begin.elapsed()));

        let transfers: Vec<(u32, u32, i32)> = (frame.commands.iter())
            .map(|command| {
                let words = frame.words_of(command);
                let to = shared::EntityRef(words[0]).slot();
                (command.entity.slot.0, to.0, words[1])
            })
            .collect();
        let begin = Instant::now();
        for &(from, to, amount) in &transfers {
            if held[from as usize] >= amount {
                held[from as usize] -= amount;
                held[to as usize] += amount;
            }
        }
        looped.push(Sample::of_stage("merge", begin.elapsed()));
        ensure!(output.counts.atomic_deferred == 0, "transfers waited");
        let sum: i64 = held.iter().map(|&gold| i64::from(gold)).sum();
        ensure!(
            sum == i64::from(GOLD) * held.len() as i64,
            "a sum is not kept"
        );
    }
    let rows = backend.snapshot()?.rows;
    let found = rows.chunks_exact(columns).map(|row| row[gold]);
    ensure!(found.eq(held), "{} differs from the loop", candidate.name);
    Ok((samples, looped))
}

fn config(options: &Options) -> anyhow::Result<WorldConfig> {
    let (accounts, transfers) = (options.accounts, options.transfers);
    let commands = accounts.max(transfers);
    let text = format!(
        r#"
        [world]
        name = "deals"
        size = [1000, 1000]
        aoi = 10
        capacity = {accounts}
        seed = {seed}
        visible_max = 1

        [limits]
        clients = 1
        commands_per_tick = {commands}
        atomic_per_tick = {transfers}
        deliveries_per_tick = 1

        [logic]
        builtin = []

        [[kind]]
        name = "account"
        population = {accounts}
        attributes = [
            {{ name = "gold", type = "i32", default = {GOLD}, min = 0, audience = "private" }},
        ]
        "#,
        seed = options.backends.run.seed(),
    );
    with_transfer(&text, TRANSFER)
}

/// The world of a file with a command `transfer`, which clients may give as often as they want.
pub fn with_transfer(text: &str, script: &str) -> anyhow::Result<WorldConfig> {
    let config = world_file::parse(text, "the world of deals")?;
    with_commands(&config, [("transfer", script)])
}

const TRANSFER: &str = "#[command(clients, atomic)]
fn transfer(me: Entity, to: Entity, amount: i32) {
    require(amount >= 0 && me.gold >= amount);
    me.gold -= amount;
    require_fits(to.gold += amount);
}
";
const NAME: &str = "deals";
/// What is in an account at first.
const GOLD: i32 = 1000;
const WARM_UP_TICKS: usize = 3;
