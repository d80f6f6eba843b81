//! The server's backends by name, and the baseline that they are compared with.

use anyhow::Context;
use clap::{Args, ValueEnum};
use gpu_kernels::{Backend, CpuBackend};
use shared::WorldConfig;

use crate::cuda;
use crate::options::{RunOptions, gpus};

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
    /// Numbers of GPUs that the cuda backend runs on, from the first on: each is measured
    #[arg(
        long,
        default_value = "1",
        value_delimiter = ',',
        value_name = "LIST",
        value_parser = gpus
    )]
    gpus: Vec<u32>,
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
    /// How many GPUs it runs on; 0: it is the cpu backend.
    pub gpus: u32,
}

impl BackendOptions {
    /// The baseline, then the backends that the options name.
    pub fn candidates(&self) -> impl Iterator<Item = Candidate> {
        std::iter::once(BASELINE).chain(self.named())
    }

    /// The backends that the options name, on each number of GPUs.
    pub fn named(&self) -> impl Iterator<Item = Candidate> {
        self.backends.iter().flat_map(move |&backend| {
            let numbers = match backend {
                BackendName::Cpu => &[0][..],
                BackendName::Cuda => &self.gpus,
            };
            numbers.iter().map(move |&gpus| self.on(backend, gpus))
        })
    }

    /// A backend, whether or not the options name it.
    pub fn of(&self, backend: BackendName) -> Candidate {
        self.on(backend, self.gpus.first().copied().unwrap_or(1))
    }

    fn on(&self, backend: BackendName, gpus: u32) -> Candidate {
        Candidate {
            name: backend.name(),
            approach: "the server's tick",
            backend,
            threads: match backend {
                BackendName::Cpu => self.run.threads(),
                BackendName::Cuda => 1,
            },
            gpus: match backend {
                BackendName::Cpu => 0,
                BackendName::Cuda => gpus,
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
}

impl Candidate {
    pub fn start(&self, config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        let backend = match self.backend {
            BackendName::Cpu => cpu(config, self.threads),
            BackendName::Cuda => cuda::backend(config, self.gpus),
        };
        backend.with_context(|| format!("cannot start {}", self.name))
    }

    /// The same on so many threads.
    pub fn on_threads(self, threads: usize) -> Candidate {
        Candidate { threads, ..self }
    }

    pub fn is_baseline(&self) -> bool {
        self.name == BASELINE.name
    }
}

/// The cpu backend on so many threads.
pub fn cpu(config: &WorldConfig, threads: usize) -> anyhow::Result<Box<dyn Backend>> {
    Ok(Box::new(CpuBackend::new(config, threads, None)?))
}

pub const BASELINE: Candidate = Candidate {
    name: "baseline",
    approach: "the cpu backend on one thread",
    backend: BackendName::Cpu,
    threads: 1,
    gpus: 0,
};
