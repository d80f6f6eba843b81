use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use gpu_kernels::regions::{
    Approach, Batch, CpuRegions, Metrics, Pair, Region, RegionEngine, RegionsConfig, Side,
};
use shared::mix::mix;

use super::baseline::Baseline;
use super::scenario::{Kind, Motion};
use super::{BackendName, Options, Scenario};

/// One way of matching.
pub struct Subject {
    pub backend: BackendName,
    pub approach: &'static str,
    pub threads: usize,
    way: Way,
}

enum Way {
    Baseline(Baseline, Box<Afresh>),
    Engine(Box<dyn RegionEngine>, Batch, Box<Ledger>),
}

/// What a baseline works on.
struct Afresh {
    motion: Option<Motion>,
    pairs: Vec<(u32, u32)>,
}

/// What an engine said.
#[derive(Default)]
struct Ledger {
    steps: u64,
    pairs: u64,
    sum: u64,
    metrics: Metrics,
    stages: Vec<[Duration; Metrics::STAGES.len()]>,
}

/// All ways that were asked for and can be waited for.
pub fn all(scenario: &Scenario, options: &Options) -> anyhow::Result<Vec<Subject>> {
    let config = scenario.config()?;
    let mut subjects = vec![];
    for &backend in &options.backends {
        match backend {
            BackendName::Baseline => {
                let half = u64::from(scenario.regions / 2);
                for baseline in Baseline::ALL {
                    if baseline == Baseline::AllPairs && half * half > ALL_PAIRS_MAX {
                        continue;
                    }
                    let afresh = Afresh {
                        motion: None,
                        pairs: vec![],
                    };
                    subjects.push(Subject {
                        backend,
                        approach: baseline.name(),
                        threads: 1,
                        way: Way::Baseline(baseline, Box::new(afresh)),
                    });
                }
            }
            BackendName::Cpu | BackendName::Cuda => {
                for approach in Approach::ALL {
                    let half = u64::from(scenario.regions / 2);
                    let tests_max = match backend {
                        BackendName::Cuda => 1000 * ALL_PAIRS_MAX,
                        BackendName::Baseline | BackendName::Cpu => ALL_PAIRS_MAX,
                    };
                    let far = half * half > tests_max;
                    if approach == Approach::Tiles && far {
                        continue;
                    }
                    // Millions of records for each of thousands of cells.
                    if approach == Approach::Cells
                        && backend == BackendName::Cpu
                        && scenario.kind == Kind::AllOverAll
                    {
                        continue;
                    }
                    subjects.push(engine(&config, backend, approach, scenario, options)?);
                }
            }
        }
    }
    Ok(subjects)
}

fn engine(
    config: &RegionsConfig,
    backend: BackendName,
    approach: Approach,
    scenario: &Scenario,
    options: &Options,
) -> anyhow::Result<Subject> {
    let threads = match backend {
        BackendName::Cpu => options.run.threads(),
        BackendName::Baseline | BackendName::Cuda => 1,
    };
    let batch = Batch::new(config, scenario.regions as usize);
    let mut engine = start(config, backend, threads)?;
    engine.set_approach(approach);
    Ok(Subject {
        backend,
        approach: approach.name(),
        threads,
        way: Way::Engine(engine, batch, Box::default()),
    })
}

fn start(
    config: &RegionsConfig,
    backend: BackendName,
    threads: usize,
) -> anyhow::Result<Box<dyn RegionEngine>> {
    match backend {
        BackendName::Cuda => start_cuda(config),
        BackendName::Baseline | BackendName::Cpu => Ok(Box::new(CpuRegions::new(config, threads)?)),
    }
}

