//! What several commands do with their arguments.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::Result;
use script::world::Reader;
use shared::WorldConfig;

/// Parses a number of seconds above 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= SECONDS_MAX => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// The world of a file, and its folder of scripts if it has one. Prints the file's warnings
/// to standard error.
pub fn load_world(path: &Path) -> Result<(WorldConfig, Option<PathBuf>)> {
    let reader = Reader {
        colours: std::io::stderr().is_terminal(),
        ..Reader::default()
    };
    let checked = reader.load(path)?;
    for warning in &checked.warnings {
        eprintln!("warning: {warning}");
    }
    let beside = path.parent().unwrap_or(Path::new(""));
    let folder = checked.config.logic.folder.as_ref();
    let scripts = folder.map(|folder| beside.join(folder));
    Ok((checked.config, scripts))
}

/// The world with another tick rate, if one is given.
pub fn with_tick_hz(mut world: WorldConfig, tick_hz: Option<u32>) -> WorldConfig {
    if let Some(tick_hz) = tick_hz {
        world.schema.world.tick_hz = tick_hz;
    }
    world
}

const SECONDS_MAX: f64 = 1e7;
