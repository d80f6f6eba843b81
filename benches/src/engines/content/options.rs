use clap::{Args, ValueEnum};

use super::scenario::Group;
use crate::options::{RunOptions, at_least_one};

/// Content matching, in the scenarios of Margara and Cugola's paper
///
/// Tables go to standard output. The bench fails if two ways find different subscribers
/// for the notifications that all of them match.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Groups of scenarios
    #[arg(long = "only", value_delimiter = ',', value_name = "LIST", default_values_t = Group::ALL, value_enum)]
    pub groups: Vec<Group>,
    /// Ways to match
    #[arg(
        long = "backend",
        default_value = "baseline,cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    /// Measuring time in seconds, for each way in each mode of a scenario
    #[arg(long, default_value = "0.5", value_name = "S", value_parser = seconds)]
    pub seconds: f64,
    #[command(flatten)]
    pub run: RunOptions,
    /// Divides the number of filters, for a short run
    #[arg(long, default_value = "1", value_name = "N", value_parser = at_least_one)]
    pub divide: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// On one thread: counting as SFF does, subsets of names by hash, the a-tree crate
    Baseline,
    /// Ours, and the paper's way, on CPUs
    Cpu,
    /// Ours, and the paper's way, on an NVIDIA GPU
    Cuda,
    /// Ours, on CPUs or on the GPU, by the cost of each batch
    Auto,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.001..=600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0.001 to 600".to_owned()),
    }
}
