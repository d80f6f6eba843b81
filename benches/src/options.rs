//! Options that several benches have.

use std::num::NonZeroUsize;

use clap::Args;

/// Options of benches that run something on CPUs.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Threads of the cpu backend [default: one per core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
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

impl RunOptions {
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.threads.unwrap_or_else(cores)
    }

    pub fn seed(&self) -> u64 {
        self.random.seed
    }
}

/// Parses a number that is not 0.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    not_zero(text).map(NonZeroUsize::get)
}

/// The same, for those who need to know that it is none.
pub fn not_zero(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse();
    number.map_err(|_| "expected a whole number of at least 1".to_owned())
}
