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

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::command::{CommandKind, Rules, Sender};
use crate::content::WorldNames;
use crate::fixed::Fixed;
use crate::id::CAPACITY_MAX;
use crate::schema::{Schema, WorldInfo};
use crate::wire::codec;
use crate::wire::control::WELCOME_BYTES_MAX;
use crate::wire::movement::MovementCodec;
pub use limits::{HEARINGS_MAX, Limits};
pub use regions::{KindRegions, REGIONS_PER_CLIENT_MAX};

use kinds::kind_index;

/// Everything that defines a world, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldConfig {
    pub seed: u64,
    pub interest: InterestMode,
    /// The kind that a joining client is born as: an index into the schema's kinds.
    pub player_kind: u16,
    /// How many of each kind are born in the first tick.
    pub populations: Vec<u32>,
    /// By kind: how many ticks after its fall one is born anew; 0: none falls. Of
    /// the players' kind, only those with a client.
    pub respawn_ticks: Vec<u32>,
    /// By kind: the regions that newborns carry.
    pub kind_regions: Vec<KindRegions>,
    pub every: Vec<Every>,
    pub rules: Rules,
    pub limits: Limits,
    pub schema: Schema,
}

/// Who counts as near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterestMode {
    /// Everyone within the observer's radius.
    Exact,
    /// Everyone in the observer's bucket and its neighbours, as in the thesis (3.5).
    Buckets,
}

/// A command that every entity of a kind gives itself every `ticks` ticks.
/// Entities take turns by slot, so that each tick has an even share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Every {
    pub kind: u16,
    pub ticks: u32,
    pub command: CommandKind,
    pub words: Vec<i32>,
}

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

/// The widest entity in bits that a movement datagram can carry.
pub const MOVEMENT_BITS_MAX: u32 = 128;
/// The longest that a command may be put off, in ticks.
pub const DELAY_TICKS_MAX: u32 = 1_000_000;
/// The most entities that one client can be told to know.
pub const VISIBLE_MAX: u32 = 1024;

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

    /// The number of axes, 2 or 3.
    pub fn dimensions(&self) -> usize {
        self.schema.dimensions()
    }

    /// The size per axis in raw units; a world of two axes is one unit thin.
    pub fn size_raw(&self) -> [i32; 3] {
        let mut size = [1; 3];
        for (axis, s) in size.iter_mut().zip(&self.schema.world.size) {
            *axis = s.raw();
        }
        size
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
