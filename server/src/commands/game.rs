//! The folder of a game: a world file, its scripts, and plays for bots.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The files of a game.
#[derive(Debug)]
pub struct Game {
    /// The world file: `world.toml`, or the only `.toml` of the folder.
    pub world: PathBuf,
    /// Plays for bots, by name.
    pub plays: Vec<PathBuf>,
}

/// The game in a folder.
pub fn find(folder: &Path) -> Result<Game> {
    Ok(Game {
        world: world_of(folder)?,
        plays: plays_of(folder)?,
    })
}

fn world_of(folder: &Path) -> Result<PathBuf> {
    let usual = folder.join("world.toml");
    if usual.exists() {
        return Ok(usual);
    }
    let mut others = files(folder, "toml")?;
    match (others.pop(), others.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => bail!(
            "{} has no world.toml: expected the folder of a game, as `myriad new NAME` makes one",
            folder.display()
        ),
    }
}

/// The plays in the folder of a game, by name.
pub fn plays_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let plays = folder.join("plays");
    match plays.is_dir() {
        true => files(&plays, "rs"),
        false => Ok(vec![]),
    }
}

/// The files of a folder with this ending, by name.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_right = |path: &PathBuf| path.extension().is_some_and(|found| found == ending);
    let mut found: Vec<PathBuf> = paths.filter(is_right).collect();
    found.sort();
    Ok(found)
}
