//! The parts of all benches that need an NVIDIA GPU. Elsewhere than on Linux on x86-64 each
//! call is an error.

/// The number of the GPU that all benches run on; `CUDA_VISIBLE_DEVICES` chooses it.
pub const GPU: u32 = 0;

pub use here::{backend, backend_with_ranges, gpu_name, regions};

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod here {
    use engines::regions::{CudaRegions, RegionEngine, RegionsConfig};
    use gpu_kernels::Backend;
    use gpu_kernels::tick::cuda::{CudaBackend, CudaOptions, OutputForm, gpu};
    use shared::WorldConfig;

    use super::GPU;

    /// The name of the GPU that the others use.
    pub fn gpu_name() -> Option<String> {
        Some(gpu(GPU).ok()?.name)
    }

    /// The backend on the first `gpus` GPUs.
    pub fn backend(config: &WorldConfig, gpus: u32) -> anyhow::Result<Box<dyn Backend>> {
        with_form(config, gpus, OutputForm::Pairs)
    }

    /// The backend whose deliveries are ranges of the changed entities.
    pub fn backend_with_ranges(config: &WorldConfig) -> anyhow::Result<Box<dyn Backend>> {
        with_form(config, 1, OutputForm::Ranges)
    }

    fn with_form(
        config: &WorldConfig,
        gpus: u32,
        form: OutputForm,
    ) -> anyhow::Result<Box<dyn Backend>> {
        let options = CudaOptions {
            gpus: (GPU..GPU + gpus).collect(),
            form,
            ..CudaOptions::default()
        };
        Ok(Box::new(CudaBackend::new(config, &options)?))
    }

    pub fn regions(config: &RegionsConfig) -> anyhow::Result<Box<dyn RegionEngine>> {
        Ok(Box::new(CudaRegions::new(GPU, config)?))
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod here {
    use engines::regions::{RegionEngine, RegionsConfig};
    use gpu_kernels::Backend;
    use shared::WorldConfig;

    use super::unavailable;

    pub fn gpu_name() -> Option<String> {
        None
    }

    pub fn backend(_: &WorldConfig, _: u32) -> anyhow::Result<Box<dyn Backend>> {
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
