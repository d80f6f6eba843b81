//! The tick that the server runs: everybody sees by exact distance and remembers whom
//! it saw, everybody moves, and half of them strike, heal or blast.

mod scenario;
mod table;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use gpu_kernels::{Backend, Counts, Delivery, Frame, TickOutput};
use shared::mix::mix;
use shared::{ClientRow, Tick};

use crate::report::{Report, Row, Sample};
use crate::tick::backends::{BASELINE, Candidate, EngineOptions, at_least_one};
use crate::tick::thesis::ClientCounts;
pub use scenario::Fight;
pub use table::show;

/// The tick that the server runs: a fight of everybody, evenly spread
///
/// Exact distance, known sets, and enter, update and leave. Clients stand as dense as
/// 524,288 of them do on a map of 2500 x 2500, where each sees 26 others within 10
/// units. Every backend must agree with the baseline, the cpu backend on one thread, on
/// the state and on all deliveries of every tick that both run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 65536,524288
    #[arg(long, default_value = "4096,65536,524288", value_name = "RANGE|LIST")]
    pub clients: ClientCounts,
    /// Timed ticks
    #[arg(long, default_value = "50", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    /// Timed ticks of the baseline
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    pub baseline_runs: usize,
    #[command(flatten)]
    pub engines: EngineOptions,
    /// Draws the times into this folder, as an SVG file
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
}

/// Measures, writes the table to `out` and returns the report. Fails where two backends
/// disagree.
pub fn run(options: &Options, out: &mut dyn Write) -> anyhow::Result<Report> {
    let mut report = Report::new();
    for &clients in &options.clients.0 {
        let rows = measure(clients, options).with_context(|| format!("{clients} clients"))?;
        report.rows.extend(rows);
    }
    options.engines.run.keep(&report)?;
    show(&report, options.plots.as_deref(), out)?;
    Ok(report)
}

/// What all backends must agree on after a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The state's hash.
    pub state: u64,
    pub told: Told,
    pub counts: Counts,
}

/// A tick's deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    pub updates: u64,
    pub enters: u64,
    pub leaves: u64,
    /// Of (client, delivery), in any order.
    pub sum: u64,
}

impl Outcome {
    pub fn of(output: &TickOutput) -> Outcome {
        Outcome {
            state: output.hash.combined(),
            told: Told::of(output),
            counts: output.counts,
        }
    }
}

impl Told {
    pub fn of(output: &TickOutput) -> Told {
        let mut told = Told::default();
        for client in 0..output.deliveries.clients() as u32 {
            for delivery in output.deliveries.of(ClientRow(client)) {
                match delivery.kind() {
                    Delivery::ENTER => told.enters += 1,
                    Delivery::LEAVE => told.leaves += 1,
                    _ => told.updates += 1,
                }
                let pair = mix(u64::from(client), u64::from(delivery.0));
                told.sum = told.sum.wrapping_add(pair);
            }
        }
        told
    }

    pub fn deliveries(&self) -> u64 {
        self.updates + self.enters + self.leaves
    }
}

/// A world in which everybody is born, and the fight that goes on in it.
pub struct Arena {
    pub backend: Box<dyn Backend>,
    pub fight: Fight,
    /// Of the last tick.
    pub output: Arc<TickOutput>,
}

impl Arena {
    pub fn populated(clients: u32, seed: u64, candidate: &Candidate) -> anyhow::Result<Arena> {
        let config = scenario::config(clients, seed)?;
        let mut backend = candidate.start(&config)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let output = backend.tick(&frame)?;
        ensure!(output.counts.births == u64::from(clients));
        let fight = Fight::after_births(&config, &output);
        Ok(Arena {
            backend,
            fight,
            output,
        })
    }

    /// Runs the next tick: only the backend's work counts.
    pub fn tick(&mut self) -> anyhow::Result<Sample> {
        let frame = self.fight.next_frame(&self.output);
        let begin = Instant::now();
        self.output = self.backend.tick(frame).context("the tick failed")?;
        let total = begin.elapsed();
        ensure_nothing_dropped(&self.output)?;
        Ok(Sample::of(&self.output, total))
    }
}

/// A tick that drops something does less than what is measured.
pub fn ensure_nothing_dropped(output: &TickOutput) -> anyhow::Result<()> {
    let counts = &output.counts;
    let dropped = counts.deliveries_dropped + counts.updates_dropped + counts.commands_dropped;
    ensure!(dropped == 0, "something was dropped: {counts:?}");
    Ok(())
}

/// A row for the baseline and one for each backend.
fn measure(clients: u32, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    let mut expected: Vec<Outcome> = vec![];
    // The last tick that all of them run is what their rows tell of.
    let common = WARM_UP_TICKS + options.runs.min(options.baseline_runs);
    for candidate in options.engines.candidates() {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs,
            false => options.runs,
        };
        let mut arena = Arena::populated(clients, options.engines.run.seed, &candidate)?;
        let (mut samples, mut outcomes) = (vec![], vec![]);
        for _ in 0..WARM_UP_TICKS + runs {
            samples.push(arena.tick()?);
            outcomes.push(Outcome::of(&arena.output));
        }
        for (i, (found, expected)) in outcomes.iter().zip(&expected).enumerate() {
            ensure!(
                found == expected,
                "after tick {}, {} has {found:x?} where {} has {expected:x?}",
                i + 1,
                candidate.name,
                BASELINE.name,
            );
        }
        let row = row(
            clients,
            &candidate,
            &samples[WARM_UP_TICKS..],
            &outcomes[common - 1],
        );
        eprintln!(
            "fight, {clients} clients, {}: {:.3} ms",
            row.backend, row.total_ms
        );
        rows.push(row);
        if expected.is_empty() {
            expected = outcomes;
        }
    }
    Ok(rows)
}

fn row(clients: u32, candidate: &Candidate, samples: &[Sample], outcome: &Outcome) -> Row {
    let Outcome {
        state,
        told,
        counts,
    } = outcome;
    let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
    row.put("clients", clients);
    row.put("threads", candidate.threads);
    row.put("output", "pairs");
    row.put("commands", counts.commands);
    row.put("updates", counts.updates);
    row.put("changes", counts.changes);
    row.put("deliveries", told.deliveries());
    row.put("enters", told.enters);
    row.put("leaves", told.leaves);
    row.work = told.deliveries();
    row.checksum = format!("{:016x}", mix(*state, told.sum));
    row
}

/// What rows of this bench are called.
pub const NAME: &str = "fight";
/// Everybody has entered, and both output buffers have been written.
const WARM_UP_TICKS: usize = 4;
