//! Every implementation of the tick.

use gpu_kernels::{Backend, CpuBackend, StartError};
use shared::WorldConfig;

/// A way to start a backend, given the memory it may use.
pub struct Starter {
    pub label: String,
    start: Box<Start>,
}

type Start = dyn Fn(&WorldConfig, Option<u64>) -> Result<Box<dyn Backend>, StartError>;

impl Starter {
    pub fn start(&self, config: &WorldConfig) -> Box<dyn Backend> {
        self.start_within(config, None).expect("the backend starts")
    }

    pub fn start_within(
        &self,
        config: &WorldConfig,
        memory_available: Option<u64>,
    ) -> Result<Box<dyn Backend>, StartError> {
        (self.start)(config, memory_available)
    }

    fn cpu(threads: usize) -> Starter {
        Starter {
            label: format!("cpu with {threads} threads"),
            start: Box::new(move |config, memory| {
                Ok(Box::new(CpuBackend::new(config, threads, memory)?))
            }),
        }
    }
}

pub fn starters() -> Vec<Starter> {
    let cpus = [1, 2, 3, 8].into_iter().map(Starter::cpu);
    cpus.chain(cuda()).collect()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn cuda() -> Option<Starter> {
    match gpu_kernels::cuda::gpu() {
        Ok(gpu) => Some(Starter {
            label: format!("cuda on {}", gpu.name),
            start: Box::new(|config, memory| {
                Ok(Box::new(gpu_kernels::CudaBackend::new(config, memory)?))
            }),
        }),
        Err(reason) => {
            println!("skipped: no GPU ({reason})");
            None
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn cuda() -> Option<Starter> {
    println!("skipped: no GPU on this platform");
    None
}

/// A world of this configuration on every backend, with the backend's label.
pub fn backends(config: &WorldConfig) -> Vec<(String, Box<dyn Backend>)> {
    starters()
        .into_iter()
        .map(|starter| (starter.label.clone(), starter.start(config)))
        .collect()
}
