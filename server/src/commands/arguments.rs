//! What several commands do with their arguments.

use std::path::{Path, PathBuf};

use shared::{ConfigError, WorldConfig};

/// Parses a number of seconds above 0.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 && number <= SECONDS_MAX => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// The world of a file, and its folder of scripts if it has one.
pub fn load_world(path: &Path) -> Result<(WorldConfig, Option<PathBuf>), ConfigError> {
    let world = script::world::load(path)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let scripts = world
        .logic
        .folder
        .as_ref()
        .map(|folder| beside.join(folder));
    Ok((world, scripts))
}

/// The world with another tick rate, if one is given.
pub fn with_tick_hz(mut world: WorldConfig, tick_hz: Option<u32>) -> WorldConfig {
    if let Some(tick_hz) = tick_hz {
        world.schema.world.tick_hz = tick_hz;
    }
    world
}

const SECONDS_MAX: f64 = 1e7;
