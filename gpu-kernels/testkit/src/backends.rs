//! All implementations of the tick on this machine.

use std::sync::{Arc, Mutex, PoisonError};

use gpu_kernels::logic::{Engine, Scripts};
use gpu_kernels::{Backend, CpuBackend, StartError};
use shared::WorldConfig;

/// A way to start a backend.
#[derive(Clone)]
pub struct Starter {
    /// The backend's name in messages, such as `cpu with 2 threads`.
    pub label: String,
    start: Arc<Start>,
}

type Start = dyn Fn(&WorldConfig) -> Result<Box<dyn Backend>, StartError> + Send + Sync;

impl Starter {
    /// Creates a starter that starts a backend with `start`.
    pub fn new(
        label: impl Into<String>,
        start: impl Fn(&WorldConfig) -> Result<Box<dyn Backend>, StartError> + Send + Sync + 'static,
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

/// The CPU backend with several numbers of threads and of parts, and the GPU backend likewise
/// if there is a GPU.
pub fn starters() -> Vec<Starter> {
    let compiled = Arc::new(Compiled::default());
    let cpus = [1, 2, 3, 8].map(|threads| cpu(threads, &compiled));
    let divided = [2, 3, 8].map(|parts| divided_with(parts, &compiled));
    let cpus = cpus.into_iter();
    let all = cpus.chain([interpreter()]).chain(divided);
    all.chain(cuda()).chain(divided_cuda()).collect()
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

fn cpu(threads: usize, compiled: &Arc<Compiled>) -> Starter {
    let compiled = compiled.clone();
    Starter::new(format!("cpu with {threads} threads"), move |config| {
        Ok(Box::new(compiled.start(config, threads)?))
    })
}

/// The CPU backend with its clients in several parts.
pub fn divided(parts: usize) -> Starter {
    divided_with(parts, &Arc::default())
}

fn divided_with(parts: usize, compiled: &Arc<Compiled>) -> Starter {
    let compiled = compiled.clone();
    Starter::new(format!("cpu in {parts} parts"), move |config| {
        Ok(Box::new(compiled.start(config, 2)?.divided(parts)))
    })
}

/// The scripts of the last world. To compile them for each backend took most of a test's time.
#[derive(Default)]
struct Compiled(Mutex<Option<(WorldConfig, Arc<Scripts>)>>);

impl Compiled {
    fn start(&self, config: &WorldConfig, threads: usize) -> Result<CpuBackend, StartError> {
        CpuBackend::with_scripts(config, threads, self.scripts(config)?)
    }

    fn scripts(&self, config: &WorldConfig) -> Result<Arc<Scripts>, StartError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, scripts)) = &*last
            && of == config
        {
            return Ok(scripts.clone());
        }
        let scripts = Arc::new(Scripts::new(config, Engine::Fastest)?);
        *last = Some((config.clone(), scripts.clone()));
        Ok(scripts)
    }
}

/// The GPU backend, if there is a GPU; else prints a line.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub fn cuda() -> Option<Starter> {
    Some(cuda_on(gpu()?, vec![0]))
}

/// The GPU backend in several parts: on the first GPU, and on all that there are.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn divided_cuda() -> Vec<Starter> {
    let gpus: Vec<u32> = (0..device::gpu::count().unwrap_or(0)).collect();
    if gpus.is_empty() {
        return vec![];
    }
    let mut all = vec![
        cuda_on("one GPU in 2 parts".to_owned(), vec![0; 2]),
        cuda_on("one GPU in 3 parts".to_owned(), vec![0; 3]),
    ];
    if gpus.len() > 1 {
        all.push(cuda_on(format!("{} GPUs", gpus.len()), gpus));
    }
    all
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn cuda_on(place: String, gpus: Vec<u32>) -> Starter {
    use gpu_kernels::CudaBackend;
    use gpu_kernels::tick::cuda::CudaOptions;

    Starter::new(format!("cuda on {place}"), move |config| {
        let options = CudaOptions {
            gpus: gpus.clone(),
            ..CudaOptions::default()
        };
        Ok(Box::new(CudaBackend::new(config, &options)?))
    })
}

/// None on this platform; prints a line.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn cuda() -> Option<Starter> {
    gpu();
    None
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn divided_cuda() -> Vec<Starter> {
    vec![]
}
