use std::fmt;

use clap::{Args, ValueEnum};

use super::scenario::{Kind, Scenario};
use crate::options::{RunOptions, at_least_one};

/// Region matching: the paper's scenarios, larger ones, and hard ones
///
/// Times are those of whole steps: from updated regions in host memory to pairs gained
/// and lost in host memory. The baselines find all pairs from scratch. The paper's figures
/// 5 to 12 go to standard output, as tables. The bench fails if two ways find different
/// pairs.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Suites of scenarios
    #[arg(
        long,
        default_value = "paper,scale,hard",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub suites: Vec<Suite>,
    /// Leaves out scenarios with more regions
    #[arg(long, default_value = "1000000", value_name = "N")]
    pub regions_max: u32,
    /// Steps after the first, which adds all regions
    #[arg(long, default_value = "30", value_name = "N", value_parser = at_least_one)]
    pub steps: usize,
    /// Backends to measure
    #[arg(
        long = "backend",
        default_value = "baseline,cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// On one thread: all pairs, sort-based matching, a strip grid
    Baseline,
    /// The engine for CPUs
    Cpu,
    /// The engine for NVIDIA GPUs
    Cuda,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// The paper's scenarios I and II
    Paper,
    /// 100,000 to 10,000,000 regions; a step updates 1, 10 or 100 %
    Scale,
    /// Mixed sizes, one region over all, all over all
    Hard,
}

impl Options {
    pub fn scenarios(&self) -> Vec<Scenario> {
        let suites = [Suite::Paper, Suite::Scale, Suite::Hard];
        let chosen = suites.into_iter().filter(|s| self.suites.contains(s));
        let scenarios = chosen.flat_map(Suite::scenarios);
        scenarios
            .filter(|s| s.regions <= self.regions_max)
            .collect()
    }
}

impl Suite {
    fn scenarios(self) -> Vec<Scenario> {
        let scenario = |kind, field, side, regions, updated| Scenario {
            kind,
            field,
            side,
            regions,
            updated,
        };
        let mut all = vec![];
        match self {
            Suite::Paper => {
                for kind in [Kind::Uniform, Kind::Crowded] {
                    for side in [10, 100] {
                        for regions in [2048, 4096, 8192, 16_384, 32_768] {
                            all.push(scenario(kind, 10_000, side, regions, 100));
                        }
                    }
                }
            }
            Suite::Scale => {
                for (regions, field) in
                    [(100_000, 10_000), (1_000_000, 10_000), (10_000_000, 31_623)]
                {
                    for updated in [1, 10, 100] {
                        all.push(scenario(Kind::Uniform, field, 10, regions, updated));
                    }
                }
            }
            Suite::Hard => {
                all.push(scenario(Kind::Mixed, 10_000, 1000, 20_000, 100));
                all.push(scenario(Kind::OneOverAll, 10_000, 10, 100_000, 100));
                all.push(scenario(Kind::Crowded, 1000, 10, 100_000, 100));
                for regions in [4096, 16_384] {
                    all.push(scenario(Kind::AllOverAll, 10_000, 6000, regions, 100));
                }
            }
        }
        all
    }
}

impl BackendName {
    pub fn name(self) -> &'static str {
        match self {
            BackendName::Baseline => "baseline",
            BackendName::Cpu => "cpu",
            BackendName::Cuda => "cuda",
        }
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
