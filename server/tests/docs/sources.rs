//! The sources of the repository.

use std::path::{Path, PathBuf};

use crate::docs::markdown::root;

/// The folders `src` of all crates, and what is in them, by path within the folder.
pub fn crates() -> Vec<(String, Vec<(PathBuf, String)>)> {
    let root = root();
    let mut found = vec![];
    let mut folders: Vec<PathBuf> = TOPS.iter().map(|top| root.join(top)).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder).into_iter().filter(|path| path.is_dir()) {
            let name = path.file_name().unwrap_or_default();
            if name == "src" {
                let mut sources = vec![];
                read(&path, &path, &mut sources);
                let name = path.strip_prefix(&root).expect("it is in the repository");
                found.push((name.display().to_string(), sources));
            } else if name != "target" && name != "node_modules" {
                folders.push(path);
            }
        }
    }
    assert!(found.len() >= 10, "{found:?}");
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn read(src: &Path, folder: &Path, sources: &mut Vec<(PathBuf, String)>) {
    for path in entries(folder) {
        if path.is_dir() {
            read(src, &path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let within = path.strip_prefix(src).expect("it is in the folder");
            sources.push((within.to_owned(), text));
        }
    }
}

const TOPS: [&str; 5] = ["shared", "gpu-kernels", "server", "client-bot", "benches"];
