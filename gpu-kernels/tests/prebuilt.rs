//! The kernels that ship are those whose sources are here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

/// What `kernels/build.py` writes beside each module's kernels.
#[derive(Deserialize)]
struct Manifest {
    /// By path from this crate: the SHA-256 of each source.
    sources: BTreeMap<String, String>,
    /// The SHA-256 of the compiled module.
    fatbin: String,
}

#[test]
fn the_prebuilt_library_is_of_these_sources() {
    check("device/prebuilt", &["kernels/lib"]);
}

#[test]
fn the_prebuilt_tick_is_of_these_sources() {
    let folders = ["kernels/lib", "kernels/tick", "kernels/content"];
    check("prebuilt", &folders);
}

#[test]
fn the_prebuilt_engines_are_of_these_sources() {
    let folders = ["kernels/lib", "kernels/content", "engines/kernels"];
    check("engines/prebuilt", &folders);
}

/// Holds a module's manifest, its hash of all sources and its compiled kernels against the
/// folders of its sources.
fn check(prebuilt: &str, folders: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let advice = format!("{prebuilt} is out of date: run kernels/build.py");
    let read = |name: &str| {
        let path = root.join(prebuilt).join(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{advice}: {}: {error}", path.display()))
    };
    let manifest: Manifest = serde_json::from_slice(&read("manifest.json")).expect(&advice);
    let mut sources = BTreeMap::new();
    for path in folders
        .iter()
        .flat_map(|folder| sources_in(&root.join(folder)))
    {
        let name = path.strip_prefix(root).expect("a path in this crate");
        let name = name.to_str().expect("a plain name").to_owned();
        sources.insert(name, sha256(&fs::read(&path).expect("a readable source")));
    }
    assert_eq!(sources, manifest.sources, "{advice}");
    let list: String = sources
        .iter()
        .map(|(name, hash)| format!("{name} {hash}\n"))
        .collect();
    let hash = String::from_utf8(read("sources.hash")).expect(&advice);
    assert_eq!(sha256(list.as_bytes())[..16], *hash.trim_end(), "{advice}");
    assert_eq!(sha256(&read("kernels.fatbin")), manifest.fatbin, "{advice}");
}

/// The kernels and headers of one folder.
fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder of sources");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("cu" | "cuh"))
    });
    paths
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
