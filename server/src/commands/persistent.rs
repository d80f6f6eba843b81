//! Shared parts of the commands for persistent worlds.

use anyhow::{Context, Result};
use durability::disk::Disk;
use durability::log::End;
use durability::recovered::Recovered;
use durability::recovery::{self, Replay};
use gpu_kernels::Backend;
use platform::metrics::machine;
use shared::WorldConfig;
use tick::backend::{BackendOptions, start_backend};

/// The world as it was before a tick, or at its end.
pub fn recover(
    disk: &impl Disk,
    at: Option<u64>,
    backend: BackendOptions,
    threads: Option<usize>,
) -> Result<(Recovered, End)> {
    let stored = recovery::newest(disk, at)?;
    let stored = stored.with_context(|| match at {
        Some(at) => format!("there is no checkpoint before tick {at}"),
        None => "there is no checkpoint".to_owned(),
    })?;
    let mut backend = start(backend, &stored.body.world, threads)?;
    let replay = Replay {
        backend: &mut *backend,
        until: at,
        progress: &mut |_| (),
    };
    recovery::replay(disk, stored, replay)
}

/// A backend with the requested number of threads.
pub fn start(
    backend: BackendOptions,
    world: &WorldConfig,
    threads: Option<usize>,
) -> Result<Box<dyn Backend>> {
    let threads = threads.unwrap_or_else(machine::cores);
    let available = machine::memory_available();
    Ok(start_backend(backend, world, threads, available)?.backend)
}

/// A number of bytes for people.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
