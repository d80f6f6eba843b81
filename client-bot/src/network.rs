//! Options of programs: a bad network on purpose.

use std::time::Duration;

use clap::Args;
use quic::faults::NetworkError;
use quic::{Faults, Network};

#[derive(Clone, Debug, Args)]
pub struct NetworkArguments {
    /// Network of the bots, and of pages that a demo serves: lte, 5g-handover, wifi-microwave,
    /// satellite, geostationary, or a file with a trace
    #[arg(long, value_name = "NAME", conflicts_with_all = FAULTS)]
    network: Option<String>,
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
    /// Bandwidth of each socket of the bots, and of each page, in kbit/s, each way; 0: not bounded
    #[arg(long, value_name = "KBIT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=10_000_000))]
    bandwidth: u32,
    /// Milliseconds that packets wait for the bandwidth before they are lost
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(..=10_000))]
    buffer: u64,
}

impl NetworkArguments {
    /// The network, which may be in a file.
    pub fn network(&self) -> Result<Network, NetworkError> {
        if let Some(name) = &self.network {
            return Network::named(name);
        }
        let faults = Faults {
            loss: self.loss / 100.0,
            duplication: self.duplicate / 100.0,
            delay: Duration::from_millis(self.delay),
            jitter: Duration::from_millis(self.jitter),
            rate: self.bandwidth.saturating_mul(125),
            buffer: match self.bandwidth {
                0 => Duration::ZERO,
                _ => Duration::from_millis(self.buffer),
            },
            ..Faults::default()
        };
        Ok(faults.into())
    }
}

/// Parses a percentage.
fn percentage(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err("expected a number from 0 to 100".to_owned()),
    }
}

/// Options that a named network has for itself.
const FAULTS: [&str; 6] = [
    "loss",
    "duplicate",
    "delay",
    "jitter",
    "bandwidth",
    "buffer",
];
