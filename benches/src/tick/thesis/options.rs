use clap::{Args, ValueEnum};

use crate::options::{GpusOption, RunOptions, at_least_one};
use crate::tick::clients::ClientCounts;

/// The scenarios of the thesis's chapter 4, beside its times of 2007
///
/// Every client moves once a tick, and each change is delivered to all clients in the
/// neighbouring buckets. Tables 4-5 to 4-12 go to standard output. The bench fails if
/// two backends deliver different things.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 65536,524288
    #[arg(long, default_value = "512..524288", value_name = "RANGE|LIST")]
    pub clients: ClientCounts,
    /// Sides of the square map in units
    #[arg(long, default_value = "2500,5000", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=262_143))]
    pub maps: Vec<u32>,
    /// AOI radii in units; each is also the edge of the buckets
    #[arg(long, default_value = "10,20", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=262_143))]
    pub aois: Vec<u32>,
    /// Backends to measure; all must agree
    #[arg(
        long = "backend",
        default_value = "baseline,cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    /// Forms of the cuda backend's deliveries; the others have pairs only
    #[arg(
        long = "output",
        default_value = "pairs,ranges",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub outputs: Vec<OutputName>,
    /// Timed ticks of each scenario
    #[arg(long, default_value = "100", value_name = "N", value_parser = at_least_one)]
    pub runs: usize,
    /// Fewest timed ticks of the baseline; it runs up to --runs if it is quick
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    pub baseline_runs: usize,
    #[command(flatten)]
    pub gpus: GpusOption,
    #[command(flatten)]
    pub run: RunOptions,
}

impl Options {
    /// Each backend with each form of output that it has.
    pub fn subjects(&self) -> impl Iterator<Item = (BackendName, OutputName)> {
        self.backends.iter().flat_map(|&backend| {
            let outputs = match backend {
                BackendName::Cuda => &self.outputs[..],
                BackendName::Baseline | BackendName::Cpu => &[OutputName::Pairs],
            };
            outputs.iter().map(move |&output| (backend, output))
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// The thesis's CPU implementation: one thread, a grid of linked lists
    Baseline,
    /// The backend for CPUs
    Cpu,
    /// The backend for NVIDIA GPUs
    Cuda,
}

/// The form of a tick's deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputName {
    /// A word for each (client, entity), as in the thesis
    Pairs,
    /// The changed entities in the order of the buckets, and each client's ranges of them
    Ranges,
}

impl OutputName {
    pub const fn name(self) -> &'static str {
        match self {
            OutputName::Pairs => "pairs",
            OutputName::Ranges => "ranges",
        }
    }
}

impl BackendName {
    pub const fn name(self) -> &'static str {
        match self {
            BackendName::Baseline => "baseline",
            BackendName::Cpu => "cpu",
            BackendName::Cuda => "cuda",
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(arguments: &[&str]) -> Result<Options, String> {
        let line = ["thesis"].iter().chain(arguments);
        match Line::try_parse_from(line) {
            Ok(line) => Ok(line.options),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn without_options_it_is_the_whole_chapter() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.clients.0.len(), 11);
        assert_eq!(options.maps, [2500, 5000]);
        assert_eq!(options.aois, [10, 20]);
        assert_eq!(options.backends, [BackendName::Baseline, BackendName::Cpu]);
        assert_eq!((options.runs, options.baseline_runs), (100, 5));
    }

    #[test]
    fn an_error_says_what_was_expected() {
        let cases = [
            (["--clients", "many"], "expected numbers from 1"),
            (["--clients", "0..512"], "expected numbers from 1"),
            (["--clients", "512,"], "expected numbers from 1"),
            (["--clients", "1024..512"], "smaller number first"),
            (["--backend", "gpu"], "possible values: baseline, cpu"),
            (["--maps", "0"], "not in 1..=262143"),
            (["--runs", "0"], "expected a whole number of at least 1"),
            (["--threads", "x"], "expected a whole number of at least 1"),
        ];
        for (arguments, expected) in cases {
            let error = parse(&arguments).unwrap_err();
            assert!(error.contains(expected), "{arguments:?} gave {error}");
        }
    }
}
