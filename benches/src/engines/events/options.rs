use clap::{Args, ValueEnum};

use crate::options::RunOptions;

/// Timed events in exact order: a torus queueing network and PHOLD
///
/// Tables 1 and 2 and figures 10 to 15 of the paper (Sang, Lee, Rego and King 2019) go to
/// standard output. The bench fails if two backends end in different states.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Parts of the paper
    #[arg(
        long = "parts",
        default_value = "torus,phold,accuracy,errors",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub parts: Vec<Part>,
    /// Facilities on a side of the torus
    #[arg(long, default_value = "64,128,256,512,1024,2048", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=8192))]
    pub sides: Vec<u32>,
    /// The paper's d, in thousandths of a time unit; the mean service is 10 units
    #[arg(long, default_value = "250,500,1000,2000", value_delimiter = ',', value_name = "LIST", value_parser = clap::value_parser!(u32).range(1..=9999))]
    pub lookaheads: Vec<u32>,
    /// Backends to measure
    #[arg(
        long = "backend",
        default_value = "heap,calendar,cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<BackendName>,
    /// Fewest events of a timed run on a CPU
    #[arg(long, default_value = "30000000", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 36))]
    pub events: u64,
    /// Time units of a timed run on a GPU
    #[arg(long, default_value = "50000", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_000))]
    pub until: u32,
    /// Processes of PHOLD
    #[arg(long, default_value = "1000000", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 26))]
    pub processes: u32,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Events a second, parallel events, steps (table 2, figures 11 to 13)
    Torus,
    /// PHOLD with 10 % and 100 % remote events
    Phold,
    /// Utilisation and waiting time against d (figures 14 and 15)
    Accuracy,
    /// Causality errors of approximate time (table 1)
    Errors,
    /// Ways to select events, by themselves, on a GPU (figure 10)
    Selection,
}

impl Part {
    pub const fn name(self) -> &'static str {
        match self {
            Part::Torus => "torus",
            Part::Phold => "phold",
            Part::Accuracy => "accuracy",
            Part::Errors => "errors",
            Part::Selection => "selection",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// One thread and a binary heap
    Heap,
    /// One thread and a calendar queue
    Calendar,
    /// Windows on all cores
    Cpu,
    /// Windows on an NVIDIA GPU
    Cuda,
}

impl BackendName {
    pub const fn name(self) -> &'static str {
        match self {
            BackendName::Heap => "heap",
            BackendName::Calendar => "calendar",
            BackendName::Cpu => "cpu",
            BackendName::Cuda => "cuda",
        }
    }
}
