use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use engines::regions::{
    Approach, Batch, CpuRegions, Metrics, Pair, Region, RegionEngine, RegionsConfig, Side,
};
use shared::world::mix::mix;

use super::baseline::Baseline;
use super::options::{BackendName, Options};
use super::scenario::{Kind, Motion, Scenario};
use crate::cuda;
use crate::report::statistics::Summary;

/// A way to match, and the names of its rows.
pub struct Subject {
    pub backend: BackendName,
    pub approach: &'static str,
    pub threads: usize,
    pub way: Box<dyn Way>,
}

/// One way to match.
pub trait Way {
    /// Applies the motion's last step; this is not timed.
    fn prepare(&mut self, motion: &Motion) -> anyhow::Result<()>;
    /// Runs the prepared step and returns its time.
    fn step(&mut self) -> anyhow::Result<Duration>;
    /// The number of overlapping pairs, and the sum of their hashes.
    fn checksum(&self) -> (u64, u64);

    /// The number of pairs that the last step gained and lost; 0 if unknown.
    fn changed(&self) -> u64 {
        0
    }
    /// The approach of the last step, and the reason for it.
    fn took(&self) -> String {
        String::new()
    }
    /// The median of each stage in milliseconds.
    fn stages(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

/// All ways that the options name and that end in reasonable time.
pub fn all(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Subject>> {
    let mut subjects = vec![];
    for &backend in &options.backends {
        match backend {
            BackendName::Baseline => subjects.extend(baselines(scenario)),
            BackendName::Cpu | BackendName::Cuda => {
                for approach in Approach::ALL {
                    if is_feasible(scenario, backend, approach) {
                        subjects.push(engine(scenario, backend, approach, options)?);
                    }
                }
            }
        }
    }
    Ok(subjects)
}

fn baselines(scenario: &Scenario) -> impl Iterator<Item = Subject> {
    let fits = all_pairs(scenario) <= ALL_PAIRS_MAX;
    let baselines = Baseline::ALL.into_iter();
    let baselines = baselines.filter(move |&b| fits || b != Baseline::AllPairs);
    baselines.map(|baseline| Subject {
        backend: BackendName::Baseline,
        approach: baseline.name(),
        threads: 1,
        way: Box::new(OneThread {
            baseline,
            motion: None,
            pairs: vec![],
        }),
    })
}

fn is_feasible(scenario: &Scenario, backend: BackendName, approach: Approach) -> bool {
    let tests_max = match backend {
        BackendName::Cuda => 1000 * ALL_PAIRS_MAX,
        BackendName::Baseline | BackendName::Cpu => ALL_PAIRS_MAX,
    };
    match approach {
        Approach::Tiles => all_pairs(scenario) <= tests_max,
        // On a CPU: millions of records for each of thousands of cells.
        Approach::Cells => backend != BackendName::Cpu || scenario.kind != Kind::AllOverAll,
        _ => true,
    }
}

fn engine(
    scenario: &Scenario,
    backend: BackendName,
    approach: Approach,
    options: &Options,
) -> anyhow::Result<Subject> {
    let config = scenario.config()?;
    let threads = match backend {
        BackendName::Cpu => options.run.threads(),
        BackendName::Baseline | BackendName::Cuda => 1,
    };
    let mut engine = start(&config, backend, threads)?;
    engine.set_approach(approach);
    Ok(Subject {
        backend,
        approach: approach.name(),
        threads,
        way: Box::new(Engine {
            engine,
            batch: Batch::new(&config, scenario.regions as usize),
            history: History::default(),
        }),
    })
}

fn start(
    config: &RegionsConfig,
    backend: BackendName,
    threads: usize,
) -> anyhow::Result<Box<dyn RegionEngine>> {
    match backend {
        BackendName::Cuda => cuda::regions(config),
        BackendName::Baseline | BackendName::Cpu => Ok(Box::new(CpuRegions::new(config, threads)?)),
    }
}

/// The number of pairs of a publication and a subscription.
fn all_pairs(scenario: &Scenario) -> u64 {
    let half = u64::from(scenario.regions / 2);
    half * half
}

/// A baseline, which finds all pairs from scratch in each step.
struct OneThread {
    baseline: Baseline,
    motion: Option<Motion>,
    pairs: Vec<(u32, u32)>,
}

impl Way for OneThread {
    fn prepare(&mut self, motion: &Motion) -> anyhow::Result<()> {
        self.motion = Some(motion.clone());
        Ok(())
    }

    fn step(&mut self) -> anyhow::Result<Duration> {
        let motion = self.motion.as_ref();
        let motion = motion.context("the step was not prepared")?;
        let begin = Instant::now();
        self.baseline.find(motion, &mut self.pairs);
        Ok(begin.elapsed())
    }

    fn checksum(&self) -> (u64, u64) {
        let hashes = self.pairs.iter().map(|&(p, s)| mix(p.into(), s.into()));
        (self.pairs.len() as u64, hashes.fold(0, u64::wrapping_add))
    }
}

/// An engine, which reports the pairs that each step gained and lost.
struct Engine {
    engine: Box<dyn RegionEngine>,
    batch: Batch,
    history: History,
}

impl Way for Engine {
    fn prepare(&mut self, motion: &Motion) -> anyhow::Result<()> {
        self.batch.clear();
        for side in [Side::Publication, Side::Subscription] {
            for &number in &motion.moved[side as usize] {
                let bounds = &motion.sides[side as usize][number as usize];
                let region = Region { side, number };
                match motion.step {
                    0 => self.batch.add(region, bounds)?,
                    _ => self.batch.modify(region, bounds)?,
                }
            }
        }
        Ok(())
    }

    fn step(&mut self) -> anyhow::Result<Duration> {
        let begin = Instant::now();
        let changes = self.engine.step(&self.batch)?;
        let total = begin.elapsed();
        ensure!(changes.gained.is_sorted() && changes.lost.is_sorted());
        self.history
            .add(changes.gained, changes.lost, changes.metrics);
        Ok(total)
    }

    fn checksum(&self) -> (u64, u64) {
        (self.history.pairs, self.history.sum)
    }

    fn changed(&self) -> u64 {
        let metrics = &self.history.metrics;
        metrics.gained + metrics.lost
    }

    fn took(&self) -> String {
        let metrics = &self.history.metrics;
        format!("{}: {}", metrics.approach.name(), metrics.reason)
    }

    fn stages(&self) -> BTreeMap<String, f64> {
        let stages = Metrics::STAGES.iter().enumerate().map(|(i, name)| {
            let times = self.history.stages.iter().map(|stages| stages[i]);
            (name.to_string(), Summary::of(times).median)
        });
        stages.collect()
    }
}

/// The sum of an engine's steps.
#[derive(Default)]
struct History {
    steps: u64,
    /// The number of overlapping pairs.
    pairs: u64,
    /// The sum of their hashes.
    sum: u64,
    /// The metrics of the last step.
    metrics: Metrics,
    /// The times of each timed step's stages.
    stages: Vec<[Duration; Metrics::STAGES.len()]>,
}

impl History {
    fn add(&mut self, gained: &[Pair], lost: &[Pair], metrics: Metrics) {
        let sum = |pairs: &[Pair]| {
            let hashes = pairs
                .iter()
                .map(|p| mix(p.publication().into(), p.subscription().into()));
            hashes.fold(0, u64::wrapping_add)
        };
        self.pairs = (self.pairs + gained.len() as u64).wrapping_sub(lost.len() as u64);
        self.sum = self.sum.wrapping_add(sum(gained)).wrapping_sub(sum(lost));
        self.metrics = metrics;
        // The first step adds all regions and is not timed.
        if self.steps > 0 {
            self.stages.push(metrics.stages);
        }
        self.steps += 1;
    }
}

/// With more pairs, testing all of them on a CPU takes too long.
const ALL_PAIRS_MAX: u64 = 300_000_000;
