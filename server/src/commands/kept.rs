//! What the commands for kept worlds share.

use std::path::Path;

use anyhow::{Result, bail};

use crate::durable::checkpoint;
use crate::durable::disk::Folder;

/// The folder of a world that is kept.
pub fn open(path: &Path) -> Result<Folder> {
    let folder = Folder::new(path);
    if !path.is_dir() || checkpoint::ticks(&folder)?.is_empty() {
        bail!(
            "{} holds no world: expected the folder of `myriad serve --data`",
            path.display()
        );
    }
    Ok(folder)
}

/// A number of bytes for people.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
