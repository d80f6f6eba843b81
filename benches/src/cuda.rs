//! What needs an NVIDIA GPU, for all benches. Elsewhere than on Linux on x86-64 each
//! call is an error.

pub use here::{backend, backend_with_ranges, gpu_name, regions};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use gpu_kernels::Backend;
    use gpu_kernels::cuda::{CudaBackend, OutputForm};
    use gpu_kernels::regions::{CudaRegions, RegionEngine, RegionsConfig};
    use shared::WorldConfig;

    /// The name of the GPU that the others use.
    pub fn gpu_name() -> Option<String> {
        Some(gpu_kernels::cuda::gpu().ok()?.name)
    }

    pub fn backend(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        Ok(Box::new(CudaBackend::new(config, None)?))
    }

    /// The backend whose deliveries are ranges of the changed entities.
    pub fn backend_with_ranges(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        let backend = CudaBackend::with_output(config, None, OutputForm::Ranges)?;
        Ok(Box::new(backend))
    }

    pub fn regions(config: &RegionsConfig) -> anyhow::Result<Box<dyn RegionEngine>> {
        Ok(Box::new(CudaRegions::new(config)?))
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod here {
    use gpu_kernels::Backend;
    use gpu_kernels::regions::{RegionEngine, RegionsConfig};
    use shared::WorldConfig;

    use super::unavailable;

    pub fn gpu_name() -> Option<String> {
        None
    }

    pub fn backend(_: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        unavailable()
    }

    pub fn backend_with_ranges(_: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        unavailable()
    }

    pub fn regions(_: &RegionsConfig) -> anyhow::Result<Box<dyn RegionEngine>> {
        unavailable()
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub fn unavailable<T>() -> anyhow::Result<T> {
    anyhow::bail!("the cuda backend needs Linux on x86-64")
}
