//! The world file: TOML in, a checked [`WorldConfig`] out.
//!
//! Every size that the server allocates follows from here. A bad value is
//! refused with the file, the key and what is allowed; nothing is guessed.

mod commands;
mod kinds;
mod limits;
mod raw;
mod regions;

use std::path::Path;

use thiserror::Error;

use crate::predicate::WorldNames;
use crate::wire::codec;
use crate::wire::control::WELCOME_BYTES_MAX;
use crate::wire::movement::{MOVEMENT_BITS_MAX, MovementCodec};
use crate::world::command::{CommandKind, Sender};
use crate::world::config::{VISIBLE_MAX, WorldConfig};
use crate::world::fixed::Fixed;
use crate::world::id::CAPACITY_MAX;
use crate::world::schema::WorldInfo;
use kinds::kind_index;

/// Why a world file was refused.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("{file}: cannot be read: {error}")]
    Unreadable { file: String, error: std::io::Error },
    #[error("{file}: {message}")]
    Syntax { file: String, message: String },
    #[error("{file}: {key}: {found} is not allowed; expected {allowed}")]
    Value {
        file: String,
        key: String,
        found: String,
        allowed: String,
    },
}

impl WorldConfig {
    /// Reads and checks a world file.
    pub fn load(path: &Path) -> Result<WorldConfig, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            file: file.clone(),
            error,
        })?;
        Self::parse(&text, &file)
    }

    /// Checks the text of a world file; `file` is what errors call it.
    pub fn parse(text: &str, file: &str) -> Result<WorldConfig, ConfigError> {
        let raw: raw::World = toml::from_str(text).map_err(|error| ConfigError::Syntax {
            file: file.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        build(raw).map_err(|problem| ConfigError::Value {
            file: file.to_owned(),
            key: problem.key,
            found: problem.found,
            allowed: problem.allowed,
        })
    }
}

impl Default for WorldConfig {
    /// The world of an empty file.
    fn default() -> WorldConfig {
        Self::parse("", "the default world").expect("the default world is valid")
    }
}

struct Problem {
    key: String,
    found: String,
    allowed: String,
}

fn problem<T>(
    key: impl Into<String>,
    found: impl ToString,
    allowed: impl Into<String>,
) -> Result<T, Problem> {
    Err(Problem {
        key: key.into(),
        found: found.to_string(),
        allowed: allowed.into(),
    })
}

fn in_range<T: PartialOrd + ToString + Copy>(
    key: &str,
    value: T,
    min: T,
    max: T,
) -> Result<T, Problem> {
    if value >= min && value <= max {
        Ok(value)
    } else {
        problem(
            key,
            value.to_string(),
            format!("{} to {}", min.to_string(), max.to_string()),
        )
    }
}

fn fixed(key: &str, value: f64, min: f64, max: f64) -> Result<Fixed, Problem> {
    in_range(key, value, min, max)?;
    match Fixed::from_f64(value) {
        Some(fixed) => Ok(fixed),
        None => problem(key, value, format!("{min} to {max}")),
    }
}

fn build(raw: raw::World) -> Result<WorldConfig, Problem> {
    let world = raw.world;
    let dimensions = world.size.len();
    if !(2..=3).contains(&dimensions) {
        return problem(
            "world.size",
            format!("{dimensions} numbers"),
            "2 or 3 numbers",
        );
    }
    let size = world
        .size
        .iter()
        .map(|&s| fixed("world.size", s, 1.0, SIZE_MAX))
        .collect::<Result<Vec<_>, _>>()?;
    let aoi = fixed("world.aoi", world.aoi, 1.0, SIZE_MAX)?;
    let capacity = in_range("world.capacity", world.capacity, 1, CAPACITY_MAX)?;
    let info = WorldInfo {
        name: world.name,
        size,
        aoi,
        capacity,
        tick_hz: in_range("world.tick_hz", world.tick_hz, 1, 1000)?,
        visible_max: in_range("world.visible_max", world.visible_max, 0, VISIBLE_MAX)?,
    };
    let kinds = raw.kind.unwrap_or_else(raw::default_kinds);
    if kinds.is_empty() || kinds.len() > 256 {
        return problem("kind", format!("{} kinds", kinds.len()), "1 to 256 kinds");
    }
    let populations = kinds.iter().map(|k| k.population).collect::<Vec<_>>();
    let population = populations.iter().map(|&p| u64::from(p)).sum::<u64>();
    if population > u64::from(capacity) {
        return problem(
            "kind.population",
            format!("{population} in all"),
            format!("at most world.capacity = {capacity}"),
        );
    }
    let respawns: Vec<_> = kinds.iter().map(|k| k.respawn_ticks).collect();
    let regions: Vec<regions::RawRegions> = kinds
        .iter()
        .map(|k| (k.publishes.clone(), k.subscribes.clone()))
        .collect();
    let region_limits = regions::limits(&raw.limits, &info, world.interest, &regions)?;
    let mut schema = kinds::schema(info, kinds)?;
    let player_kind = match &world.player_kind {
        None => 0,
        Some(name) => kind_index(&schema, "world.player_kind", name)?,
    };
    let rules = commands::rules(raw.commands)?;
    if rules.shout_radius_max.raw() == 0 {
        schema.commands.retain(|c| c.kind != CommandKind::Shout);
    }
    let every = raw
        .every
        .into_iter()
        .enumerate()
        .map(|(i, rule)| commands::every(&schema, &format!("every[{i}]"), rule))
        .collect::<Result<Vec<_>, _>>()?;
    let respawn_ticks = commands::respawn_ticks(&schema, &respawns)?;
    let kind_regions = regions::of_kinds(&schema, &regions, region_limits.edge_max)?;
    let schedules = respawn_ticks.iter().any(|&ticks| ticks > 0)
        || rules.blast_ember_ticks > 0 && schema.command(CommandKind::Blast).is_some();
    let notifications = commands::notifications(&schema, &rules, &respawn_ticks);
    let limits = limits::limits(
        raw.limits,
        &schema.world,
        region_limits,
        every.len() as u64,
        schedules,
        &notifications,
    )?;
    if limits.timed_commands == 0 {
        schema.commands.retain(|c| c.sender != Sender::Timer);
    }
    if limits.notifications_per_tick > 0 {
        let schemas = notifications.iter().map(|kind| kind.schema(dimensions));
        schema.notifications = schemas.collect();
    }
    if limits.subscriptions_per_client > 0 {
        // So that predicates can name every attribute.
        if let Err(error) = WorldNames::new(&schema) {
            return problem(
                "kind.attributes.name",
                error,
                "names that predicates can use, in a world of subscriptions",
            );
        }
    }
    let encoded = codec::to_bytes(&schema).len();
    if encoded > SCHEMA_BYTES_MAX {
        return problem(
            "kind",
            format!("a schema of {encoded} bytes"),
            format!("at most {SCHEMA_BYTES_MAX}, which every client is sent"),
        );
    }
    if let Err(bits) = MovementCodec::new(&schema) {
        return problem(
            "kind.attributes",
            format!("movement attributes of {bits} bits together"),
            format!("at most {MOVEMENT_BITS_MAX} bits, positions included"),
        );
    }
    if u64::from(capacity) * schema.attributes.len() as u64 > u64::from(u32::MAX) {
        return problem(
            "world.capacity",
            capacity,
            format!(
                "at most {} with {} attributes",
                u32::MAX as usize / schema.attributes.len(),
                schema.attributes.len()
            ),
        );
    }
    Ok(WorldConfig {
        seed: world.seed,
        interest: world.interest,
        player_kind,
        populations,
        respawn_ticks,
        kind_regions,
        every,
        rules,
        limits,
        schema,
    })
}

/// What a welcome has room for.
const SCHEMA_BYTES_MAX: usize = WELCOME_BYTES_MAX - 256;

/// A little under half of what [`Fixed`] can tell, so that a difference of two
/// positions and an area of interest around them never overflows.
const SIZE_MAX: f64 = 262_143.0;

#[cfg(test)]
mod tests;
