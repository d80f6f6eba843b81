//! Names the commit that `myriad --version` and `myriad_build_info` show: of `MYRIAD_COMMIT` where
//! a packager gives it, of a package of cargo, or of the repository.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=MYRIAD_COMMIT");
    let commit = given().or_else(packaged).or_else(described);
    let commit = commit.unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=MYRIAD_COMMIT={commit}");
}

fn given() -> Option<String> {
    let commit = env::var("MYRIAD_COMMIT").ok()?.trim().to_owned();
    let is_plain = !commit.is_empty() && commit.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then_some(commit)
}

/// `cargo package` writes the commit into a file beside the manifest.
fn packaged() -> Option<String> {
    let folder = env::var("CARGO_MANIFEST_DIR").ok()?;
    let path = Path::new(&folder).join(".cargo_vcs_info.json");
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit: String = rest
        .chars()
        .skip_while(|c| !c.is_ascii_hexdigit())
        .take_while(char::is_ascii_hexdigit)
        .take(12)
        .collect();
    (commit.len() == 12).then_some(commit)
}

/// Of optimized builds only: others would be built anew after each commit.
fn described() -> Option<String> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("PROFILE").ok()? != "release" {
        return None;
    }
    // A package within another repository, as of a vendored copy, is not of its commits.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let is_own = Path::new(&top).join("server/host/build.rs").exists();
    let log = git(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "logs/HEAD",
    ])?;
    if Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"])?;
    is_own.then_some(commit)
}

fn git(words: &[&str]) -> Option<String> {
    let done = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?.trim().to_owned();
    done.status.success().then_some(text)
}
