//! A crowd within one area of interest: each client chooses the nearest of all others.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use gpu_kernels::{Frame, Stage};
use program::note;
use shared::world::mix::mix;
use shared::{Tick, WorldConfig};

mod flash;

use super::backends::{BASELINE, BackendOptions, Candidate};
use super::checks::{ensure_nothing_dropped, ensure_same};
use super::clients::ClientCounts;
use super::fight::Delivered;
use super::moves::Moves;
use crate::bench::Bench;
use crate::options::at_least_one;
use crate::report::markdown::{head, line, number, title};
use crate::report::{Recorder, Report, Row, Sample};

/// A crowd. Fails where two backends disagree on the state or on the deliveries of a tick.
pub struct Crowd;

/// A crowd: all clients within one area of interest, and all move
///
/// Each client's known set is the nearest of all others, so the interest stage compares everybody
/// with everybody. Known clients count as nearer by a twentieth of the area. The bench
/// fails if a backend disagrees with the baseline, the cpu backend on one thread, on the
/// state or the deliveries of any tick that both run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 2000,50000
    #[arg(long, default_value = "2000,50000", value_name = "RANGE|LIST")]
    clients: ClientCounts,
    /// The size of a client's known set
    #[arg(long, default_value_t = 256, value_name = "N")]
    visible_max: u32,
    /// Timed ticks
    #[arg(long, default_value = "20", value_name = "N", value_parser = at_least_one)]
    runs: usize,
    /// Timed ticks of the baseline; 0: none, and backends are compared with the first one
    #[arg(long, default_value = "1", value_name = "N")]
    baseline_runs: usize,
    /// In place of the crowd, flash crowds: half of so many clients move into one area within 5 s
    #[arg(long, value_name = "RANGE|LIST")]
    flash: Option<ClientCounts>,
    #[command(flatten)]
    backends: BackendOptions,
}

impl Bench for Crowd {
    const NAME: &'static str = NAME;

    type Options = Options;

    fn measure(options: &Options, recorder: &mut Recorder) -> anyhow::Result<()> {
        if let Some(flash) = &options.flash {
            for &clients in &flash.0 {
                let rows = flash::measure(clients, options.visible_max, &options.backends);
                recorder.add(rows.with_context(|| format!("a flash of {clients} clients"))?)?;
            }
            return Ok(());
        }
        for &clients in &options.clients.0 {
            let rows = measure(clients, options).with_context(|| format!("{clients} clients"))?;
            recorder.add(rows)?;
        }
        Ok(())
    }

    fn tables(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
        flash::write(report, out)?;
        let rows = report.rows.iter().filter(|row| row.scenario == NAME);
        if rows.clone().count() == 0 {
            return Ok(());
        }
        title(out, "A crowd in one area of interest")?;
        writeln!(
            out,
            "Times in milliseconds, medians. baseline: {}. {}\n",
            BASELINE.approach,
            report.origin()
        )?;
        let mut header = COUNTS.to_vec();
        header.extend(["backend", "threads", "total", "deviation"]);
        header.extend(Stage::ALL.map(Stage::name));
        head(out, &header)?;
        for row in rows {
            let mut cells = COUNTS.map(|name| row.cell(name)).to_vec();
            cells.extend([
                row.backend.clone(),
                row.cell("threads"),
                number(Some(row.total_ms)),
                number(Some(row.total_ms_deviation)),
            ]);
            cells.extend(Stage::ALL.map(|stage| number(row.stage(stage.name()))));
            line(out, &cells)?;
        }
        Ok(())
    }
}

/// The state's hash after a tick, and its deliveries.
type Outcome = (u64, Delivered);

/// A row for the baseline and one for each backend.
fn measure(clients: u32, options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    let mut expected: Vec<Outcome> = vec![];
    let is_wanted = |candidate: &Candidate| !candidate.is_baseline() || options.baseline_runs > 0;
    for candidate in options.backends.candidates().filter(is_wanted) {
        let runs = match candidate.is_baseline() {
            true => options.baseline_runs,
            false => options.runs,
        };
        let (samples, outcomes) = sample(clients, options, &candidate, WARM_UP_TICKS + runs)?;
        ensure_same(&candidate, &outcomes, &expected)?;
        let common = match options.baseline_runs {
            0 => options.runs,
            baseline => options.runs.min(baseline),
        };
        let common = WARM_UP_TICKS + common;
        let (state, delivered) = outcomes[common - 1];
        let samples = &samples[WARM_UP_TICKS..];
        let mut row = Row::of(NAME, candidate.name, candidate.approach, samples);
        row.put("clients", clients);
        row.put("visible_max", options.visible_max);
        row.put("threads", candidate.threads);
        if candidate.gpus > 1 {
            row.put("gpus", candidate.gpus);
        }
        row.put("deliveries", delivered.total());
        row.put("enters", delivered.enters);
        row.put("leaves", delivered.leaves);
        row.work = delivered.total();
        row.checksum = format!("{:016x}", mix(state, delivered.sum));
        note!(
            "crowd, {clients} clients, {}: {:.3} ms, of these {:.3} for interest",
            row.backend,
            row.total_ms,
            row.stage(Stage::Interest.name()).unwrap_or_default()
        );
        rows.push(row);
        if expected.is_empty() {
            expected = outcomes;
        }
    }
    Ok(rows)
}

/// Time, state hash and deliveries of each tick of a new crowd.
fn sample(
    clients: u32,
    options: &Options,
    candidate: &Candidate,
    ticks: usize,
) -> anyhow::Result<(Vec<Sample>, Vec<Outcome>)> {
    let config = config(clients, options.visible_max, options.backends.run.seed())?;
    let mut backend = candidate.start(&config)?;
    let mut frame = Frame::new(Tick(0));
    frame.populate(&config);
    let births = backend.tick(&frame)?;
    let mut moves = Moves::after_births(&config, &births)?;
    drop(births);
    let (mut samples, mut outcomes) = (vec![], vec![]);
    for _ in 0..ticks {
        let frame = moves.next_frame();
        let begin = std::time::Instant::now();
        let output = backend.tick(frame).context("the tick failed")?;
        samples.push(Sample::of(&output, begin.elapsed()));
        ensure_nothing_dropped(&output)?;
        outcomes.push((output.hash.combined(), Delivered::by(&output)));
    }
    Ok((samples, outcomes))
}

/// A world whose diagonal is shorter than the radius of the area of interest.
fn config(clients: u32, visible_max: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let text = format!(
        r#"
        [world]
        name = "crowd"
        size = [100, 100]
        aoi = 150
        aoi_leave = 157.5
        capacity = {clients}
        seed = {seed}
        visible_max = {visible_max}

        [limits]
        clients = {clients}

        [commands]
        move = {{ speed_max = 1 }}

        [[kind]]
        name = "player"
        population = {clients}
        "#
    );
    Ok(world_file::parse(&text, "the world of the crowd")?)
}

const NAME: &str = "crowd";
/// After these all clients know what they see, and both output buffers are written.
const WARM_UP_TICKS: usize = 3;
/// The figures of a tick, as parameters of a row.
const COUNTS: [&str; 5] = ["clients", "visible_max", "deliveries", "enters", "leaves"];
