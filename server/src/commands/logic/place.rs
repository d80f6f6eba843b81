//! The world in which scripts are tried.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use program::say;
use world_file::Checked;
use world_file::Reader;

/// The world of a file, with the scripts of a folder if one is given. Without a file it is
/// the only world file beside the folder, or else the default world. `None`: it has
/// problems, which are printed.
pub fn world(folder: Option<&Path>, file: Option<&Path>) -> Result<Option<Checked>> {
    let folder = folder.map(absolute).transpose()?;
    if let Some(folder) = &folder
        && world_file::folder::read_all(folder).is_ok_and(|scripts| scripts.texts.is_empty())
    {
        bail!("{} has no scripts: files that end in .rs", folder.display());
    }
    let beside = match (&folder, file) {
        (Some(folder), None) => only_world_beside(folder),
        _ => None,
    };
    let reader = Reader {
        folder,
        colours: std::io::stdout().is_terminal(),
        ..Reader::default()
    };
    let checked = match file.or(beside.as_deref()) {
        Some(file) => reader.load(file),
        None => reader.parse("", "the default world"),
    };
    match checked {
        Ok(checked) => Ok(Some(checked)),
        Err(problems) => {
            say!("{problems}");
            Ok(None)
        }
    }
}

fn absolute(folder: &Path) -> Result<PathBuf> {
    let show = folder.display();
    let found = fs::canonicalize(folder).with_context(|| format!("cannot read {show}"))?;
    match found.is_dir() {
        true => Ok(found),
        false => bail!("{show} is not a folder"),
    }
}

fn only_world_beside(folder: &Path) -> Option<PathBuf> {
    let mut files = worlds_beside(folder);
    let only = files.pop()?;
    files.is_empty().then_some(only)
}

/// The world files beside a folder, which need not be there.
pub fn worlds_beside(folder: &Path) -> Vec<PathBuf> {
    let beside = match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return vec![],
    };
    let entries = fs::read_dir(beside).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_world = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "toml");
    paths.filter(is_world).collect()
}