impl Subject {
    /// Gets ready for the motion's last step, which doesn't count.
    pub fn prepare(&mut self, motion: &Motion) -> anyhow::Result<()> {
        match &mut self.way {
            Way::Baseline(_, afresh) => {
                afresh.motion = Some(motion.clone());
            }
            Way::Engine(_, batch, _) => {
                batch.clear();
                for side in [Side::Publication, Side::Subscription] {
                    for &number in &motion.moved[side as usize] {
                        let bounds = &motion.sides[side as usize][number as usize];
                        let region = Region { side, number };
                        match motion.step {
                            0 => batch.add(region, bounds)?,
                            _ => batch.modify(region, bounds)?,
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Matches, and says how long it took.
    pub fn step(&mut self) -> anyhow::Result<Duration> {
        match &mut self.way {
            Way::Baseline(baseline, afresh) => {
                let Some(motion) = &afresh.motion else {
                    anyhow::bail!("a step that was not prepared");
                };
                let begin = Instant::now();
                baseline.find(motion, &mut afresh.pairs);
                Ok(begin.elapsed())
            }
            Way::Engine(engine, batch, ledger) => {
                let begin = Instant::now();
                let changes = engine.step(batch)?;
                let total = begin.elapsed();
                ensure!(changes.gained.is_sorted() && changes.lost.is_sorted());
                ledger.note(changes.gained, changes.lost, changes.metrics);
                Ok(total)
            }
        }
    }

    /// How many pairs overlap, and the sum of their hashes.
    pub fn checksum(&self) -> (u64, u64) {
        match &self.way {
            Way::Baseline(_, afresh) => {
                let hashes = afresh.pairs.iter().map(|&(p, s)| mix(p.into(), s.into()));
                (afresh.pairs.len() as u64, hashes.fold(0, u64::wrapping_add))
            }
            Way::Engine(_, _, ledger) => (ledger.pairs, ledger.sum),
        }
    }

    /// What the last step gained and lost; the baselines don't know.
    pub fn changed(&self) -> u64 {
        match &self.way {
            Way::Baseline(..) => 0,
            Way::Engine(_, _, ledger) => ledger.metrics.gained + ledger.metrics.lost,
        }
    }

    /// Which approach the last step took, and why.
    pub fn took(&self) -> String {
        match &self.way {
            Way::Baseline(..) => String::new(),
            Way::Engine(_, _, ledger) => {
                let metrics = &ledger.metrics;
                format!("{}: {}", metrics.approach.name(), metrics.reason)
            }
        }
    }

    /// The median of each stage.
    pub fn stages(&self) -> BTreeMap<String, f64> {
        let Way::Engine(_, _, ledger) = &self.way else {
            return BTreeMap::new();
        };
        let stages = Metrics::STAGES.iter().enumerate().map(|(i, name)| {
            let times = ledger.stages.iter().map(|stages| stages[i]);
            let median = crate::report::statistics::Summary::of(times).median;
            (name.to_string(), median)
        });
        stages.collect()
    }
}

impl Ledger {
    fn note(&mut self, gained: &[Pair], lost: &[Pair], metrics: Metrics) {
        let sum = |pairs: &[Pair]| {
            let hashes = pairs
                .iter()
                .map(|p| mix(p.publication().into(), p.subscription().into()));
            hashes.fold(0, u64::wrapping_add)
        };
        self.pairs = (self.pairs + gained.len() as u64).wrapping_sub(lost.len() as u64);
        self.sum = self.sum.wrapping_add(sum(gained)).wrapping_sub(sum(lost));
        self.metrics = metrics;
        // The first step adds all regions: it is not one of those measured.
        if self.steps > 0 {
            self.stages.push(metrics.stages);
        }
        self.steps += 1;
    }
}

/// Beyond this, all pairs on a CPU take too long to be waited for.
const ALL_PAIRS_MAX: u64 = 300_000_000;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &RegionsConfig) -> anyhow::Result<Box<dyn RegionEngine>> {
    anyhow::bail!("the cuda backend needs Linux on x86-64")
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(config: &RegionsConfig) -> anyhow::Result<Box<dyn RegionEngine>> {
    let engine = gpu_kernels::regions::CudaRegions::new(config)?;
    Ok(Box::new(engine))
}
