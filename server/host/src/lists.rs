//! The lists in the folder of a persistent world: files of JSON, each read at the start.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use world_file::{Format, plain};

/// Reads a list, which is empty if there is no file. An error is "`path` `fault`".
pub fn read<T: DeserializeOwned + Default>(path: &Path, fault: &str) -> Result<T> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| anyhow!(plain(&error.to_string(), Format::Json)))
            .with_context(|| format!("{} {fault}", path.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}
