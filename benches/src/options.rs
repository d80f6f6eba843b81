//! Options that several benches have.

use clap::Args;

pub use client_bot::cli::{at_least_one, not_zero, threads};

/// Options of benches that run something on CPUs.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Threads of the cpu backend [default: one per core]
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<usize>,
    #[command(flatten)]
    random: SeedOption,
}

/// The option of benches with random input.
#[derive(Args, Clone, Copy, Debug)]
pub struct SeedOption {
    /// Seed of all random numbers
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,
}

/// The option of benches that divide work among GPUs.
#[derive(Args, Clone, Copy, Debug)]
pub struct GpusOption {
    /// GPUs that the cuda backend runs on, from the first on
    #[arg(long, default_value = "1", value_name = "N", value_parser = gpus)]
    pub gpus: u32,
}

/// A number of GPUs.
pub fn gpus(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(gpus @ 1..=16) => Ok(gpus),
        _ => Err("expected 1 to 16".to_owned()),
    }
}

impl RunOptions {
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.threads.unwrap_or_else(cores)
    }

    pub fn seed(&self) -> u64 {
        self.random.seed
    }
}
