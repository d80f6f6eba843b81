//! The bans of a persistent world, in its folder: they hold after a restart.

use accounts::bans::Ban;
use accounts::guard::Guard;
use accounts::moment::Moment;
use anyhow::{Context, Result};
use durability::folder::{self, DataFolder};

use super::lists;

/// Loads the bans of a folder into a guard, and saves changes there.
pub fn keep(guard: &Guard, folder: &DataFolder) -> Result<()> {
    let bans: Vec<Ban> = lists::read(&folder.path().join(FILE), "is not a list of bans")?;
    let folder = folder.path().to_owned();
    guard.keep_bans(bans, Moment::now(), move |bans| {
        let text = serde_json::to_vec_pretty(bans).context("bans can't be written")?;
        folder::write(&folder, FILE, &text)
    });
    Ok(())
}

const FILE: &str = "bans.json";
