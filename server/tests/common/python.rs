//! A Python with the packages that tests need.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A Python that has aioquic: that of the build's folder, where `.ci/run` installs it, or the
/// system's. `None`, and a line that says so, where there is none.
pub fn interpreter() -> Option<PathBuf> {
    interpreter_with("aioquic", "aioquic")
}

/// Likewise, with another module, which comes with a package.
pub fn interpreter_with(module: &str, package: &str) -> Option<PathBuf> {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let own = build.map(|build| build.join("python/bin/python"));
    let found = own
        .into_iter()
        .chain([PathBuf::from("python3")])
        .find(|python| has_module(python, module));
    if found.is_none() {
        println!("skipped: there is no Python 3.10 with {module} (pip install '{package}')");
    }
    found
}

fn has_module(python: &Path, module: &str) -> bool {
    let check = &format!("import sys, {module}; sys.exit(sys.version_info < (3, 10))");
    let status = Command::new(python)
        .args(["-c", check])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// A program of the Python client with these arguments.
pub fn program(python: &Path, name: &str, arguments: &[&str]) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../client-bot/python");
    let mut command = Command::new(python);
    // Nothing is written beside the sources.
    command.arg("-B").arg(folder.join(name)).args(arguments);
    command
}

/// A program that runs, and ends when it is dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
