//! Options of programs: a bad network on purpose.

use std::time::Duration;

use clap::Args;
use quic::Faults;

use crate::cli::percentage;

#[derive(Clone, Copy, Debug, Args)]
pub struct NetworkArguments {
    /// Percentage of packets that the bots lose on purpose, each way
    #[arg(long, default_value_t = 0.0, value_parser = percentage)]
    loss: f64,
    /// Percentage of packets that arrive twice, each way
    #[arg(long, default_value_t = 0.0, value_parser = percentage)]
    duplicate: f64,
    /// Milliseconds that each packet takes, each way
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=10_000))]
    delay: u64,
    /// Up to so many milliseconds more, evenly: packets overtake each other
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=10_000))]
    jitter: u64,
}

impl NetworkArguments {
    pub fn faults(&self) -> Faults {
        Faults {
            loss: self.loss / 100.0,
            duplication: self.duplicate / 100.0,
            delay: Duration::from_millis(self.delay),
            jitter: Duration::from_millis(self.jitter),
        }
    }
}
