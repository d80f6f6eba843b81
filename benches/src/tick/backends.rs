//! The server's backends by name, and the baseline that they are compared with.

use anyhow::Context;
use clap::{Args, ValueEnum};
use gpu_kernels::{Backend, CpuBackend};
use shared::WorldConfig;

use crate::cuda;
use crate::options::RunOptions;

/// Options of benches that run whole ticks.
#[derive(Args, Clone, Debug)]
pub struct BackendOptions {
    /// Backends to measure
    #[arg(
        long = "backend",
        default_value = "cpu",
        value_delimiter = ',',
        value_name = "LIST"
    )]
    backends: Vec<BackendName>,
    #[command(flatten)]
    pub run: RunOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// The backend for CPUs
    Cpu,
    /// The backend for NVIDIA GPUs
    Cuda,
}

/// A backend, and what its rows say of it.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub name: &'static str,
    pub approach: &'static str,
    backend: BackendName,
    pub threads: usize,
}

impl BackendOptions {
    /// The baseline, then the backends that the options name.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> {
        std::iter::once(BASELINE).chain(self.named())
    }

    /// The backends that the options name.
    pub fn named(&self) -> impl Iterator<Item = Candidate> {
        self.backends.iter().map(|&backend| self.of(backend))
    }

    /// A backend, whether or not the options name it.
    pub fn of(&self, backend: BackendName) -> Candidate {
        Candidate {
            name: backend.name(),
            approach: "the server's tick",
            backend,
            threads: match backend {
                BackendName::Cpu => self.run.threads(),
                BackendName::Cuda => 1,
            },
        }
    }
}

impl BackendName {
    pub const fn name(self) -> &'static str {
        match self {
            BackendName::Cpu => "cpu",
            BackendName::Cuda => "cuda",
        }
    }

    /// Starts the backend; `threads` counts for the cpu backend only.
    pub fn start(self, config: &WorldConfig, threads: usize) -> anyhow::Result<Box<dyn Backend>> {
        match self {
            BackendName::Cpu => Ok(Box::new(CpuBackend::new(config, threads, None)?)),
            BackendName::Cuda => cuda::backend(config),
        }
    }
}

impl Candidate {
    pub fn start(&self, config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        let backend = self.backend.start(config, self.threads);
        backend.with_context(|| format!("cannot start {}", self.name))
    }

    pub fn is_baseline(&self) -> bool {
        self.name == BASELINE.name
    }
}

pub const BASELINE: Candidate = Candidate {
    name: "baseline",
    approach: "the cpu backend on one thread",
    backend: BackendName::Cpu,
    threads: 1,
};
