//! The kernels that ship are those whose sources are here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
struct Manifest {
    sources: BTreeMap<String, String>,
    sources_hash: String,
    fatbin: String,
}

#[test]
fn the_prebuilt_kernels_are_of_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("prebuilt/manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    let mut sources = BTreeMap::new();
    for file in fs::read_dir(root.join("kernels")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".cu") || name.ends_with(".cuh") {
            sources.insert(name, sha256(&fs::read(&path).unwrap()));
        }
    }
    let advice = "run kernels/build.py";
    assert_eq!(sources, manifest.sources, "{advice}");
    let list: String = sources.iter().map(|(n, h)| format!("{n} {h}\n")).collect();
    assert_eq!(
        sha256(list.as_bytes())[..16],
        manifest.sources_hash,
        "{advice}"
    );
    let fatbin = fs::read(root.join("prebuilt/kernels.fatbin")).unwrap();
    assert_eq!(sha256(&fatbin), manifest.fatbin, "{advice}");
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
