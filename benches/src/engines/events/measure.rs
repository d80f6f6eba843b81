use std::time::Instant;

use engines::events::parallel::Windows;
use engines::events::{ApproximateTorus, Parallel, Phold, Sequential, Torus};

use super::calendar::CalendarQueue;
use super::cuda;
use super::options::{BackendName, Options};
use super::scenario::{Run, SERVICE, Scenario, UNIT};
use crate::report::Row;

/// The paper's network on all backends: figures 11 to 13, table 2.
pub fn torus(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for &side in &options.sides {
        for &lookahead in &options.lookaheads {
            let model = network(side, options.run.seed(), SERVICE, lookahead)?;
            // Half of the servers are busy.
            let rate = f64::from(side * side) / f64::from(2 * SERVICE);
            let mut scenario = Scenario::new("torus", options, rate);
            scenario.param("side", side).param("lookahead", lookahead);
            let on_cpu = scenario.run_on_cpu(&model, options)?;
            if options.backends.contains(&BackendName::Cuda) {
                let expected = scenario.checksum(&model, options, &on_cpu)?;
                rows.extend(cuda::torus(&scenario, &model, options, &expected)?);
            }
            rows.extend(on_cpu);
        }
    }
    Ok(rows)
}

pub fn phold(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for remote in [100_000, 1_000_000] {
        let n = options.processes;
        let model = Phold::new(n, options.run.seed(), SERVICE * UNIT, UNIT, remote)?;
        let rate = f64::from(n) / f64::from(SERVICE);
        let mut scenario = Scenario::new("phold", options, rate);
        scenario
            .param("processes", n)
            .param("remote_percent", remote / 10_000);
        let on_cpu = scenario.run_on_cpu(&model, options)?;
        if options.backends.contains(&BackendName::Cuda) {
            let expected = scenario.checksum(&model, options, &on_cpu)?;
            rows.push(cuda::phold(&scenario, &model, &expected)?);
        }
        rows.extend(on_cpu);
    }
    Ok(rows)
}

/// The effect of the modified service time on the statistics: figures 14 and 15.
pub fn accuracy(options: &Options) -> anyhow::Result<Vec<Row>> {
    let side = 64;
    let mut rows = vec![];
    for mean in [10, 20] {
        // 0 becomes one tick, which is nearly no lookahead.
        for lookahead in std::iter::once(0).chain(options.lookaheads.iter().copied()) {
            let model = network(side, options.run.seed(), mean, lookahead)?;
            let rate = f64::from(side * side) / f64::from(2 * mean);
            let units = (options.events as f64 / rate).ceil() as u32;
            let (from, until) = (SETTLED * UNIT, (SETTLED + units).min(50_000) * UNIT);
            let mut run = Sequential::<_, CalendarQueue>::new(&model);
            run.run(from, |_| ());
            let start = run.snapshot();
            let begin = Instant::now();
            let progress = run.run(until, |_| ());
            let time = begin.elapsed();
            let end = run.snapshot();
            let stay = (end.tally.stay - start.tally.stay) as f64
                / (end.tally.arrivals - start.tally.arrivals) as f64;
            let busy = model.busy(until, &end.processes, &end.tally)
                - model.busy(from, &start.processes, &start.tally);
            let all = f64::from(until - from) * f64::from(side * side);
            let mut scenario = Scenario::new("accuracy", options, rate);
            scenario
                .param("side", side)
                .param("lookahead", lookahead)
                .param("mean", mean)
                .param("stay", stay / f64::from(UNIT))
                .param("utilization", busy as f64 / all);
            let hash = end.hash::<Torus>();
            let run = Run {
                time,
                progress,
                hash,
            };
            rows.push(scenario.row(BackendName::Calendar, "calendar queue", 1, &run));
        }
    }
    Ok(rows)
}

/// Approximate time: table 1.
pub fn causality_errors(options: &Options) -> anyhow::Result<Vec<Row>> {
    let mut rows = vec![];
    for &side in &options.sides {
        for &lookahead in options.lookaheads.iter().filter(|&&d| d <= 500) {
            let model = ApproximateTorus(network(side, options.run.seed(), SERVICE, lookahead)?);
            let rate = f64::from(side * side) / f64::from(2 * SERVICE);
            let scenario = &mut Scenario::new("errors", options, rate);
            let begin = Instant::now();
            let mut run = Parallel::with_windows(&model, options.run.threads(), Windows::Slots)?;
            let progress = run.run(scenario.until.min(50_000 * UNIT));
            let time = begin.elapsed();
            let end = run.snapshot();
            scenario.param("side", side).param("lookahead", lookahead);
            scenario.param("errors", end.tally.errors);
            let run = Run {
                time,
                progress,
                hash: end.hash::<ApproximateTorus>(),
            };
            let threads = options.run.threads();
            rows.push(scenario.row(BackendName::Cpu, "slots of time", threads, &run));
        }
    }
    Ok(rows)
}

fn network(side: u32, seed: u64, mean: u32, lookahead: u32) -> anyhow::Result<Torus> {
    let ticks = (u64::from(lookahead) * u64::from(UNIT) / 1000).max(1) as u32;
    Ok(Torus::new(side, seed, mean * UNIT, ticks)?)
}

/// Units until queues have their final mean length.
const SETTLED: u32 = 1000;
