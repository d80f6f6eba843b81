//! The page's client that ships is that whose sources are here, and the page is small.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

#[test]
fn the_prebuilt_client_is_of_these_sources() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crates.ancestors().nth(2).expect("the repository");
    let mut lines = vec![];
    for folder in FOLDERS {
        for path in sources_in(&root.join(folder)) {
            let name = path.strip_prefix(root).expect("a path in the repository");
            let hash = sha256(&fs::read(&path).expect("a readable source"));
            lines.push(format!("{} {hash}\n", name.display()));
        }
    }
    lines.sort();
    let sources = sha256(lines.concat().as_bytes());
    let wasm = sha256(&read("prebuilt/game.wasm"));
    let expected = String::from_utf8(read("prebuilt/hashes.txt")).expect("text");
    assert_eq!(
        format!("sources {sources}\nwasm {wasm}\n"),
        expected,
        "prebuilt/game.wasm is out of date: run client-bot/web/build.py"
    );
}

#[test]
fn all_that_a_browser_loads_is_less_than_670_kilobytes() {
    let page = fs::read_dir(package().join("page")).expect("the page's files");
    let page = page.map(|file| file.expect("a file").path());
    let bytes: usize = page
        .map(|path| fs::read(path).expect("a readable file").len())
        .sum();
    let all = bytes + read("prebuilt/game.wasm").len();
    assert!(all <= 670_000, "{all} bytes");
}

fn package() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> Vec<u8> {
    fs::read(package().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources_in(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As in `build.py`.
const FOLDERS: [&str; 4] = [
    "client-bot/web/src",
    "client-bot/core/src",
    "shared/src",
    "gpu-kernels/script/src",
];
