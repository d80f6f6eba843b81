//! The bans of a persistent world, in its folder: they hold after a restart.

use std::fs;
use std::io::ErrorKind;

use accounts::bans::Ban;
use accounts::guard::Guard;
use accounts::moment::Moment;
use anyhow::{Context, Result, anyhow};
use durability::folder::{self, DataFolder};
use world_file::{Format, plain};

/// Loads the bans of a folder into a guard, and saves changes there.
pub fn keep(guard: &Guard, folder: &DataFolder) -> Result<()> {
    let path = folder.path().join(FILE);
    let bans: Vec<Ban> = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text)
            .map_err(|error| anyhow!(plain(&error.to_string(), Format::Json)))
            .with_context(|| format!("{} is not a list of bans", path.display()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => vec![],
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let folder = folder.path().to_owned();
    guard.keep_bans(bans, Moment::now(), move |bans| {
        let text = serde_json::to_vec_pretty(bans).context("bans can't be written")?;
        folder::write(&folder, FILE, &text)
    });
    Ok(())
}

const FILE: &str = "bans.json";
