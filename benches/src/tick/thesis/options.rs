use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::tick::backends::{RunOptions, at_least_one};

/// The scenarios of the thesis's chapter 4, beside the times it printed in 2007
///
/// Every client moves once a tick, and each change is delivered to everyone in
/// the neighbouring buckets. Tables 4-5 to 4-12 go to standard output. Where two
/// backends don't deliver the same, the bench fails.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Numbers of clients: FIRST..LAST, doubling, or a list like 65536,524288
    #[arg(long, default_value = "512..524288", value_name = "RANGE|LIST")]
    pub clients: ClientCounts,
    /// Sides of the square map, in units
    #[arg(long, default_value = "2500,5000", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=262_143))]
    pub maps: Vec<u32>,
    /// AOI radii, which are the bucket's edges too, in units
    #[arg(long, default_value = "10,20", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=262_143))]
    pub aois: Vec<u32>,
    /// What to measure; with several, they must agree
    #[arg(
        long = "backend",
        default_value = "baseline,cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    /// How the cuda backend says who is told of what; the others know pairs only
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
    /// Timed ticks of the baseline, at least; up to --runs where it is quick
    #[arg(long, default_value = "5", value_name = "N", value_parser = at_least_one)]
    pub baseline_runs: usize,
    #[command(flatten)]
    pub run: RunOptions,
    /// Draws the figures into this folder, as SVG files
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
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
    /// The thesis's way on a CPU: one thread, a grid of linked lists
    Baseline,
    /// The engine's backend for CPUs
    Cpu,
    /// The engine's backend for NVIDIA GPUs
    Cuda,
}

/// How a tick says who is told of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputName {
    /// A word for each (client, entity), as in the thesis
    Pairs,
    /// Who changed in the order of the buckets, and each client's ranges of that
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

/// Numbers of clients, as `--clients` takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCounts(pub Vec<u32>);

impl FromStr for ClientCounts {
    type Err = String;

    fn from_str(text: &str) -> Result<ClientCounts, String> {
        let number = |text: &str| match text.trim().parse::<u32>() {
            Ok(n) if (1..=CLIENTS_MAX).contains(&n) => Ok(n),
            _ => Err(format!(
                "expected numbers from 1 to {CLIENTS_MAX}, as FIRST..LAST or as a list; found {text:?}"
            )),
        };
        let Some((first, last)) = text.split_once("..") else {
            let list = text.split(',').map(number).collect::<Result<_, _>>()?;
            return Ok(ClientCounts(list));
        };
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!(
                "expected FIRST..LAST with the smaller number first; found {text:?}"
            ));
        }
        let doubling = std::iter::successors(Some(first), |n| n.checked_mul(2));
        Ok(ClientCounts(doubling.take_while(|&n| n <= last).collect()))
    }
}

const CLIENTS_MAX: u32 = 1 << 23;

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
    fn a_range_of_clients_doubles() {
        let counts = |text: &str| text.parse::<ClientCounts>().map(|c| c.0);
        assert_eq!(counts("512..2048"), Ok(vec![512, 1024, 2048]));
        assert_eq!(counts("3..13"), Ok(vec![3, 6, 12]));
        assert_eq!(counts("7..7"), Ok(vec![7]));
        assert_eq!(counts("65536,524288"), Ok(vec![65_536, 524_288]));
        assert_eq!(counts("100"), Ok(vec![100]));
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
    fn a_refusal_says_what_was_expected() {
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
