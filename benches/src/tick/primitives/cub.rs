use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{bail, ensure};

use super::Measured;

/// A program that calls CUB, in a temporary folder of its own.
pub struct Cub {
    folder: PathBuf,
}

/// The program's answer.
pub struct CubTimes {
    pub sort: Measured,
    pub scan: Measured,
}

impl Cub {
    /// Compiles the program with this compiler, or with the first that works in the
    /// usual places. None if there is no compiler.
    pub fn find(nvcc: Option<&Path>) -> anyhow::Result<Option<Cub>> {
        let usual = ["nvcc", "/usr/local/cuda/bin/nvcc"].map(Path::new);
        let mut candidates = match nvcc {
            Some(nvcc) => vec![nvcc],
            None => usual.to_vec(),
        }
        .into_iter();
        let works = |nvcc: &&Path| {
            let output = Command::new(nvcc).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        };
        candidates.find(works).map(Cub::build).transpose()
    }

    fn build(nvcc: &Path) -> anyhow::Result<Cub> {
        let name = format!("myriad-cub-{}", std::process::id());
        let cub = Cub {
            folder: std::env::temp_dir().join(name),
        };
        std::fs::create_dir_all(&cub.folder)?;
        let source = cub.folder.join("cub.cu");
        std::fs::write(&source, include_str!("cub.cu"))?;
        let mut command = Command::new(nvcc);
        command.args(["-O3", "-std=c++17", "-arch=native", "-o"]);
        let output = command.arg(cub.program()).arg(&source).output()?;
        ensure!(
            output.status.success(),
            "{} failed: {}",
            nvcc.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(cub)
    }

    fn program(&self) -> PathBuf {
        self.folder.join("cub")
    }

    /// Median times of CUB's sort and scan of these items.
    pub fn run(&self, items: &[u32], bits: u32, runs: usize) -> anyhow::Result<CubTimes> {
        let file = self.folder.join("items");
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
        std::fs::write(&file, bytes)?;
        let numbers = [items.len(), bits as usize, runs].map(|n| n.to_string());
        let output = Command::new(self.program())
            .arg(&file)
            .args(numbers)
            .output()?;
        ensure!(
            output.status.success(),
            "CUB's program failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout);
        let measured = |name: &str| {
            let mut words = text
                .lines()
                .find_map(|l| l.strip_prefix(name))?
                .split_whitespace();
            let ms: f64 = words.next()?.parse().ok()?;
            Some(Measured {
                times: vec![Duration::from_secs_f64(ms / 1000.0)],
                checksum: u64::from_str_radix(words.next()?, 16).ok()?,
            })
        };
        match (measured("sort "), measured("scan ")) {
            (Some(sort), Some(scan)) => Ok(CubTimes { sort, scan }),
            _ => bail!("CUB's program printed {text:?}"),
        }
    }
}

impl Drop for Cub {
    fn drop(&mut self) {
        // If this fails, a temporary folder stays.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
