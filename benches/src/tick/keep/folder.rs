//! A folder for one run at a time.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use durability::level::Level;
use gpu_kernels::Backend;
use server::host::{DataOptions, world_data};
use shared::WorldConfig;
use tick::tick_loop::PersistentWorld;

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
    ) -> anyhow::Result<PersistentWorld> {
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
        world_data::start_durability(folder, &data, recovered, threads, None, None)
    }

    /// Megabytes a second at which the files are read whose names begin so: from the disk, and
    /// from the system's memory.
    pub fn read_mb_s(&self, prefix: &str) -> anyhow::Result<[f64; 2]> {
        let mut buffer = vec![0; READ_BYTES];
        let mut rates = [0.0; 2];
        for (pass, rate) in rates.iter_mut().enumerate() {
            let files = self.files(prefix)?;
            if pass == 0 {
                files.iter().try_for_each(|path| forget(path))?;
            }
            let (begun, mut bytes) = (Instant::now(), 0);
            for path in &files {
                let mut file = File::open(path)?;
                loop {
                    match file.read(&mut buffer)? {
                        0 => break,
                        read => bytes += read,
                    }
                }
            }
            *rate = bytes as f64 / 1e6 / begun.elapsed().as_secs_f64();
        }
        Ok(rates)
    }

    /// The files whose names begin so, in order.
    fn files(&self, prefix: &str) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = vec![];
        for entry in std::fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }

    /// The bytes and the number of the files whose names begin so.
    pub fn bytes_of(&self, prefix: &str) -> anyhow::Result<(u64, u64)> {
        let files = self.files(prefix)?;
        let mut bytes = 0;
        for path in &files {
            bytes += path.metadata()?.len();
        }
        Ok((bytes, files.len() as u64))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The results do not depend on it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Lets the system forget what it has in memory of a file. Files in memory stay.
fn forget(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    #[cfg(target_os = "linux")]
    {
        use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
        posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
    }
    Ok(())
}

const READ_BYTES: usize = 4 << 20;
pub const JOURNAL: &str = "journal-";
pub const CHECKPOINT: &str = "checkpoint-";
/// No checkpoint is due between the first and the last.
pub const NO_CHECKPOINTS: u32 = 1_000_000;
