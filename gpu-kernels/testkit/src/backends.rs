//! All implementations of the tick on this machine.

use std::sync::Arc;

use gpu_kernels::logic::Engine;
use gpu_kernels::{Backend, CpuBackend, StartError};
use shared::WorldConfig;

/// A way to start a backend.
#[derive(Clone)]
pub struct Starter {
    /// The backend's name in messages, such as `cpu with 2 threads`.
    pub label: String,
    start: Arc<Start>,
}

type Start = dyn Fn(&WorldConfig) -> Result<Box<dyn Backend>, StartError>;

impl Starter {
    /// Creates a starter that starts a backend with `start`.
    pub fn new(
        label: impl Into<String>,
        start: impl Fn(&WorldConfig) -> Result<Box<dyn Backend>, StartError> + 'static,
    ) -> Starter {
        Starter {
            label: label.into(),
            start: Arc::new(start),
        }
    }

    /// Starts an empty world of this configuration.
    pub fn try_start(&self, config: &WorldConfig) -> Result<Box<dyn Backend>, StartError> {
        (self.start)(config)
    }

    /// Like [`Starter::try_start`], but panics if the backend does not start.
    pub fn start(&self, config: &WorldConfig) -> Box<dyn Backend> {
        self.try_start(config)
            .unwrap_or_else(|error| panic!("{}: {error}", self.label))
    }
}

/// The CPU backend with several numbers of threads, and the GPU backend if there is a GPU.
pub fn starters() -> Vec<Starter> {
    let cpus = [1, 2, 3, 8].into_iter().map(cpu);
    cpus.chain([interpreter()]).chain(cuda()).collect()
}

/// A world of this configuration on every backend, with the backend's label.
pub fn backends(config: &WorldConfig) -> Vec<(String, Box<dyn Backend>)> {
    starters()
        .into_iter()
        .map(|starter| {
            let backend = starter.start(config);
            (starter.label, backend)
        })
        .collect()
}

/// The name of the first GPU that can run the kernels. Without one, prints a line and
/// returns `None`.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn gpu() -> Option<String> {
    match device::gpu::info(0) {
        Ok(gpu) => Some(gpu.name),
        Err(reason) => {
            println!("skipped: no GPU ({reason})");
            None
        }
    }
}

/// Prints a line and returns `None`: this platform has no GPU backend.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn gpu() -> Option<String> {
    println!("skipped: no GPU on this platform");
    None
}

/// The CPU backend without machine code.
fn interpreter() -> Starter {
    Starter::new("cpu with the interpreter", |config| {
        let backend = CpuBackend::with_engine(config, 2, None, Engine::Interpreter)?;
        Ok(Box::new(backend))
    })
}

fn cpu(threads: usize) -> Starter {
    Starter::new(format!("cpu with {threads} threads"), move |config| {
        Ok(Box::new(CpuBackend::new(config, threads, None)?))
    })
}

/// The GPU backend, if there is a GPU; else prints a line.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn cuda() -> Option<Starter> {
    use gpu_kernels::CudaBackend;
    use gpu_kernels::tick::cuda::CudaOptions;

    let gpu = gpu()?;
    Some(Starter::new(format!("cuda on {gpu}"), |config| {
        let options = CudaOptions::default();
        Ok(Box::new(CudaBackend::new(config, &options)?))
    }))
}

/// None on this platform; prints a line.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn cuda() -> Option<Starter> {
    gpu();
    None
}
