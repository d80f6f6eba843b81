//! Paths, links and names of code in the documents.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::docs::markdown::{Document, code, documents, read, root};

#[test]
fn every_path_in_a_document_exists() {
    for document in documents() {
        let mut folders = vec![root(), document.folder()];
        for line in document.prose() {
            if line.starts_with('#') {
                folders.truncate(2);
                let folder = code(line).find(|code| code.ends_with('/'));
                folders.extend(folder.map(|folder| root().join(folder)));
            }
            for path in code(line).filter(|code| is_path(code)) {
                let is_there = folders.iter().any(|folder| exists(&folder.join(path)));
                assert!(is_there, "{}: no {path}", document.name);
            }
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    for document in documents() {
        for link in document.links().filter(|link| !link.starts_with("http")) {
            let place = format!("{}: {link}", document.name);
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = match file {
                "" => root().join(document.name),
                file => document.folder().join(file),
            };
            assert!(path.exists(), "{place}: no such file");
            if !anchor.is_empty() {
                let target = Document {
                    text: std::fs::read_to_string(path).expect(&place),
                    ..read("README.md")
                };
                let mut anchors = target.anchors();
                assert!(anchors.any(|a| a == anchor), "{place}: no such heading");
            }
        }
    }
}

#[test]
fn every_name_of_code_in_the_architecture_exists() {
    let mut sources = String::new();
    for folder in [
        "shared",
        "gpu-kernels",
        "server/src",
        "server/accounts",
        "server/console",
        "server/durability",
        "server/frontend",
        "server/gateway",
        "server/peer",
        "server/platform",
        "server/session",
        "server/standby",
        "server/tick",
        "server/transport",
        "client-bot",
        "benches",
    ] {
        read_sources(&root().join(folder), &mut sources);
    }
    let words: std::collections::BTreeSet<&str> = sources
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    for code in read("ARCHITECTURE.md").code() {
        if is_name(code) {
            for word in code.split("::") {
                assert!(words.contains(word), "no {word} of {code}");
            }
        }
    }
}

/// "`name` in `path`" says where a name is, and so does "`path`: a variant of `name`".
#[test]
fn every_name_of_code_in_the_architecture_is_in_the_file_beside_it() {
    let document = read("ARCHITECTURE.md");
    let lines: Vec<&str> = document.prose().map(str::trim).collect();
    let text = lines.join(" ");
    let parts: Vec<&str> = text.split('`').collect();
    let part = |at: usize| parts.get(at).copied().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let mut before = None;
    let mut checked = 0;
    for at in (1..parts.len()).step_by(2) {
        let name = part(at);
        if part(at - 1).contains([';', '.', '|']) {
            before = None;
        }
        if is_path(name) {
            before = Some(name).filter(|_| part(at + 1).starts_with(':'));
            continue;
        }
        let behind = Some(part(at + 2)).filter(|path| part(at + 1) == " in " && is_path(path));
        let Some(path) = behind.or(before).filter(|_| name.chars().all(is_plain)) else {
            continue;
        };
        // Folders have no text, nor have files that are still without a name.
        let Ok(source) = std::fs::read_to_string(root().join(path)) else {
            continue;
        };
        for word in name.split("::") {
            let mut words = source.split(|c: char| !c.is_alphanumeric() && c != '_');
            assert!(words.any(|own| own == word), "no {word} in {path}");
        }
        checked += 1;
    }
    assert!(checked > 40, "{checked}");
}

/// Where a crate has `tests/it.rs`, a file that this does not name is never run.
#[test]
fn every_file_of_tests_is_a_module_of_its_program() {
    let is_program = |folder: &PathBuf| folder.join("it.rs").exists();
    let crates = [
        "",
        "bindings",
        "core",
        "ffi",
        "web",
        "engines",
        "script",
        "world-file",
    ];
    let tops = ["shared", "gpu-kernels", "server", "client-bot", "benches"];
    let all = tops
        .iter()
        .flat_map(|top| crates.map(|name| root().join(top).join(name)));
    let folders: Vec<PathBuf> = all.map(|of| of.join("tests")).filter(is_program).collect();
    assert!(folders.len() >= 11, "{folders:?}");
    for folder in folders {
        let program = std::fs::read_to_string(folder.join("it.rs")).expect("readable");
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_module =
                path.extension().is_some_and(|end| end == "rs") || path.join("mod.rs").exists();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            // Games of other workspaces share it.
            if is_module && !["it", "served"].contains(&&*name) {
                let line = format!("mod {name};");
                assert!(program.contains(&line), "{}: no {line}", folder.display());
            }
        }
    }
}

/// Whether a text in backquotes names a file or a folder of the repository.
fn is_path(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let has_extension = EXTENSIONS.iter().any(|end| text.ends_with(end));
    // The game of the tutorial is in `flock/`, which its test makes.
    let is_elsewhere = ["target/", "/", "--", "myriad/1", "flock/"]
        .iter()
        .any(|s| text.starts_with(s));
    text.chars().all(is_plain)
        && text.starts_with(|c: char| !c.is_ascii_digit())
        && (text.contains('/') || has_extension)
        && !is_elsewhere
}

/// A file or a folder, or the folder of a file that is still without a name.
fn exists(path: &Path) -> bool {
    match path.file_stem().is_some_and(|stem| stem == "NAME") {
        true => path.parent().is_some_and(Path::exists),
        false => path.exists(),
    }
}

/// Whether a text in backquotes is a type or a method: `Frame`, `Frame::order`.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_:".contains(c);
    let mut characters = text.chars();
    characters.next().is_some_and(|c| c.is_ascii_uppercase())
        && characters.any(|c| c.is_ascii_lowercase())
        && text.chars().all(is_plain)
}

fn read_sources(folder: &Path, sources: &mut String) {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.ends_with("target") {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            let _ = writeln!(sources, "{text}");
        }
    }
}

const EXTENSIONS: [&str; 6] = [".rs", ".cu", ".cuh", ".py", ".toml", ".md"];
