//! The choice of a backend.

use std::str::FromStr;

use clap::{Args, ValueEnum};
use gpu_kernels::tick::parts::PARTS_MAX;
use gpu_kernels::{Backend, CpuBackend, StartError, TickError};
use platform::metrics::memory::{Limit, memory};
use shared::WorldConfig;
use tracing::warn;

/// The choice of a backend.
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
    /// Numbers of the GPUs, from 0, such as 0,1 [default: 0, or all in a world of many clients]
    #[arg(long, alias = "gpu", value_name = "LIST")]
    pub gpus: Option<Gpus>,
}

/// The numbers of some GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpus {
    numbers: [u32; PARTS_MAX],
    count: usize,
}

impl Gpus {
    /// The GPU with this number.
    pub fn one(number: u32) -> Gpus {
        let mut numbers = [0; PARTS_MAX];
        numbers[0] = number;
        Gpus { numbers, count: 1 }
    }

    /// The GPUs with these numbers; `None` if there are none, or too many.
    pub fn of(numbers: &[u32]) -> Option<Gpus> {
        let mut gpus = Gpus::one(0);
        gpus.count = numbers.len();
        gpus.numbers.get_mut(..gpus.count)?.copy_from_slice(numbers);
        (gpus.count > 0).then_some(gpus)
    }

    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.count]
    }
}

impl FromStr for Gpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Gpus, String> {
        let expected = || format!("expected 1 to {PARTS_MAX} numbers, such as 0,1");
        let numbers = text.split(',').map(|number| number.trim().parse());
        let numbers: Vec<u32> = numbers.collect::<Result<_, _>>().map_err(|_| expected())?;
        Gpus::of(&numbers).ok_or_else(expected)
    }
}

/// A backend that has started.
pub struct Started {
    pub backend: Box<dyn Backend>,
    /// For people: the name, and the reason if no GPU is used.
    pub description: String,
    /// The number of the first GPU that the backend runs on.
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
        BackendChoice::Cuda => start_cuda(world, options.gpus),
        BackendChoice::Auto => match start_cuda(world, options.gpus) {
            Ok(started) => Ok(started),
            Err(reason) => cpu(&format!(" ({reason})")),
        },
    }
}

/// Starts a world on these GPUs.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn start_cuda(world: &WorldConfig, gpus: Option<Gpus>) -> Result<Started, StartError> {
    use std::sync::Arc;

    use durability::code_cache::FolderCache;
    use gpu_kernels::tick::cuda::{CodeCache, CudaBackend, CudaOptions};
    use platform::metrics::table;
    let cache = FolderCache::of_user();
    let cache = cache.map(|cache| Arc::new(cache) as Arc<dyn CodeCache>);
    let start = |gpus: &Gpus| {
        let options = CudaOptions {
            gpus: gpus.numbers().to_vec(),
            cache: cache.clone(),
            ..CudaOptions::default()
        };
        CudaBackend::new(world, &options)
    };
    let (gpus, backend) = match gpus {
        Some(gpus) => (gpus, start(&gpus)?),
        // A world that can't use all GPUs together runs on one.
        None => match usual_gpus(world).map(|all| (all, start(&all))) {
            Some((all, Ok(backend))) => (all, backend),
            _ => (Gpus::one(0), start(&Gpus::one(0))?),
        },
    };
    for (gpu, _) in table::GPUS.iter().zip(backend.gpus()) {
        table::GPU_MEMORY.set_to(gpu, backend.memory_bytes());
    }
    let names: Vec<&str> = backend.gpus().map(|gpu| gpu.name.as_str()).collect();
    Ok(Started {
        description: format!("cuda on {}", names.join(" and ")),
        backend: Box::new(backend),
        gpu: gpus.numbers().first().copied(),
    })
}

/// All GPUs that work, in a world that gains from more than one.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn usual_gpus(world: &WorldConfig) -> Option<Gpus> {
    use gpu_kernels::tick::cuda::{gpu, gpu_count};

    if world.limits.clients < DIVIDED_CLIENTS_MIN {
        return None;
    }
    let all = (0..gpu_count()).take(PARTS_MAX);
    let working: Vec<u32> = all.filter(|&number| gpu(number).is_ok()).collect();
    Gpus::of(&working)
}

/// Adds to the error of a GPU how the world continues without it.
pub fn advise(error: anyhow::Error, is_kept: bool) -> anyhow::Error {
    let Some(TickError::Device { left, .. }) = error.downcast_ref() else {
        return error;
    };
    let with = match &left[..] {
        [] => "`--backend cpu`".to_owned(),
        left => {
            let numbers: Vec<String> = left.iter().map(u32::to_string).collect();
            format!("`--gpus {}`", numbers.join(","))
        }
    };
    let how = match is_kept {
        true => "; its world continues from its journal",
        false => "",
    };
    anyhow::anyhow!("{error:#}; start the server again with {with}{how}")
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn start_cuda(_: &WorldConfig, _: Option<Gpus>) -> Result<Started, StartError> {
    Err(StartError::Unsupported("cuda", "Linux on x86-64"))
}

/// From this many clients on, a second GPU saves more time than it costs: measured by
/// `benches fight --gpus 2`.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub const DIVIDED_CLIENTS_MIN: u32 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_that_fails_is_named_with_its_stage_and_with_how_to_go_on() {
        let failed = |left: &[u32]| TickError::Device {
            gpu: 1,
            stage: "merge",
            message: "cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE".to_owned(),
            left: left.to_vec(),
        };
        let text = |left: &[u32], is_kept| format!("{:#}", advise(failed(left).into(), is_kept));
        let error = "GPU 1 fails in the merge stage: cuLaunchKernel: CUDA_ERROR_ECC_UNCORRECTABLE; \
                     start the server again with";
        assert_eq!(
            text(&[0, 2], true),
            format!("{error} `--gpus 0,2`; its world continues from its journal")
        );
        assert_eq!(text(&[], false), format!("{error} `--backend cpu`"));
        let other = anyhow::anyhow!("the disk is full");
        assert_eq!(format!("{:#}", advise(other, true)), "the disk is full");
    }

    #[test]
    fn gpus_are_named_by_numbers() {
        assert_eq!("0".parse(), Ok(Gpus::one(0)));
        assert_eq!(
            "0, 1".parse::<Gpus>().map(|gpus| gpus.numbers().to_vec()),
            Ok(vec![0, 1])
        );
        assert_eq!(
            "3".parse::<Gpus>().map(|gpus| gpus.numbers().to_vec()),
            Ok(vec![3])
        );
        let seventeen = ["0"; 17].join(",");
        for wrong in ["", ",", "0,", "-1", "a", "0;1", &seventeen] {
            let error = wrong.parse::<Gpus>().unwrap_err();
            assert_eq!(error, "expected 1 to 16 numbers, such as 0,1", "{wrong}");
        }
    }
}
