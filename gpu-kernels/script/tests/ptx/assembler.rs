//! The assembler of the CUDA toolkit.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

pub struct Assembler(PathBuf);

impl Assembler {
    /// Says so where there is none.
    pub fn find() -> Option<Assembler> {
        let mut candidates: Vec<PathBuf> = env::var_os("PTXAS")
            .map(PathBuf::from)
            .into_iter()
            .collect();
        candidates.extend(["ptxas", "/usr/local/cuda/bin/ptxas"].map(PathBuf::from));
        candidates.extend(installed());
        let works = |path: &PathBuf| {
            let output = Command::new(path).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        };
        let found = candidates.into_iter().find(works);
        if found.is_none() {
            println!("skipped: there is no ptxas");
        }
        found.map(Assembler)
    }

    /// What the assembler says of a text; an error if it doesn't take it.
    pub fn assemble(&self, text: &str, target: &str) -> Result<String, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("command-{}-{number}.ptx", process::id()));
        fs::write(&path, text).map_err(|error| error.to_string())?;
        let output = Command::new(&self.0)
            .args(["-v", "-o", "/dev/null"])
            .arg(format!("-arch={target}"))
            .arg(&path)
            .output();
        let _ = fs::remove_file(&path);
        let output = output.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.success() {
            true => Ok(said),
            false => Err(said),
        }
    }
}

/// Where `kernels/build.py` installs the toolkit.
fn installed() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cuda/lib");
    let Ok(versions) = fs::read_dir(root) else {
        return vec![];
    };
    let versions = versions.flatten().map(|version| version.path());
    versions
        .map(|path| path.join("site-packages/nvidia/cu13/bin/ptxas"))
        .collect()
}
