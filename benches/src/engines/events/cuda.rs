//! Timed events on a GPU.

pub use here::{phold, selection, torus};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use std::time::{Duration, Instant};

    use anyhow::{Context, ensure};
    use engines::events::cuda::{CudaPhold, CudaTorus, Selection, SelectionTrial};
    use engines::events::{Phold, Torus};
    use shared::world::mix::mix;

    use crate::cuda::GPU;
    use crate::engines::events::NAME;
    use crate::engines::events::options::{BackendName, Options};
    use crate::engines::events::scenario::{Run, Scenario, UNIT, WARM_UP, checksum, say};
    use crate::report::Row;

    /// Runs of `options.until` units with the best selection, and on the largest network
    /// with the others too. Fails if a shorter run ends in another state than on CPUs.
    pub fn torus(
        scenario: &Scenario,
        model: &Torus,
        options: &Options,
        expected: &str,
    ) -> anyhow::Result<Vec<Row>> {
        let is_largest = options.sides.iter().all(|&side| side <= model.side);
        let mut rows = vec![];
        for selection in Selection::ALL {
            if selection != Selection::Local && !is_largest {
                continue;
            }
            let mut gpu = CudaTorus::new(GPU, model, selection)?;
            gpu.run(scenario.until)?;
            ensure!(
                checksum(gpu.snapshot()?.hash::<Torus>()) == expected,
                "{:?}: the GPU ended in another state with {selection:?}",
                scenario.params
            );
            gpu.restart()?;
            let begin = Instant::now();
            let progress = gpu.run(options.until * UNIT)?;
            let time = begin.elapsed();
            let run = Run {
                time,
                progress,
                hash: gpu.snapshot()?.hash::<Torus>(),
            };
            let approach = format!("windows, {} selection", selection.name());
            let mut row = scenario.row(BackendName::Cuda, &approach, 1, &run);
            let names = ["selection", "departures", "arrivals"];
            row.stages_ms = names
                .into_iter()
                .zip(gpu.shares())
                .map(|(name, share)| (name.to_owned(), share * row.total_ms))
                .collect();
            row.params.insert("until".to_owned(), options.until.into());
            row.params
                .insert("selection".to_owned(), selection.name().into());
            say(&row);
            rows.push(row);
        }
        let agree = rows
            .windows(2)
            .all(|pair| pair[0].checksum == pair[1].checksum);
        ensure!(agree, "ways of selection ended in different states");
        Ok(rows)
    }

    pub fn phold(scenario: &Scenario, model: &Phold, expected: &str) -> anyhow::Result<Row> {
        let mut gpu = CudaPhold::new(GPU, model)?;
        gpu.run(WARM_UP * UNIT)?;
        let begin = Instant::now();
        let progress = gpu.run(scenario.until)?;
        let run = Run {
            time: begin.elapsed(),
            progress,
            hash: gpu.snapshot()?.hash::<Phold>(),
        };
        ensure!(
            checksum(run.hash) == expected,
            "{:?}: the GPU ended in another state",
            scenario.params
        );
        let row = scenario.row(BackendName::Cuda, "windows, sorted", 1, &run);
        say(&row);
        Ok(row)
    }

    /// The ways of selection by themselves: figure 10.
    pub fn selection(options: &Options) -> anyhow::Result<Vec<Row>> {
        let trial = SelectionTrial::new(GPU, NUMBERS, options.run.seed());
        let trial = trial.context("selection needs a GPU")?;
        let mut rows = vec![];
        for percent in (0..=100).step_by(10) {
            let ways = [Selection::Atomic, Selection::Scan, Selection::Hybrid];
            let ways = ways.map(|selection| select(&trial, selection, percent, options));
            let ways: Vec<Row> = ways.into_iter().collect::<anyhow::Result<_>>()?;
            for row in &ways {
                ensure!(
                    row.checksum == ways[0].checksum,
                    "{} selected {} numbers, {} {}",
                    row.approach,
                    row.work,
                    ways[0].approach,
                    ways[0].work
                );
            }
            rows.extend(ways);
        }
        Ok(rows)
    }

    /// One way to select this share of the numbers.
    fn select(
        trial: &SelectionTrial,
        selection: Selection,
        percent: u64,
        options: &Options,
    ) -> anyhow::Result<Row> {
        let bound = (u64::from(u32::MAX) * percent / 100) as u32;
        let mut times = vec![];
        for _ in 0..SELECTIONS {
            let ms = trial.select(selection, bound)?;
            times.push(Duration::from_secs_f64(f64::from(ms) / 1e3));
        }
        let selected = trial.selected()?;
        let hashes = selected.iter().map(|&i| mix(7, u64::from(i)));
        let mut row = Row::new(NAME, BackendName::Cuda.name(), selection.name(), times);
        row.params = Scenario::new("selection", options, 1.0).params;
        row.put("numbers", NUMBERS);
        row.put("selected_percent", percent);
        row.put("threads", 1);
        row.put("windows", 0);
        row.work = selected.len() as u64;
        row.checksum = checksum(hashes.fold(0, u64::wrapping_add));
        Ok(row)
    }

    const NUMBERS: u32 = 1 << 24;
    const SELECTIONS: usize = 20;
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod here {
    use engines::events::{Phold, Torus};

    use crate::cuda::unavailable;
    use crate::engines::events::options::Options;
    use crate::engines::events::scenario::Scenario;
    use crate::report::Row;

    pub fn torus(_: &Scenario, _: &Torus, _: &Options, _: &str) -> anyhow::Result<Vec<Row>> {
        unavailable()
    }

    pub fn phold(_: &Scenario, _: &Phold, _: &str) -> anyhow::Result<Row> {
        unavailable()
    }

    pub fn selection(_: &Options) -> anyhow::Result<Vec<Row>> {
        unavailable()
    }
}
