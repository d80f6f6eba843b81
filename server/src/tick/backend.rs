//! The choice of a backend.

use clap::ValueEnum;
use gpu_kernels::{Backend, CpuBackend, StartError};
use shared::WorldConfig;

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

/// A backend that has started.
pub struct Started {
    pub backend: Box<dyn Backend>,
    /// For people: the name, and why a GPU is not used.
    pub description: String,
}

/// Starts a backend. `threads` and `memory_available` (in bytes, if known) are for the
/// cpu backend.
pub fn start_backend(
    choice: BackendChoice,
    world: &WorldConfig,
    threads: usize,
    memory_available: Option<u64>,
) -> Result<Started, StartError> {
    let cpu = |why: &str| -> Result<Started, StartError> {
        Ok(Started {
            backend: Box::new(CpuBackend::new(world, threads, memory_available)?),
            description: format!("cpu{why}"),
        })
    };
    match choice {
        BackendChoice::Cpu => cpu(""),
        BackendChoice::Cuda => start_cuda(world),
        BackendChoice::Auto => match start_cuda(world) {
            Ok(started) => Ok(started),
            Err(reason) => cpu(&format!(" ({reason})")),
        },
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(world: &WorldConfig) -> Result<Started, StartError> {
    let backend = gpu_kernels::CudaBackend::new(world, None)?;
    Ok(Started {
        description: format!("cuda on {}", backend.gpu().name),
        backend: Box::new(backend),
    })
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &WorldConfig) -> Result<Started, StartError> {
    Err(StartError::Unsupported("cuda", "Linux on x86-64"))
}
