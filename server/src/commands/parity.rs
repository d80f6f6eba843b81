//! `myriad doctor --parity`: the same random worlds on the processor and on the GPU, and
//! in a slow, obvious version of the tick, with everything compared after every tick.

use anyhow::Result;
use gpu_kernels::CpuBackend;
use testkit::backends::Starter;
use testkit::parity::{self, RandomWorlds};
use tick::backend::{BackendChoice, BackendOptions, Gpus, start_backend};

/// Runs random worlds, and prints the numbers of comparisons. An error names the difference of a
/// backend.
pub fn check(worlds: &RandomWorlds, threads: usize, gpu: u32) -> Result<String> {
    let options = BackendOptions {
        backend: BackendChoice::Cuda,
        gpus: Some(Gpus::one(gpu)),
    };
    // An empty world first, so that a machine without a GPU says so at once.
    let device = start_backend(options, &world_file::default(), threads, None)?.description;
    let cpu = Starter::new("cpu", move |config| {
        Ok(Box::new(CpuBackend::new(config, threads, None)?))
    });
    let cuda = Starter::new(device.clone(), move |config| {
        Ok(start_backend(options, config, threads, None)?.backend)
    });
    let compared = parity::check(worlds, &[cpu, cuda], |_| {})?;
    Ok(format!(
        "cpu and {device} agree: {} worlds, {} ticks, {} commands, {} deliveries, \
         {} notifications, {} hearings, {} changes of regions",
        compared.worlds,
        compared.ticks,
        compared.commands,
        compared.deliveries,
        compared.notifications,
        compared.hearings,
        compared.regions,
    ))
}
