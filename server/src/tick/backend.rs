//! The choice of a backend.

use clap::{Args, ValueEnum};
use gpu_kernels::{Backend, CpuBackend, StartError};
use shared::WorldConfig;
use tracing::warn;

use crate::metrics::memory::{Limit, memory};

/// Which backend runs the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// An NVIDIA GPU if there is one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU. The start fails without one.
    Cuda,
}

/// The backend, and where it runs.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackendOptions {
    /// Backend that runs the world
    #[arg(long, value_enum, default_value_t)]
    pub backend: BackendChoice,
    /// Number of the GPU, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gpu: u32,
}

/// A backend that has started.
pub struct Started {
    pub backend: Box<dyn Backend>,
    /// For people: the name, and why a GPU is not used.
    pub description: String,
    /// The number of the GPU that the backend runs on.
    pub gpu: Option<u32>,
}

/// Starts a backend. `threads` and `memory_available` (in bytes, if known) are for the
/// cpu backend.
pub fn start_backend(
    options: BackendOptions,
    world: &WorldConfig,
    threads: usize,
    memory_available: Option<u64>,
) -> Result<Started, StartError> {
    let cpu = |why: &str| -> Result<Started, StartError> {
        let backend = CpuBackend::new(world, threads, memory_available);
        if let Err(StartError::OutOfMemory { .. }) = backend
            && let Some(Limit { file, bytes, .. }) = memory().limit
        {
            warn!(bytes, file = %file.display(), "a control group limits the memory of this process");
        }
        Ok(Started {
            backend: Box::new(backend?),
            description: format!("cpu{why}"),
            gpu: None,
        })
    };
    match options.backend {
        BackendChoice::Cpu => cpu(""),
        BackendChoice::Cuda => start_cuda(world, options.gpu),
        BackendChoice::Auto => match start_cuda(world, options.gpu) {
            Ok(started) => Ok(started),
            Err(reason) => cpu(&format!(" ({reason})")),
        },
    }
}

/// Starts a world on the GPU with this number.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(world: &WorldConfig, ordinal: u32) -> Result<Started, StartError> {
    use std::sync::Arc;

    use gpu_kernels::tick::cuda::{CodeCache, CudaBackend, CudaOptions};

    use crate::durable::code_cache::FolderCache;

    let cache = FolderCache::of_user();
    let options = CudaOptions {
        ordinal,
        cache: cache.map(|cache| Arc::new(cache) as Arc<dyn CodeCache>),
        ..CudaOptions::default()
    };
    let backend = CudaBackend::new(world, &options)?;
    Ok(Started {
        description: format!("cuda on {}", backend.gpu().name),
        backend: Box::new(backend),
        gpu: Some(ordinal),
    })
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &WorldConfig, _: u32) -> Result<Started, StartError> {
    Err(StartError::Unsupported("cuda", "Linux on x86-64"))
}
