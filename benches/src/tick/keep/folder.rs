//! A folder for one run at a time.

use std::path::{Path, PathBuf};

use anyhow::Context;
use gpu_kernels::Backend;
use server::durable::level::Level;
use server::server::{DataOptions, world_data};
use server::tick::tick_loop::Kept;
use shared::WorldConfig;

/// A folder that is removed at the end.
pub struct RunFolder(PathBuf);

impl RunFolder {
    pub fn new(parent: &Path) -> RunFolder {
        RunFolder(parent.join(format!("bench-keep-{}", std::process::id())))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Begins to keep a new world there, in place of what was there.
    pub fn begin(
        &self,
        world: &WorldConfig,
        level: Level,
        checkpoint_seconds: u32,
        threads: usize,
        backend: &mut dyn Backend,
    ) -> anyhow::Result<Kept> {
        if self.0.exists() {
            std::fs::remove_dir_all(&self.0).context("cannot remove the last run's files")?;
        }
        let data = DataOptions {
            level,
            keeps_all: true,
            checkpoint_seconds,
            ..DataOptions::new(&self.0)
        };
        let mut same = world.clone();
        let opened = world_data::open(&data, &mut same)?;
        let (folder, recovered) = world_data::recover(opened, &data, world, backend)?;
        world_data::keep(folder, &data, recovered, threads, None)
    }

    /// The bytes and the number of the files whose names begin so.
    pub fn bytes_of(&self, prefix: &str) -> anyhow::Result<(u64, u64)> {
        let (mut bytes, mut files) = (0, 0);
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                bytes += entry.metadata()?.len();
                files += 1;
            }
        }
        Ok((bytes, files))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The results do not depend on it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub const JOURNAL: &str = "journal-";
pub const CHECKPOINT: &str = "checkpoint-";
/// No checkpoint is due between the first and the last.
pub const NO_CHECKPOINTS: u32 = 1_000_000;
