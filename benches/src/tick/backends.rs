//! The engine's backends, by name, for benches that measure the server's own tick.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use gpu_kernels::{Backend, CpuBackend};
use shared::WorldConfig;

use crate::report::Report;

/// What these benches have in common.
#[derive(Args, Clone, Debug)]
pub struct EngineOptions {
    /// What to measure
    #[arg(
        long = "backend",
        default_value = "cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    pub backends: Vec<EngineName>,
    #[command(flatten)]
    pub run: RunOptions,
}

/// What all benches have in common that run something on CPUs.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Threads of the cpu backend [default: one a core]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub threads: Option<usize>,
    /// All that is random follows from it
    #[arg(long, default_value = "1", value_name = "N")]
    pub seed: u64,
    /// Writes the measurements to this file as well
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// The backend for CPUs
    Cpu,
    /// The backend for NVIDIA GPUs
    Cuda,
}

/// A backend with what it is started with.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// What its rows are called.
    pub name: &'static str,
    pub approach: &'static str,
    pub engine: EngineName,
    pub threads: usize,
}

impl EngineOptions {
    /// The baseline, then what was asked for.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> {
        std::iter::once(BASELINE).chain(self.asked())
    }

    /// What was asked for.
    pub fn asked(&self) -> impl Iterator<Item = Candidate> {
        self.backends.iter().map(|&engine| Candidate {
            name: engine.name(),
            approach: "the server's tick",
            engine,
            threads: match engine {
                EngineName::Cpu => self.run.threads(),
                EngineName::Cuda => 1,
            },
        })
    }
}

impl RunOptions {
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        self.threads.unwrap_or_else(cores)
    }

    /// Writes a report to the file that was asked for.
    pub fn keep(&self, report: &Report) -> anyhow::Result<()> {
        self.json.as_ref().map_or(Ok(()), |path| report.write(path))
    }
}

impl EngineName {
    pub const fn name(self) -> &'static str {
        match self {
            EngineName::Cpu => "cpu",
            EngineName::Cuda => "cuda",
        }
    }

    /// `threads` is the cpu backend's.
    pub fn start(self, config: &WorldConfig, threads: usize) -> anyhow::Result<Box<dyn Backend>> {
        match self {
            EngineName::Cpu => Ok(Box::new(CpuBackend::new(config, threads, None)?)),
            EngineName::Cuda => start_cuda(config),
        }
    }
}

impl Candidate {
    pub fn start(&self, config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        let backend = self.engine.start(config, self.threads);
        backend.with_context(|| format!("cannot start {}", self.name))
    }

    pub fn is_baseline(&self) -> bool {
        self.name == BASELINE.name
    }
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("expected a whole number of at least 1".to_owned()),
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
    Ok(Box::new(gpu_kernels::CudaBackend::new(config, None)?))
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
    anyhow::bail!("the cuda backend needs Linux on x86-64")
}

pub const BASELINE: Candidate = Candidate {
    name: "baseline",
    approach: "the cpu backend on one thread",
    engine: EngineName::Cpu,
    threads: 1,
};
